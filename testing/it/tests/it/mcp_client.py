"""Starts `dispatch mcp`, lists its tools and makes the given calls; prints one JSON line per answer."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(program, project, home, calls):
    environment = {"PATH": os.environ["PATH"], "HOME": home, "DISPATCH_HOME": home}
    server = StdioServerParameters(command=program, args=["mcp"], cwd=project, env=environment)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        listed = await session.list_tools()
        print(json.dumps({"tools": [tool.name for tool in listed.tools]}))
        for name, arguments in calls:
            answer = await session.call_tool(name, arguments)
            text = "\n".join(block.text for block in answer.content)
            print(json.dumps({"error": answer.is_error, "text": text}))


asyncio.run(main(*sys.argv[1:4], json.loads(sys.argv[4])))
