"""The extension as a program: what it registers, and what that does with the host."""

from dispatch_extension import Extension
from logic import greet

extension = Extension()


@extension.tool(
    "NAME",
    "Greets somebody by name.",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Whom to greet."}},
        "additionalProperties": False,
    },
    concurrency_safe=True,
    read_only=True,
)
def greeting(args, call):
    return greet(extension.settings.get("greeting", "Hello"), args.get("name", "world"))


extension.run()
