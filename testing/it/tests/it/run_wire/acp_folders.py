"""Opens sessions of two folders and names an MCP server, with a client library of the protocol's own project."""

import asyncio
import json
import os
import sys

import acp
from acp.schema import McpServerStdio

program, project, home, base_url, other = sys.argv[1:6]


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


class Editor:
    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **kwargs):
        pass


async def main():
    environment = {"PATH": os.environ["PATH"], "HOME": home, "DISPATCH_HOME": home,
                   "DISPATCH_BASE_URL": base_url, "DISPATCH_MODEL": "scripted"}
    async with acp.spawn_agent_process(Editor(), program, "acp", env=environment, cwd=project) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        opened = {}
        for folder in (project, other):
            session = await agent.new_session(cwd=folder, mcp_servers=[])
            opened[folder] = session.session_id
            await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("hello")])

        async def listed(cwd=None):
            found = await agent.list_sessions(cwd=cwd)
            return sorted([session.session_id == opened[session.cwd], session.cwd] for session in found.sessions)

        tell("project", await listed(project))
        tell("other", await listed(other))
        tell("all", await listed())
        server = McpServerStdio(name="files", command="/bin/true", args=[], env=[])
        try:
            await agent.new_session(cwd=project, mcp_servers=[server])
            tell("server", None)
        except acp.RequestError as error:
            tell("server", [error.code, str(error)])


asyncio.run(main())
