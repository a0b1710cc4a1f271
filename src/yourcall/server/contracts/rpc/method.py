"""What a method of the JSON-RPC contract is: one row of its table, and the errors it replies with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from yourcall.server.contracts.rpc.connection import Connection
from yourcall.server.scopes import Scope

BAD_PARAMS = -32602
NOT_FOUND = -32001
REFUSED = -32002
TOO_LATE = -32003
UNSURE = -32004


class Wrong(Struct, frozen=True):
    """An error: its code, and a sentence that says what to do. `result`: what became of an answer."""

    code: int
    message: str
    result: str = ""


class Method(Struct, frozen=True):
    name: str
    run: Callable[[Connection, Any], Awaitable[Struct | Wrong]]
    takes: type[Struct]
    says: type[Struct]
    about: str
    scope: Scope
