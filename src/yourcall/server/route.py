"""What a route is: one row of the table that the app, the OpenAPI document and the tests are made from.

Rule: a route takes a `Call` and returns a `Reply` or a `Refusal`; it never sees a header or a key.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request

from yourcall.server.auth import CALLER, Caller, Refusal
from yourcall.server.devices import Devices
from yourcall.server.fleet.port import Fleet, FleetDoor
from yourcall.server.ports import (
    Changes,
    Conversations,
    ConversationSearch,
    GitActions,
    Lockdown,
    Mirror,
    Notifications,
    Orders,
    Prompts,
    Reviews,
    RuleChanges,
    ScriptQuestions,
    Search,
    Sender,
    Starting,
    Ties,
    Uploads,
)
from yourcall.server.scopes import Scope
from yourcall.server.step_up import StepUp

# The largest thing a person sends is an edited file; a megabyte of it is plenty.
LARGEST_BODY = 1 << 20

# What is too large is read to its end, up to here, and forgotten: a client that is cut off while it still sends
# often never sees the answer.
MOST_FORGOTTEN = 16 << 20

MOST_ROWS = 500

T = TypeVar("T")


class Call(Struct, frozen=True):
    desk: Prompts
    devices: Devices
    stop: Callable[[], None]
    request: Request
    conversations: Conversations | None = None
    voice: Sender | None = None
    starting: Starting | None = None
    told: Notifications | None = None
    asks: ScriptQuestions | None = None
    mirror: Mirror | None = None
    uploads: Uploads | None = None
    rules: RuleChanges | None = None
    ties: Ties | None = None
    changes: Changes | None = None
    search: Search | None = None
    talk_search: ConversationSearch | None = None
    lockdown: Lockdown | None = None
    orders: Orders | None = None
    step_up: StepUp | None = None
    gesture: str = ""  # the name of the gesture with a passkey that came with the request
    fleet: Fleet | None = None
    fleet_door: FleetDoor | None = None
    reviews: Reviews | None = None
    git: GitActions | None = None

    @property
    def caller(self) -> Caller:
        return self.request.scope[CALLER]

    def part(self, name: str) -> str:
        """A part of the path."""
        return self.request.path_params[name]


class Reply(Struct, frozen=True):
    value: object
    status: int = 200
    headers: Mapping[str, str] = {}


class Query(Struct, frozen=True):
    name: str
    about: str
    kind: Literal["integer", "number", "boolean", "string"]


class Route(Struct, frozen=True):
    """`says`: what it replies with, by status. A route with the key `local` exists on the Unix socket only.

    `scope`: what the caller must be allowed; empty only where anybody comes in. `own`: each may do it to itself.
    `while_locked`: it changes something, and is done all the same while yourcall is locked. `step_up`: it takes a
    passkey where somebody has one; what it does, in words.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    run: Callable[[Call], Awaitable[Reply | Refusal]]
    about: str
    says: Mapping[int, Any]
    takes: Any = None
    queries: tuple[Query, ...] = ()
    refuses: tuple[int, ...] = ()
    key: Literal["device", "local", "nobody"] = "device"
    scope: Scope | Literal[""] = ""
    own: bool = False
    while_locked: bool = False
    step_up: str = ""


async def body(request: Request, kind: type[T]) -> T | Refusal:
    """The body as this type, or which field is wrong with it."""
    data = bytearray()
    size = 0
    too_large = Refusal(413, f"The body is larger than {LARGEST_BODY:,} bytes.", {"Connection": "close"})
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said[:20]) > MOST_FORGOTTEN:
        return too_large
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= LARGEST_BODY:
                data += chunk
            elif size > MOST_FORGOTTEN:
                break
    except ClientDisconnect:
        return Refusal(400, "The connection ended in the middle of the body.")
    if size > LARGEST_BODY:
        return too_large
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        return Refusal(400, f"The body is not as expected: {_place(str(error))}.")
    except ValueError as error:
        return Refusal(400, f"The body is not JSON: {error}.")
    except RecursionError:
        return Refusal(400, "The body is nested too deeply.")


def _place(error: str) -> str:
    """msgspec names a field as `$.wait`; people know it as `wait`."""
    what, _, where = error.partition(" - at `$")
    return f"{what}, in {where.rstrip('`').lstrip('.')}" if where.strip("`") else what


def number(request: Request, name: str) -> float | Refusal | None:
    said = request.query_params.get(name)
    if said is None:
        return None
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    return value if math.isfinite(value) else Refusal(400, f"`{name}` must be a number.")


def rows(request: Request, usual: int) -> int | Refusal:
    """How many rows to reply with."""
    said = request.query_params.get("limit", str(usual))
    if not (said.isascii() and said.isdecimal() and len(said) < 10 and 1 <= int(said) <= MOST_ROWS):
        return Refusal(400, f"`limit` must be a number from 1 to {MOST_ROWS}.")
    return int(said)


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "").lower() in ("1", "true", "yes")
