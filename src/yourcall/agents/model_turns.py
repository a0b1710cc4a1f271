"""What a scripted model does in one turn: a list of blocks, made by the functions below.

Rule: a block says what, never how; the servers in `live_check.models` spell it in the API that an agent speaks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Block:
    """One thing the model does in a turn; made by the functions below."""

    kind: str
    body: dict[str, Any]


def text(wording: str) -> Block:
    return Block("text", {"text": wording})


def thinking(wording: str) -> Block:
    return Block("thinking", {"thinking": wording, "signature": "c2ln"})


def tool(name: str, use_id: str | None = None, /, **given: Any) -> Block:
    """A tool call. A callable among the inputs is called with the request's body."""
    return Block("tool_use", {"id": use_id, "name": name, "input": given})


def either(call: Block, instead: Block) -> Block:
    """The first call; the other one if the agent does not offer that tool, or one of its inputs comes to None."""
    return Block("tool_use", {**call.body, "instead": instead})


def filled(block: Block, offered: Collection[str], body: dict[str, Any]) -> Block:
    """The call as it is sent for this request, by an agent that offers these tools."""
    if block.kind != "tool_use":
        return block
    given = {key: value(body) if callable(value) else value for key, value in block.body["input"].items()}
    instead = block.body.get("instead")
    if instead is not None and (block.body["name"] not in offered or None in given.values()):
        return filled(instead, offered, body)
    return Block("tool_use", {"id": block.body["id"], "name": block.body["name"], "input": given})


def pause(until: str) -> Block:
    """The answer stops here, the stream staying open, until the test calls `model.release(until)`."""
    return Block("pause", {"until": until})


def hang() -> Block:
    return Block("hang", {})


def error(status: int, kind: str, message: str, *, times: int | None = None, **headers: str) -> Block:
    """An HTTP error instead of an answer: always, or only for the first `times` requests of this turn."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Block("error", {"status": status, "kind": kind, "message": message, "times": times, "headers": named})
