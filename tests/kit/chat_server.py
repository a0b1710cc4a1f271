"""A scripted OpenAI chat-completions API on loopback: the model behind agents that speak to "any provider".

The rule it keeps: what it says follows from the conversation it is sent. The last user text that contains
`DO <name>` picks the script; turn N is played after N turns of the model, and after the last it says "All done.".
A request without tools (a title, a summary) gets a harmless answer.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from kit.turns import Block, text

PICK = re.compile(r"\bDO ([a-z0-9_]+)\b")


class ChatServer:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self._scripts: dict[str, tuple[list[Block], ...]] = {}
        self._released: set[str] = set()
        self._changed = threading.Condition()
        self._closing = False
        self.numbers = count(1)
        self._http = _Http(("127.0.0.1", 0), _Exchange)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="chat-server")

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, name: str, *turns: list[Block]) -> str:
        """Register a script; returns the words a person types to start it."""
        self._scripts[name] = turns
        return f"DO {name}"

    def release(self, name: str) -> None:
        with self._changed:
            self._released.add(name)
            self._changed.notify_all()

    def held_back(self, name: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing or name in self._released)

    def answer_to(self, body: dict[str, Any]) -> list[Block]:
        with self._changed:
            self.requests.append(body)
        if not body.get("tools"):
            return [text("A title")]
        messages = body.get("messages", [])
        name, at = "", -1
        for number, message in enumerate(messages):
            if message.get("role") == "user" and (picked := PICK.findall(_plain(message.get("content")))):
                name, at = picked[-1], number
        if not name:
            return [text("I heard you.")]
        turn = sum(message.get("role") == "assistant" for message in messages[at + 1 :])
        turns = self._scripts.get(name, ())
        return turns[turn] if turn < len(turns) else [text("All done.")]


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or "" for part in content or [] if isinstance(part, dict))


class _Http(ThreadingHTTPServer):
    daemon_threads = True  # an idle keep-alive connection of an agent that was killed holds nothing up
    block_on_close = False
    model: ChatServer


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None: ...

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the agent went away, or the test is over
            self.close_connection = True

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        blocks = self.server.model.answer_to(body)
        for block in blocks:
            if block.kind == "error":
                return self._json(block.body["status"], {"error": {"message": block.body["message"]}})
        calls = [self._call(n, b) for n, b in enumerate(b for b in blocks if b.kind == "tool_use")]
        said = "".join(b.body["text"] for b in blocks if b.kind == "text")
        base = {"id": f"c{next(self.server.model.numbers)}", "created": 1, "model": body.get("model")}
        why = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            message = {"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": why}
            return self._json(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        return self._stream({**base, "object": "chat.completion.chunk"}, blocks, calls, why, usage)

    def _call(self, index: int, block: Block) -> dict[str, Any]:
        given = {"name": block.body["name"], "arguments": json.dumps(block.body["input"])}
        return {
            "index": index,
            "id": f"call_{next(self.server.model.numbers)}",
            "type": "function",
            "function": given,
        }

    def _stream(
        self, base: dict[str, Any], blocks: list[Block], calls: list[Any], why: str, usage: dict[str, int]
    ) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for block in blocks:
            if block.kind == "pause":
                self.server.model.held_back(block.body["until"])
            elif block.kind == "text":
                self._data({**base, "choices": [_choice({"role": "assistant", "content": block.body["text"]})]})
        if calls:
            self._data({**base, "choices": [_choice({"role": "assistant", "tool_calls": calls})]})
        self._data({**base, "choices": [_choice({}, why)], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _data(self, value: object) -> None:
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def _json(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _choice(delta: dict[str, Any], why: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": why}
