"""What a scripted model does in one turn: a list of blocks, made by the functions below.

Rule: a block says what, never how; the servers in `live_check.models` spell it in the API that an agent speaks.
"""

from __future__ import annotations

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
