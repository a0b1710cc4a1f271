"""Requests that a browser signs with a key of its own, and the tickets that open its live feed.

A cookie goes to every port of a host, so a browser has none: it pairs with the public half of a key that it cannot
give away, and signs each request over its method, address and body. The header is

    Yourcall-Signature: device=ID, run=RUN, time=MS, nonce=N, digest=D, signature=S

`digest` is the SHA-256 of the body, `signature` is ECDSA (P-256, SHA-256, r and s) over `signed_text`, both in
base64url without padding. `run` and `time` are this server's own; a request that has older ones is told them.

Rule: a request is taken once, as it was signed, within a minute; whatever is not certain is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from yourcall.system.p256 import b64, public_key, signed_by, unb64

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

HEADER = "Yourcall-Signature"
RUN_HEADER, TIME_HEADER = "Yourcall-Run", "Yourcall-Time"

# How far a signed time may be from ours. A phone on a bad line needs ten seconds; its clock is set by our replies.
WINDOW_S = 60.0

# Within that time. A browser sends a few a second; one that sends more is refused, and no nonce is forgotten.
MOST_NONCES = 10_000

# The largest thing a browser sends is a photo; all of it is read before any of it is believed.
LARGEST_BODY = 20 << 20

TICKET_S = 30.0
MOST_TICKETS = 20  # for one device; an older one is void then

# The names a browser offers as it opens the feed: this one is chosen, the ticket comes with the other.
PROTOCOL, TICKET = "yourcall", "yourcall.ticket."
# The same for the token of a program whose WebSocket library cannot send a header.
KEY = "yourcall.key."

_FIELDS = {
    "device": r"[0-9a-f]{1,32}",
    "run": r"[A-Za-z0-9_-]{1,64}",
    "time": r"[0-9]{1,15}",
    "nonce": r"[A-Za-z0-9_-]{16,64}",
    "digest": r"[A-Za-z0-9_-]{43}",
    "signature": r"[A-Za-z0-9_-]{86}",
}
_HEADER = re.compile(", ".join(f"{name}=(?P<{name}>{kind})" for name, kind in _FIELDS.items()), re.ASCII)


class Signature(Struct, frozen=True):
    """What the header says; nothing of it is believed yet."""

    device: str
    run: str
    time: int
    nonce: str
    digest: str
    signature: str


class Stale(Struct, frozen=True):
    """Signed by the right key, but not for this run or this minute: the browser may sign it once more."""

    run: str
    now: int


class Unsound(Struct, frozen=True):
    reason: str


class TooMany(Struct, frozen=True):
    pass


def read_header(text: str) -> Signature | None:
    match = _HEADER.fullmatch(text) if len(text) < 500 else None
    if match is None:
        return None
    device, run, at, nonce, digest, signature = match.groups()
    return Signature(device, run, int(at), nonce, digest, signature)


def signed_text(method: str, target: str, signature: Signature) -> bytes:
    """What the signature is over; `target` is the path and the query exactly as they were sent."""
    parts = (
        "yourcall 1",
        method,
        target,
        signature.digest,
        signature.device,
        signature.run,
        str(signature.time),
        signature.nonce,
    )
    return "\n".join(parts).encode("latin-1", "replace")


def digest_of(body: bytes) -> str:
    return b64(hashlib.sha256(body).digest())


def same_body(signature: Signature, body: bytes) -> bool:
    return hmac.compare_digest(signature.digest, digest_of(body))


def read_key(text: str) -> EllipticCurvePublicKey | None:
    """A browser's public key: a point of P-256, uncompressed, in base64url."""
    point = unb64(text)
    return public_key(point) if point is not None else None


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that never go back: a clock that is set must not make an old request new."""
    wall, begun = time.time(), time.monotonic()
    return lambda: wall + time.monotonic() - begun


class Signatures:
    """What must be remembered to take each signed request once: the nonces of the last minutes, for each device.

    A run has a name of its own, so that what was signed for the one before a restart is worth nothing after it.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.run = secrets.token_urlsafe(12)
        self._clock = clock or steady_clock()
        self._nonces: dict[str, OrderedDict[str, float]] = {}

    @property
    def now(self) -> int:
        """In milliseconds."""
        return int(self._clock() * 1000)

    def check(self, key: str, method: str, target: str, signature: Signature) -> Stale | Unsound | TooMany | None:
        """None if this is the first time that the device sends this; the body is not looked at here."""
        if not signed_by(unb64(key) or b"", signed_text(method, target, signature), signature.signature):
            return Unsound("The signature is not this device's for this request.")
        now = self._clock()
        if not hmac.compare_digest(signature.run, self.run) or abs(now - signature.time / 1000) > WINDOW_S:
            return Stale(self.run, self.now)
        seen = self._nonces.setdefault(signature.device, OrderedDict())
        while seen and next(iter(seen.values())) <= now:
            seen.popitem(last=False)
        if signature.nonce in seen:
            return Unsound("This request was taken already.")
        if len(seen) >= MOST_NONCES:
            return TooMany()
        seen[signature.nonce] = now + 2 * WINDOW_S  # later than any time at which it would be taken
        return None

    def forget(self, device_id: str) -> None:
        """It is revoked: nothing that it signs is looked at any more."""
        self._nonces.pop(device_id, None)


class Tickets:
    """Single-use words that open one live feed each: a browser cannot sign the opening of a WebSocket."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, OrderedDict[str, float]] = {}

    def new(self, device_id: str) -> str:
        ticket = secrets.token_urlsafe(24)
        mine = self._open.setdefault(device_id, OrderedDict())
        mine[_hash(ticket)] = self._clock() + TICKET_S
        while len(mine) > MOST_TICKETS:
            mine.popitem(last=False)
        return ticket

    def use(self, ticket: str) -> str | None:
        """The device it was made for; from here on it is worth nothing."""
        name = _hash(ticket)
        for device_id, mine in self._open.items():
            ends = mine.pop(name, None)
            if ends is not None:
                return device_id if self._clock() < ends else None
        return None

    def forget(self, device_id: str) -> None:
        self._open.pop(device_id, None)


def ticket_in(protocols: list[str]) -> str | None:
    """What a browser offered as the names of protocols; None if it brought no ticket."""
    return _offered(protocols, TICKET)


def key_in(protocols: list[str]) -> str | None:
    """The token that a program offered as the name of a protocol; None if it brought none."""
    return _offered(protocols, KEY)


def _offered(protocols: list[str], prefix: str) -> str | None:
    names = [name.removeprefix(prefix) for name in protocols if name.startswith(prefix)]
    return names[0] if len(names) == 1 and PROTOCOL in protocols else None


def _hash(ticket: str) -> str:
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()
