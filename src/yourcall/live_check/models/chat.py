"""A scripted OpenAI chat-completions API on loopback: the model behind agents that speak to "any provider".

The rule it keeps: what it says follows from the conversation it is sent. The last user text that contains
`DO <name>` picks the script; turn N is played after N turns of the model, and after the last it says "All done.".
A request without tools (a title, a summary) gets a harmless answer.
"""

from __future__ import annotations

import json
from typing import Any

from yourcall.agents.model_turns import Block, filled, text
from yourcall.live_check.models.scripted import PICK, Exchange, Scripted


class ChatServer(Scripted[Block]):
    def __init__(self, *, tools: bool = True) -> None:
        """`tools`: only requests that offer some are the conversation itself."""
        super().__init__(_Exchange, "/v1")
        self._tools = tools
        self.requests: list[dict[str, Any]] = []

    def answer_to(self, body: dict[str, Any]) -> list[Block]:
        self.took(self.requests, body)
        if self._tools and not body.get("tools"):
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
        blocks = turns[turn] if turn < len(turns) else [text("All done.")]
        tools: list[dict[str, Any]] = body.get("tools") or []
        offered = {str(each.get("function", {}).get("name")) for each in tools}
        return [filled(block, offered, body) for block in blocks]


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = content or []
    return " ".join(part.get("text") or "" for part in parts)


class _Exchange(Exchange):
    def do_GET(self) -> None:
        self.reply(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        body = self.asked()
        blocks = self.server.model.answer_to(body)
        for block in blocks:
            if block.kind == "error":
                return self.reply(block.body["status"], {"error": {"message": block.body["message"]}})
        calls = [self._call(n, b) for n, b in enumerate(b for b in blocks if b.kind == "tool_use")]
        sentence = "".join(b.body["text"] for b in blocks if b.kind == "text")
        base = {"id": f"c{next(self.server.model.numbers)}", "created": 1, "model": body.get("model")}
        why = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            message = {
                "role": "assistant",
                "content": sentence or None,
                **({"tool_calls": calls} if calls else {}),
            }
            choice = {"index": 0, "message": message, "finish_reason": why}
            return self.reply(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
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
        self.begin_stream()
        for block in blocks:
            if block.kind == "pause":
                while self.server.model.held_back(block.body["until"]):
                    continue
            elif block.kind == "text":
                self.data({**base, "choices": [_choice({"role": "assistant", "content": block.body["text"]})]})
        if calls:
            self.data({**base, "choices": [_choice({"role": "assistant", "tool_calls": calls})]})
        self.data({**base, "choices": [_choice({}, why)], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")


def _choice(delta: dict[str, Any], why: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": why}
