"""What a scripted model does in one turn: a list of blocks, made by the functions below."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Block:
    """One thing the model does in a turn; made by the functions below."""

    kind: str
    body: dict[str, Any]


def text(words: str) -> Block:
    return Block("text", {"text": words})


def thinking(words: str) -> Block:
    return Block("thinking", {"thinking": words, "signature": "c2ln"})


def tool(name: str, use_id: str | None = None, /, **given: Any) -> Block:
    """A tool call. A callable among the inputs is called with the request's body (see `plan_file`)."""
    return Block("tool_use", {"id": use_id, "name": name, "input": given})


def pause(until: str) -> Block:
    """The answer stops here, the stream staying open, until the test calls `model.release(until)`."""
    return Block("pause", {"until": until})


def hang() -> Block:
    return Block("hang", {})


def error(status: int, kind: str, message: str, *, times: int | None = None, **headers: str) -> Block:
    """An HTTP error instead of an answer: always, or only for the first `times` requests of this turn."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Block("error", {"status": status, "kind": kind, "message": message, "times": times, "headers": named})


def plan_file(body: dict[str, Any]) -> str:
    """The file that Claude Code, in plan mode, tells the model to write its plan to."""
    return re.findall(r"(/[^\s\"\\`']+/plans/[\w.-]+\.md)", json.dumps(body))[-1]


def stop_reason(blocks: list[Block]) -> str:
    return "tool_use" if any(block.kind == "tool_use" for block in blocks) else "end_turn"


def in_pieces(block: Block) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as the stream shows it first, and the deltas that fill it."""
    if block.kind == "text":
        words = block.body["text"]
        pieces = [words[at : at + 40] for at in range(0, len(words), 40)]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if block.kind == "thinking":
        signed = {"type": "signature_delta", "signature": block.body["signature"]}
        deltas = [{"type": "thinking_delta", "thinking": block.body["thinking"]}, signed]
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    start = {"type": "tool_use", "id": block.body["id"], "name": block.body["name"], "input": {}}
    return start, [{"type": "input_json_delta", "partial_json": json.dumps(block.body["input"])}]
