"""An editor that opens the session of another process: prints the questions and the text that reach it as JSON lines."""

import asyncio
import json
import os
import sys
import time

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse

program, project, home, base_url = sys.argv[1:5]


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


class Editor:
    def __init__(self):
        self.said = ""
        self.asked = []
        self.first = asyncio.Event()

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **kwargs):
        update = update.model_dump(by_alias=True, exclude_none=True)
        if update["sessionUpdate"] == "agent_message_chunk":
            self.said += update["content"]["text"]

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append(tool_call.title)
        self.first.set()
        chosen = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))


async def main():
    editor = Editor()
    environment = {"PATH": os.environ["PATH"], "HOME": home, "DISPATCH_HOME": home,
                   "DISPATCH_BASE_URL": base_url, "DISPATCH_MODEL": "scripted"}
    async with acp.spawn_agent_process(editor, program, "acp", env=environment, cwd=project) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        began = time.monotonic()
        await agent.load_session(cwd=project, session_id="main", mcp_servers=[])
        running = asyncio.create_task(agent.prompt(
            session_id="main", prompt=[acp.text_block("run [[echo second >> ran.txt]]")]))
        await asyncio.wait_for(editor.first.wait(), 60)
        tell("first_ms", round((time.monotonic() - began) * 1000))
        answer = await asyncio.wait_for(running, 60)
        tell("prompt", [answer.stop_reason, editor.said])
        tell("asked", editor.asked)


asyncio.run(main())
