"""JSON-RPC messages, for everybody here who speaks it: agents over ACP and Codex's own dialect, our RPC and MCP.

Rule: this is the envelope alone. Codex leaves the version out; everybody else stamps it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from yourcall.agents.kit.wire import null

Id = int | str

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601


class Problem(Struct, frozen=True):
    """`data` is anything; most agents put a sentence or `{"details": …}` there."""

    code: int | float | str | None = 0
    message: str | None = ""
    data: Raw = field(default_factory=null)


class Message(Struct, frozen=True):
    """A request (id and method), a notification (method) or a reply (id, and a result or an error)."""

    id: Id | None = None
    method: str = ""
    params: Raw = field(default_factory=null)
    result: Raw = field(default_factory=null)
    error: Problem | None = None


def request(id: Id, method: str, params: object) -> dict[str, Any]:
    return {"id": id, "method": method, "params": params}


def notification(method: str, params: object = None) -> dict[str, Any]:
    return {"method": method} if params is None else {"method": method, "params": params}


def reply(id: Any, result: object) -> dict[str, Any]:
    return {"id": id, "result": result}


def refusal(id: Any, message: str, code: int = METHOD_NOT_FOUND, data: object = None) -> dict[str, Any]:
    error: dict[str, object] = {"code": code, "message": message}
    return {"id": id, "error": error if data is None else {**error, "data": data}}


def stamped(message: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **message}
