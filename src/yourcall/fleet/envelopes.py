"""What goes over the bus: typed, versioned messages, sealed, and read with limits.

Every message is an `Envelope` in MessagePack: the sender's version, the lowest version that can understand
it, who sent it, and sealed bytes. Inside is one of the structs below. A newer sender may add fields; they are
passed over.

Rule: a message is hostile until it is opened: limits come first, then the types, and what does not fit is one
`Unread`, never another exception.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from yourcall.fleet.acts import Act
from yourcall.fleet.certificates import Key32, Name, Nkey, NoId, Point, Signed

T = TypeVar("T")

# What is said now, and the oldest that is still understood: N and N-1 work together.
VERSION = 1
OLDEST = 1

# Below what a NATS server takes unless it is told otherwise (1 MB).
LARGEST_MESSAGE = 1_000_000
# A row is a summary: what is larger is asked for when somebody looks.
LARGEST_ROW = 32_768
LARGEST_BODY = 8 << 20
LARGEST_PART = 900_000
LONGEST_TARGET = 8_000
# Where the further parts of a large reply are asked for.
PARTS = "/parts/"

Bytes = Annotated[bytes, Meta(max_length=LARGEST_MESSAGE)]
Text = Annotated[str, Meta(max_length=500)]
Run = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{12,64}$")]


class Unread(Exception):
    """It cannot be read; the words are for a log."""


class Envelope(Struct, frozen=True):
    """`key`: the sender's X25519 key. `to`: the message's key, sealed for each who may read it; empty: `body`
    is sealed with the key that the two share."""

    v: Annotated[int, Meta(ge=1, le=1_000_000)]
    needs: Annotated[int, Meta(ge=1, le=1_000_000)]
    by: Annotated[str, Meta(max_length=40)]
    key: Annotated[bytes, Meta(max_length=32)]
    to: Annotated[
        dict[Annotated[str, Meta(max_length=40)], Annotated[bytes, Meta(max_length=100)]], Meta(max_length=64)
    ]
    body: Bytes


class Head(Struct, frozen=True):
    """Which run of a host counts, and who it is. `gone_at`: it said goodbye then. `tells`: it has channels of
    its own, so no hub tells people of its prompts. `count`: how many rows the run began with."""

    certificate: Signed
    run: Run
    act_run: Run
    version: Text
    at: float
    gone_at: float = 0.0
    tells: bool = False
    count: int = 0


class Beat(Struct, frozen=True):
    """A sign of life. `now`: the host's own clock. `refused`: how many acts it has refused in this run."""

    run: Run
    act_run: Run
    now: float
    refused: int = 0
    why: Text = ""


class Row(Struct, frozen=True):
    """The latest state of one prompt or session: its view as the host shows it, as JSON. `number` counts the
    host's rows of this run. `whole`: nothing was left out. `over`: there is nothing more to show of it."""

    number: Annotated[int, Meta(ge=1)]
    at: float
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    view: Annotated[bytes, Meta(max_length=LARGEST_ROW)] = b""
    whole: bool = True
    over: bool = False


class Ask(Struct, frozen=True):
    """A request to one host. `act` and `device`: who wants it; without them only what a hub may look at is
    replied to. `roster`: the newest that the asker knows."""

    id: Annotated[str, Meta(min_length=8, max_length=64)]
    at: float
    method: Literal["GET", "POST", "DELETE"]
    target: Annotated[str, Meta(min_length=1, max_length=LONGEST_TARGET, pattern="^/[\\x21-\\x7e]*$")]
    roster: int
    body: Bytes = b""
    act: Act | None = None
    device: Signed | None = None


class Told(Struct, frozen=True):
    """The host's reply. Of a large one this is part `part` of `parts`, and the
    others are asked for by `kept`. `packed`: the body is compressed (zlib).
    `stale_run`: the act may be signed once more, for this run and this time."""

    status: Annotated[int, Meta(ge=100, le=599)]
    body: Bytes = b""
    part: Annotated[int, Meta(ge=0, le=64)] = 0
    parts: Annotated[int, Meta(ge=1, le=64)] = 1
    packed: bool = False
    kept: Annotated[str, Meta(max_length=64)] = ""
    stale_run: Annotated[str, Meta(max_length=64)] = ""
    now: int = 0


class JoinRequest(Struct, frozen=True):
    """Whoever has an invitation: its keys, made there."""

    name: Name
    seal: Key32
    nats: Nkey
    desk: Point
    version: Text = ""


class Joined(Struct, frozen=True):
    """The authority's reply. `refused`: why not; then the rest is empty."""

    refused: Text = ""
    member: Signed | None = None
    desk: Signed | None = None
    roster: Signed | None = None
    fleet: Annotated[str, Meta(max_length=10)] = ""
    fleet_name: Annotated[str, Meta(max_length=60)] = ""
    tls: Annotated[str, Meta(max_length=10_000)] = ""
    addresses: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    authority_member: NoId = ""


class Leaving(Struct, frozen=True):
    """A member goes of its own accord."""

    at: float


class Lease(Struct, frozen=True):
    """Which hub tells people, until when on its own clock; the others look at when they heard it last."""

    holder: NoId
    number: int
    at: float


def encode(value: Struct) -> bytes:
    return msgspec.msgpack.encode(value)


def decode(data: bytes, kind: type[T], most: int = LARGEST_MESSAGE) -> T:
    if len(data) > most:
        raise Unread(f"{len(data):,} bytes, at most {most:,} are read")
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (ValueError, RecursionError, TypeError) as error:
        raise Unread(f"no {kind.__name__}: {error}"[:300]) from error


def envelope(data: bytes) -> Envelope:
    """The outside of a message; whether it can be understood is known before anything is opened."""
    said = decode(data, Envelope)
    if said.needs > VERSION:
        raise Unread(f"it needs version {said.needs}, and this is {VERSION}: upgrade yourcall here")
    if said.v < OLDEST:
        raise Unread(f"version {said.v} is too old: upgrade yourcall there")
    return said


def wrapped(by: str, key: bytes, body: bytes, to: dict[str, bytes] | None = None) -> bytes:
    return encode(Envelope(VERSION, OLDEST, by, key, to or {}, body))
