"""A scripted Anthropic Messages API on loopback: the model behind a real Claude Code in a test or a live check.

The rule it keeps: what it says follows from the conversation it is sent, not from what it said before, so a
retry, a subagent or a resumed session gets the turn that belongs there.

    with ModelServer() as model:
        model.script("touch", [tool("Bash", command="touch marker", description="Make the marker")],
                              [text("Made it.")])
        ...                                    # the person types: please DO touch
        model.wait_for(lambda m: m.tool_results())

The last user text that contains `DO <name>` picks the script; turn N is played after N rounds of tool
results, and after the last turn the model says "All done.". Requests without tools (titles, summaries) get a
harmless answer.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yourcall.agents.model_turns import Block, filled, text
from yourcall.live_check.models.scripted import PICK, Exchange, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
SECRET_HEADERS = {"x-api-key", "authorization"}


@dataclass(frozen=True)
class Request:
    """One request as it came in: the model's own view of the session."""

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    script: str | None = None
    turn: int = 0

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body.get("messages", [])

    @property
    def auxiliary(self) -> bool:
        return not self.body.get("tools")


@dataclass(frozen=True)
class ToolUse:
    id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """What the model was told about one of its tool calls."""

    id: str
    name: str
    input: dict[str, Any]
    text: str
    is_error: bool
    block: dict[str, Any] = field(repr=False)


