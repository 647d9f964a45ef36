"""Drives `dispatch acp` with a client library of the protocol's own project; prints what happened as JSON lines."""

import asyncio
import json
import os
import sys

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse

program, project, home, base_url = sys.argv[1:5]


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


class Editor:
    def __init__(self):
        self.updates = []
        self.started = asyncio.Event()
        self.asked = []

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))
        self.started.set()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append([tool_call.kind, [option.kind for option in options]])
        chosen = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    def said(self):
        chunks = [update for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def kinds(self):
        return sorted({update["sessionUpdate"] for update in self.updates})


async def main():
    editor = Editor()
    environment = {"PATH": os.environ["PATH"], "HOME": home, "DISPATCH_HOME": home,
                   "DISPATCH_BASE_URL": base_url, "DISPATCH_MODEL": "scripted"}
    async with acp.spawn_agent_process(editor, program, "acp", env=environment, cwd=project) as (agent, process):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        tell("initialize", [hello.protocol_version, bool(hello.agent_capabilities.load_session)])
        session = await agent.new_session(cwd=project, mcp_servers=[])

        async def prompt(text):
            editor.updates.clear()
            editor.started.clear()
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            return answer.stop_reason

        tell("hello", [await prompt("hello"), editor.said()])
        tell("write", [await prompt("write it"), editor.kinds(), editor.asked])
        running = asyncio.create_task(prompt("never end"))
        await asyncio.sleep(0)
        await editor.started.wait()
        await agent.cancel(session_id=session.session_id)
        tell("cancel", [await asyncio.wait_for(running, 60), editor.said()])
        editor.updates.clear()
        await agent.load_session(cwd=project, session_id=session.session_id, mcp_servers=[])
        tell("load", ["hello" in json.dumps(editor.updates), editor.kinds()])


asyncio.run(main())
