"""Who belongs to a fleet: what the authority signs, and how everybody else looks at it.

Rule: nothing is believed before its signature was verified against the authority that was learnt at the join; a
signature is over bytes, which are kept and passed on as they were signed.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated, Literal, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Meta, Struct

T = TypeVar("T")

Id = Annotated[str, Meta(pattern="^[a-z2-7]{16}$")]
NoId = Annotated[str, Meta(pattern="^([a-z2-7]{16})?$")]
FleetId = Annotated[str, Meta(pattern="^[a-z2-7]{10}$")]
Name = Annotated[str, Meta(min_length=1, max_length=60, pattern="^[^\\x00-\\x1f\\x7f-\\x9f]+$")]
Key32 = Annotated[bytes, Meta(min_length=32, max_length=32)]
Point = Annotated[bytes, Meta(min_length=65, max_length=65)]
Nkey = Annotated[str, Meta(pattern="^U[A-Z2-7]{55}$")]

# `desk`: its own command line may answer for the whole fleet.
MemberRole = Literal["host", "hub", "desk"]

# One that knows a few thousand removed members has about 100 kB.
MOST_REVOKED = 20_000
MOST_HUBS = 64
LARGEST = 1 << 20


class Signed(Struct, frozen=True, array_like=True):
    """What the authority said, and its signature over it."""

    body: Annotated[bytes, Meta(max_length=LARGEST)]
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]


class Member(Struct, frozen=True, tag="member"):
    """A machine. `seal`: its X25519 key, of which its id is made. `nats`: what it shows to NATS."""

    fleet: FleetId
    id: Id
    name: Name
    roles: Annotated[tuple[MemberRole, ...], Meta(max_length=8)]
    seal: Key32
    nats: Nkey
    issued_at: float


class Device(Struct, frozen=True, tag="device"):
    """What signs answers: a phone's browser, or the desk of a machine (`home` is its id then). `scopes`: what
    it may do, as for a paired device."""

    fleet: FleetId
    id: Id
    name: Name
    key: Point
    scopes: Annotated[tuple[Annotated[str, Meta(max_length=20)], ...], Meta(max_length=20)]
    issued_at: float
    home: NoId = ""


class HubKey(Struct, frozen=True):
    id: Id
    seal: Key32


class Roster(Struct, frozen=True, tag="roster"):
    """Whom rows are sealed for, and who is out, members and devices alike. Only a higher `serial` replaces
    it."""

    fleet: FleetId
    serial: Annotated[int, Meta(ge=1)]
    at: float
    hubs: Annotated[tuple[HubKey, ...], Meta(max_length=MOST_HUBS)]
    revoked: Annotated[tuple[Id, ...], Meta(max_length=MOST_REVOKED)] = ()


class NotSigned(Exception):
    """The authority of this fleet did not say this."""


def sign(authority: Ed25519PrivateKey, value: Member | Device | Roster) -> Signed:
    body = msgspec.msgpack.encode(value)
    return Signed(body, authority.sign(_over(body)))


def verify(authority: bytes, signed: Signed, kind: type[T], fleet: str) -> T:
    """What was signed, as this kind and of this fleet; else NotSigned."""
    try:
        Ed25519PublicKey.from_public_bytes(authority).verify(signed.signature, _over(signed.body))
        value = msgspec.msgpack.decode(signed.body, type=kind)
    except InvalidSignature as error:
        raise NotSigned("not signed by this fleet's authority") from error
    except (ValueError, RecursionError) as error:
        raise NotSigned("signed, but not what it should be") from error
    if getattr(value, "fleet", None) != fleet:
        raise NotSigned("of another fleet")
    return value


def fleet_id(authority: bytes) -> str:
    return base64.b32encode(hashlib.sha256(b"yourcall fleet 1\n" + authority).digest())[:10].decode().lower()


def fingerprint(authority: bytes) -> str:
    """For people to compare: `3f2a 91bc …`, all 64 digits."""
    digits = hashlib.sha256(authority).hexdigest()
    return " ".join(digits[n : n + 4] for n in range(0, 64, 4))


def device_id(key: bytes) -> str:
    return base64.b32encode(hashlib.sha256(b"yourcall fleet device 1\n" + key).digest())[:16].decode().lower()


def _over(body: bytes) -> bytes:
    # The kind is the tag inside; these words keep a signature of ours from meaning anything elsewhere.
    return b"yourcall fleet authority 1\n" + body