class ModelServer(Scripted[Block]):
    def __init__(self) -> None:
        super().__init__(_Exchange)
        self.requests: list[Request] = []
        self._played: dict[tuple[str, int], int] = {}

    def heard(self) -> object:
        return [(r.path, r.script, r.turn) for r in self.requests], self.tool_results()

    def tool_uses(self) -> list[ToolUse]:
        """Every tool call that came back to the model in a conversation, once each, oldest first."""
        uses: dict[str, ToolUse] = {}
        for request in list(self.requests):
            for block in _blocks(request.messages, "assistant", "tool_use"):
                uses.setdefault(block["id"], ToolUse(block["id"], block["name"], block["input"]))
        return list(uses.values())

    def tool_results(self) -> list[ToolResult]:
        """Every tool result the model received, once each, oldest first."""
        uses = {use.id: use for use in self.tool_uses()}
        results: dict[str, ToolResult] = {}
        for request in list(self.requests):
            for block in _blocks(request.messages, "user", "tool_result"):
                use = uses.get(block["tool_use_id"], ToolUse(block["tool_use_id"], "?", {}))
                wording = _plain(block.get("content"))
                result = ToolResult(use.id, use.name, use.input, wording, bool(block.get("is_error")), block)
                results.setdefault(use.id, result)
        return list(results.values())

    def user_texts(self) -> list[str]:
        """What the person was heard to say in the newest conversation, without the CLI's reminders."""
        asked = [r for r in self.requests if r.path.endswith("/messages") and not r.auxiliary]
        messages = asked[-1].messages if asked else []
        lines = [REMINDER.sub("", _plain(m["content"])).strip() for m in messages if m["role"] == "user"]
        return [words for words in lines if words]

    # What the connections' threads call.

    def answer_to(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[Request, list[Block]]:
        request = Request(time.time(), path, headers, body)
        if request.auxiliary:
            title = "title" in json.dumps([body.get("system"), request.messages[-1:]]).lower()
            blocks = [text('{"title": "A scripted session"}' if title else "ok")]
        else:
            request, blocks = self._choose(request)
        self.took(self.requests, request)
        return request, [_filled(block, request) for block in blocks]

    def _choose(self, request: Request) -> tuple[Request, list[Block]]:
        rounds = 0
        for message in reversed(request.messages):
            if message["role"] == "assistant":
                rounds += bool(list(_blocks([message], "assistant", "tool_use")))
            if message["role"] != "user":  # Claude Code also sends `system` messages in between
                continue
            wording = REMINDER.sub("", _plain(message["content"])).strip()
            if picked := PICK.findall(wording):
                name = picked[-1]
                turns = self._scripts.get(name, ([text(f"(there is no script {name})")],))
                blocks = turns[rounds] if rounds < len(turns) else [text("All done.")]
                return Request(request.at, request.path, request.headers, request.body, name, rounds), blocks
            if wording and not list(_blocks([message], "user", "tool_result")):
                return request, [text(f"You said: {wording[:200]}")]
        return request, [text("OK.")]

    def fails_now(self, request: Request, block: Block) -> bool:
        key = (request.script or "", request.turn)
        with self._changed:
            self._played[key] = self._played.get(key, 0) + 1
            return block.body["times"] is None or self._played[key] <= block.body["times"]


def _blocks(messages: list[dict[str, Any]], role: str, kind: str) -> Iterator[dict[str, Any]]:
    for message in messages:
        if message.get("role") == role and isinstance(message.get("content"), list):
            yield from (block for block in message["content"] if block.get("type") == kind)


def _plain(content: Any) -> str:
    """The text in a message's or a tool result's content (which may be a string or a list of blocks)."""
    if isinstance(content, str):
        return content
    blocks: list[dict[str, Any]] = content or []
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")


def _filled(block: Block, request: Request) -> Block:
    tools: list[dict[str, Any]] = request.body.get("tools") or []
    offered = {str(offer.get("name")) for offer in tools}
    block = filled(block, offered, request.body)
    if block.kind != "tool_use":
        return block
    name = block.body["name"]
    if name == "Agent" and "Agent" not in offered and "Task" in offered:  # its name before 2.1
        name = "Task"
    return Block(
        "tool_use", {**block.body, "id": block.body["id"] or f"toolu_{uuid.uuid4().hex[:22]}", "name": name}
    )


class _Exchange(Exchange):
    def do_GET(self) -> None:
        self.reply(200, {"data": []})

    def do_HEAD(self) -> None:
        self.reply(200, {})

    def do_POST(self) -> None:
        body = self.asked()
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.reply(200, {"input_tokens": 1000})
        if not path.endswith("/messages"):
            return self.reply(200, {})
        headers = {k.lower(): v for k, v in self.headers.items()}
        headers |= dict.fromkeys(SECRET_HEADERS & headers.keys(), "(set)")
        request, blocks = self.server.model.answer_to(path, headers, body)
        for block in blocks:
            if block.kind == "error" and self.server.model.fails_now(request, block):
                problem = {"type": block.body["kind"], "message": block.body["message"]}
                told = {"type": "error", "error": problem}
                return self.reply(block.body["status"], told, headers=block.body["headers"])
        blocks = [block for block in blocks if block.kind != "error"] or [text("Recovered.")]
        return self._stream(body, blocks) if body.get("stream") else self._whole(body, blocks)

    def _whole(self, body: dict[str, Any], blocks: list[Block]) -> None:
        content = [{"type": b.kind, **b.body} for b in blocks if b.kind in ("text", "thinking", "tool_use")]
        self.reply(200, _message(body, content, _stop_reason(blocks)))

    def _stream(self, body: dict[str, Any], blocks: list[Block]) -> None:
        self.begin_stream()
        self._event("message_start", message=_message(body, [], None))
        index = 0
        for block in blocks:
            if block.kind in ("pause", "hang"):
                while self.server.model.held_back(block.body.get("until")):
                    self._event("ping")
                continue
            start, deltas = _in_pieces(block)
            self._event("content_block_start", index=index, content_block=start)
            for delta in deltas:
                self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
            index += 1
        end = {"stop_reason": _stop_reason(blocks), "stop_sequence": None}
        self._event("message_delta", delta=end, usage={"output_tokens": 20})
        self._event("message_stop")

    def _event(self, kind: str, **data: Any) -> None:
        self.data({"type": kind, **data}, kind)


def _message(body: dict[str, Any], content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 1000, "output_tokens": 20}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop_reason(blocks: list[Block]) -> str:
    return "tool_use" if any(block.kind == "tool_use" for block in blocks) else "end_turn"


def _in_pieces(block: Block) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as the stream shows it first, and the deltas that fill it."""
    if block.kind == "text":
        words = block.body["text"]
        pieces = [words[at : at + 40] for at in range(0, len(words), 40)]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if block.kind == "thinking":
        signed = {"type": "signature_delta", "signature": block.body["signature"]}
        deltas = [{"type": "thinking_delta", "thinking": block.body["thinking"]}, signed]
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    start: dict[str, Any] = {"type": "tool_use", "id": block.body["id"], "name": block.body["name"], "input": {}}
    return start, [{"type": "input_json_delta", "partial_json": json.dumps(block.body["input"])}]
