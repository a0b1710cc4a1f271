"""`yourcall mcp`: an MCP server on stdio with one tool, `ask_human`, for agents that want to ask a person.

Rule: written against the protocol (JSON-RPC 2.0, one message a line); nothing but messages goes to stdout. A call
that is cancelled, or whose client leaves, withdraws its question.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any, cast

import click
from msgspec import Struct, ValidationError, convert, field

from yourcall import __version__
from yourcall.agents import jsonrpc
from yourcall.cli.instance import Instance, pass_place
from yourcall.client import Answered, Interrupted, NotRunning, Yourcall, YourcallError
from yourcall.client.blocking import AGAIN

# The versions whose messages these are; a client that wants another one is offered the newest of them.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Clients give up on a call that is silent for a minute or less; a word of progress starts their clock anew.
PROGRESS_S = 10.0

PARSE, INVALID, UNKNOWN, PARAMS = -32700, -32600, -32601, -32602

TOOL: dict[str, Any] = {
    "name": "ask_human",
    "title": "Ask the person",
    "description": "Ask the person in charge a question and wait for the answer. They see it on the phone, in a "
    "chat or at a terminal, wherever they are; it can take seconds or hours. Use it when a decision is theirs to "
    "make. Give options where you can; they are quicker to answer than a text.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "What you want to know, in full."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 20,
                "description": "The answers to choose from, if there are such.",
            },
            "details": {"type": "string", "description": "What they need to decide: a diff, a plan, numbers."},
            "allow_text": {"type": "boolean", "description": "May the answer be a text? Without options, always."},
        },
        "required": ["question"],
        "additionalProperties": False,
    },
}  # fmt: skip


class Arguments(Struct, forbid_unknown_fields=True):
    question: str
    options: list[str] = field(default_factory=list[str])
    details: str = ""
    allow_text: bool = True


@click.command(
    "mcp",
    epilog="""\b
Examples:
  claude mcp add yourcall -- yourcall mcp
  codex mcp add yourcall -- yourcall mcp
  gemini mcp add yourcall yourcall mcp
""",
)
@click.option("--name", default="An agent", show_default=True, metavar="WHO", help="Who asks, for the person.")
@pass_place
def command(place: Instance, name: str) -> None:
    """Serve MCP on stdin and stdout, for an agent to start: its tool `ask_human` asks you, on every device."""
    Server(Yourcall(place.home), name).run()


class Call:
    """One `tools/call` that is under way."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()


class Server:
    def __init__(self, client: Yourcall, name: str) -> None:
        self._client, self._name = client, name
        self._calls: dict[str, Call] = {}
        self._writing = threading.Lock()

    def run(self) -> None:
        threads: list[threading.Thread] = []
        for line in sys.stdin.buffer:
            try:
                message: Any = json.loads(line)
            except (ValueError, RecursionError):
                self._error(None, PARSE, "This is not JSON.")
                continue
            batch = cast("list[Any]", message) if isinstance(message, list) else [message]
            for each in batch or [None]:
                if thread := self._take(each):
                    threads = [thread, *(old for old in threads if old.is_alive())]
        for call in list(self._calls.values()):
            call.cancelled.set()
        for thread in threads:
            thread.join()

    def _take(self, message: Any) -> threading.Thread | None:
        """Serve one message; a call that waits for a person is a thread of its own."""
        if not isinstance(message, dict):
            self._error(None, INVALID, "This is not a message.")
            return None
        payload = cast("dict[str, Any]", message)
        method, id = payload.get("method"), payload.get("id")
        params: dict[str, Any] = payload["params"] if isinstance(payload.get("params"), dict) else {}
        if method is None:
            return None  # a reply to something: we ask nothing
        if id is None:
            if method == "notifications/cancelled" and (
                call := self._calls.get(json.dumps(params.get("requestId")))
            ):
                call.cancelled.set()
            return None
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                version = wanted if wanted in VERSIONS else VERSIONS[0]
                info = {"name": "yourcall", "title": "yourcall", "version": __version__}
                self._result(id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "ping":
                self._result(id, {})
            case "tools/list":
                self._result(id, {"tools": [TOOL]})
            case "tools/call":
                return self._begin(id, params)
            case _:
                self._error(id, UNKNOWN, f"There is no method {str(method)[:80]!r} here.")
        return None

    def _begin(self, id: Any, params: dict[str, Any]) -> threading.Thread | None:
        if params.get("name") != TOOL["name"]:
            self._error(id, PARAMS, f"There is no tool {str(params.get('name'))[:80]!r}; there is: ask_human.")
            return None
        try:
            asked = convert(params.get("arguments") or {}, Arguments)
        except ValidationError as error:
            self._error(id, PARAMS, f"The arguments are not as expected: {error}.")
            return None
        meta = cast("dict[str, Any]", params["_meta"]) if isinstance(params.get("_meta"), dict) else {}
        call = self._calls[json.dumps(id)] = Call()
        thread = threading.Thread(target=self._ask, args=(id, asked, meta.get("progressToken"), call))
        thread.start()
        return thread

    def _ask(self, id: Any, asked: Arguments, token: Any, call: Call) -> None:
        try:
            answer = self._answered(asked, token, call)
        except YourcallError as error:
            self._say(id, f"The person could not be asked: {error}", wrong=True)
        else:
            if answer is not None:
                self._say(id, _words(answer))
        finally:
            self._calls.pop(json.dumps(id), None)

    def _answered(self, asked: Arguments, token: Any, call: Call) -> Answered | None:
        """The answer; None if it is no longer wanted."""
        text = asked.allow_text or not asked.options
        request = self._client.raise_hand(
            asked.question, asked.options, text=text, body=asked.details, name=self._name
        )
        began, count = time.monotonic(), 0
        while not call.cancelled.is_set():
            try:
                # Short: this is also how soon a cancelled call is seen.
                state = self._client.look(request, 1.0)
            except (NotRunning, Interrupted):
                time.sleep(AGAIN)
                continue
            if state.state != "waiting":
                return self._client.take(state)
            if token is not None and time.monotonic() - began > PROGRESS_S * (count + 1):
                count += 1
                told = {"progressToken": token, "progress": count, "message": "waiting for the person"}
                self._send(jsonrpc.notification("notifications/progress", told))
        self._client.withdraw(str(request["id"]))
        return None

    def _say(self, id: Any, text: str, *, wrong: bool = False) -> None:
        self._result(id, {"content": [{"type": "text", "text": text}], "isError": wrong})

    def _result(self, id: Any, result: object) -> None:
        self._send(jsonrpc.reply(id, result))

    def _error(self, id: Any, code: int, why: str) -> None:
        self._send(jsonrpc.refusal(id, why, code))

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(jsonrpc.stamped(message)) + "\n"
        with self._writing:
            try:
                sys.stdout.write(line)
                sys.stdout.flush()
            except (BrokenPipeError, ValueError):
                for call in list(self._calls.values()):
                    call.cancelled.set()


def _words(answer: Answered) -> str:
    """The answer as a model reads it."""
    parts = [f"The person chose: {', '.join(answer.options)}"] if answer.options else []
    parts += [f"The person wrote: {answer.text}" if answer.options else answer.text] if answer.text else []
    return "\n".join(parts) or "The person answered without a word."
