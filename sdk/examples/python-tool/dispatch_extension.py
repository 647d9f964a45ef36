"""The extension protocol of Dispatch, version 1, with the standard library alone.

Copy this file beside your main.py. `docs/extension-protocol.md` has the whole protocol.
"""

import json
import queue
import sys
import threading
import traceback

PROTOCOL_VERSION = 1
# How `initialize` lists what is registered, by the kind under which it is called later.
LISTS = {"tool": "tools", "command": "commands", "event": "events", "filter": "filters", "route": "routes",
         "job": "jobs", "service": "services"}


class HostError(Exception):
    """The host refused a question; the text says why."""


class Call:
    """One call of something that was registered: what it may ask, and whether it is still wanted."""

    def __init__(self, extension, call_id, context):
        self._extension = extension
        self._id = call_id
        self.context = context or {}
        self._cancel = threading.Event()

    @property
    def cancelled(self):
        """Whether nobody wants the result any more. Look at it in every loop."""
        return self._cancel.is_set()

    def wait(self, seconds):
        """Sleeps, but not longer than the call is wanted; answers whether it was cancelled."""
        return self._cancel.wait(seconds)

    def output(self, text):
        """Shows text while a tool is running."""
        self._extension._send({"method": "output", "params": {"call": self._id, "text": text}})

    def ask(self, method, **params):
        """Asks the host, for example `call.ask("files.read", path="notes.txt")`; raises HostError if it refuses."""
        return self._extension._ask(method, {"call": self._id, **params})

    def log(self, message, level="info", **fields):
        """Writes to the log of Dispatch."""
        params = {"call": self._id, "level": level, "message": message, "fields": fields}
        self._extension._send({"method": "log", "params": params})


class Extension:
    """What a program registers, and the loop that serves it."""

    def __init__(self):
        # Whatever else prints must not end up between the messages.
        self._output, sys.stdout = sys.stdout.buffer, sys.stderr
        self._write_lock = threading.Lock()
        self._entries = {kind: [] for kind in LISTS}
        self._calls = {}
        self._answers = {}
        self._last_id = 0
        self.id = self.version = self.workdir = None
        self.settings = {}

    def _register(self, kind, entry):
        def decorate(function):
            self._entries[kind].append((entry, function))
            return function

        return decorate

    def tool(self, name, description, parameters=None, concurrency_safe=False, read_only=False, timeout_ms=None):
        """A tool: `function(args, call)` returns text, or a value that is shown as JSON.

        `read_only` says that it changes nothing, so that nobody is asked before it runs.
        """
        entry = {"name": name, "description": description, "concurrencySafe": concurrency_safe, "readOnly": read_only}
        if parameters is not None:
            entry["parameters"] = parameters
        if timeout_ms is not None:
            entry["timeoutMs"] = timeout_ms
        return self._register("tool", entry)

    def command(self, name, description):
        """A command: `function(args, call)` gets a list of words."""
        return self._register("command", {"name": name, "description": description})

    def on(self, event):
        """A handler of an event, for example `turn.sealed`: `function(payload, call)`."""
        return self._register("event", {"id": event})

    def filter(self, name, priority=0):
        """A filter, for example `tool.before`: `function(value, call)` returns the changed value or None."""
        return self._register("filter", {"id": name, "priority": priority})

    def route(self, method, path, description):
        """An HTTP route with JSON in and out: `function(request, call)`."""
        return self._register("route", {"name": f"{method} {path}", "method": method, "path": path,
                                        "description": description})

    def job(self, name, every_ms):
        """A job that runs again and again: `function(nothing, call)`."""
        return self._register("job", {"name": name, "everyMs": every_ms})

    def service(self, name, methods):
        """A service for other extensions: `function({"method": ..., "args": [...]}, call)`."""
        return self._register("service", {"name": name, "methods": methods})

    def run(self):
        """Serves the host until it closes standard input."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" not in message:
                waiting = self._answers.pop(message["id"], None)
                if waiting:
                    waiting.put(message)
            elif message["method"] == "cancel":
                call = self._calls.get(message["params"]["id"])
                if call:
                    call._cancel.set()
            else:
                self._begin(message)

    def _begin(self, message):
        params = message.get("params", {})
        call = Call(self, message["id"], params.get("context"))
        self._calls[message["id"]] = call
        threading.Thread(target=self._serve, args=(message, params, call), daemon=True).start()

    def _serve(self, message, params, call):
        try:
            answer = {"result": self._handle(message["method"], params, call)}
        except Exception as error:  # whatever an author's function raises is the answer
            traceback.print_exc()
            answer = {"error": {"code": 1, "message": str(error) or type(error).__name__}}
        self._calls.pop(message["id"], None)
        self._send({"id": message["id"], **answer})

    def _handle(self, method, params, call):
        if method == "initialize":
            self.id, self.version = params["id"], params["version"]
            self.workdir, self.settings = params["workdir"], params["settings"]
            registrations = {LISTS[kind]: [entry for entry, _ in listed] for kind, listed in self._entries.items()}
            return {"protocolVersion": PROTOCOL_VERSION, "registrations": registrations}
        if method == "invoke":
            return self._function(params["kind"], params["which"])(params["input"], call)
        if method == "shutdown":
            return None
        raise LookupError(f"unknown method {method}")

    def _function(self, kind, which):
        entries = self._entries[kind]
        if kind in ("event", "filter"):
            return entries[which][1]
        names = (which, which.split("/")[-1])
        return next(function for entry, function in entries if entry["name"] in names)

    def _ask(self, method, params):
        answer = queue.SimpleQueue()
        with self._write_lock:
            self._last_id += 1
            question = self._last_id
        self._answers[question] = answer
        self._send({"id": question, "method": method, "params": params})
        message = answer.get()
        if "error" in message:
            raise HostError(message["error"]["message"])
        return message.get("result")

    def _send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._write_lock:
            self._output.write(line)
            self._output.flush()
