"""A scripted stand-in for the generateContent API (generativelanguage v1beta) on loopback.

The rule it keeps: what the model says follows from the conversation it is sent. The last user text that contains
`DO <name>` picks the script; turn N is played after N turns of the model, and after the last it says "All done.".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from yourcall.agents.model_turns import Block, filled, text
from yourcall.live_check.models.scripted import PICK, Exchange, Scripted
from yourcall.live_check.waiting import until


class GenerateServer(Scripted[Block]):
    def __init__(self) -> None:
        super().__init__(_Exchange)
        self.requests: list[dict[str, Any]] = []

    def tool_results(self) -> list[dict[str, Any]]:
        """What the model was told about its calls: `{"name", "response"}`, those of the newest conversation."""
        return [part["functionResponse"] for _, part in self._parts() if "functionResponse" in part]

    def user_texts(self) -> list[str]:
        """What the person was heard to say in the newest conversation."""
        return [part["text"] for role, part in self._parts() if role == "user" and "text" in part]

    def _parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        chats = [request for request in list(self.requests) if request.get("tools")]
        contents: list[dict[str, Any]] = chats[-1]["contents"] if chats else []
        for content in contents:
            parts: list[dict[str, Any]] = content.get("parts", [])
            yield from ((content.get("role", ""), part) for part in parts)

    def wait_results(self, count: int = 1) -> list[dict[str, Any]]:
        return until(
            lambda: found if len(found := self.tool_results()) >= count else [], what=f"{count} tool results"
        )

    def answer_to(self, body: dict[str, Any]) -> list[Block]:
        self.took(self.requests, body)
        contents = body.get("contents", [])
        name, at = "", -1
        for number, content in enumerate(contents):
            sentence = " ".join(part.get("text") or "" for part in content.get("parts", []))
            if content.get("role") == "user" and (picked := PICK.findall(sentence)):
                name, at = picked[-1], number
        if not name:
            return [text("I heard you.")]
        turn = sum(content.get("role") == "model" for content in contents[at + 1 :])
        turns = self._scripts.get(name, ())
        blocks = turns[turn] if turn < len(turns) else [text("All done.")]
        return [filled(block, _offered(body), body) for block in blocks]


def _offered(body: dict[str, Any]) -> set[str]:
    groups: list[dict[str, Any]] = body.get("tools") or []
    return {str(each.get("name")) for group in groups for each in group.get("functionDeclarations", [])}


# What the CLI's own helpers (routing, loop check, summaries) ask for as JSON; none of it matters here.
_STUB = {
    "reasoning": "stub",
    "model_choice": "pro",
    "complexity_reasoning": "stub",
    "complexity_score": 50,
    "next_speaker": "user",
    "unproductive_state_analysis": "stub",
    "unproductive_state_confidence": 0.0,
    "corrected_new_string": "",
    "response": "stub",
}


class _Exchange(Exchange):
    def do_GET(self) -> None:
        self.reply(200, {"models": []})

    def do_POST(self) -> None:
        body = self.asked()
        if ":countTokens" in self.path:
            return self.reply(200, {"totalTokens": 100})
        asked: dict[str, Any] = body.get("generationConfig") or {}
        if asked.get("responseMimeType") == "application/json" or "responseJsonSchema" in asked:
            return self.reply(200, _chunk([{"text": json.dumps(_STUB)}], last=True))
        blocks = self.server.model.answer_to(body)
        for block in blocks:
            if block.kind == "error":
                problem = {
                    "code": block.body["status"],
                    "message": block.body["message"],
                    "status": block.body["kind"],
                    "details": block.body.get("details", []),
                }
                return self.reply(block.body["status"], {"error": problem})
        if "streamGenerateContent" not in self.path:
            parts = [part for block in blocks if (part := _part(block)) is not None]
            return self.reply(200, _chunk(parts, last=True))
        return self._stream(blocks)

    def _stream(self, blocks: list[Block]) -> None:
        self.begin_stream()
        for number, block in enumerate(blocks):
            if block.kind == "pause":
                while self.server.model.held_back(block.body["until"]):
                    continue
            part = _part(block)
            if part is not None:
                last = all(later.kind == "pause" for later in blocks[number + 1 :])
                self.data(_chunk([part], last=last))


def _part(block: Block) -> dict[str, Any] | None:
    if block.kind == "text":
        return {"text": block.body["text"]}
    if block.kind == "tool_use":
        return {"functionCall": {"name": block.body["name"], "args": block.body["input"]}}
    return None


def _chunk(parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
