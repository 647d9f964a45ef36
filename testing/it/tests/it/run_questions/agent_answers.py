"""What a tool call of an agent could run to answer the agent's own question: `WAY PROGRAM APPROVAL FILE`.

It ends when the answer was refused or FILE is there, and prints what the program said.
"""

import json
import os
import pty
import select
import subprocess
import sys
import time

way, program, approval, made = sys.argv[1:5]
SETTINGS = ["--set", "model.provider=rehearsal"]
DEADLINE = time.monotonic() + 60


def stdio():
    request = json.dumps({"type": "answer", "approval": approval, "answer": "allow", "ref": 1}) + "\n"
    done = subprocess.run([program, *SETTINGS, "serve", "--stdio"], input=request, capture_output=True, text=True)
    return done.stdout + done.stderr


def acp():
    agent = subprocess.Popen([program, *SETTINGS, "acp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=open("acp.log", "w"), text=True, bufsize=1)

    def send(message):
        agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    send({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}})
    opened = {"sessionId": "main", "cwd": os.getcwd(), "mcpServers": []}
    send({"id": 2, "method": "session/load", "params": opened})
    said, rest, is_answered = "", "", False
    while time.monotonic() < DEADLINE and not os.path.exists(made):
        if is_answered and "cannot answer" in open("acp.log").read():
            break
        if not select.select([agent.stdout], [], [], 0.1)[0]:
            continue
        # Not by `readline`: of two lines that come together it would keep the second where `select` does not see it.
        came = os.read(agent.stdout.fileno(), 65536).decode()
        if not came:
            break
        said += came
        *lines, rest = (rest + came).split("\n")
        for line in lines:
            if '"session/request_permission"' in line:
                outcome = {"outcome": {"outcome": "selected", "optionId": "once"}}
                send({"id": json.loads(line)["id"], "result": outcome})
                is_answered = True
    agent.kill()
    return said + open("acp.log").read()


def chat():
    child, terminal = pty.fork()
    if child == 0:
        os.execv(program, [program, *SETTINGS, "chat", "--session", "main"])
    said, typed = "", [(" > ", "hello\r"), ("[N]o: ", "y\r")]
    seen = 0
    while time.monotonic() < DEADLINE and not os.path.exists(made) and "cannot answer" not in said:
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 4096).decode(errors="replace")
        if typed and typed[0][0] in said[seen:]:
            seen = len(said)
            os.write(terminal, typed.pop(0)[1].encode())
    os.kill(child, 9)
    return said


print({"stdio": stdio, "acp": acp, "chat": chat}[way]())
