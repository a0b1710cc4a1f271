"""Acts: what a person's device signs so that a host does something, and how the host verifies it.

A device signs the fleet, the host, itself, the act's own id, the time, the host's run, the request (method,
address and the digest of its body, which holds the options and the text) and the digest of what was shown.
The same text is signed by the command line here and by the phone app (`web/src/lib/acts.ts`).

Rule: an act is good for one host, one run of it, two minutes and one time; told again it is the same act, not
a second one. Whatever is not certain is refused."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from yourcall.fleet.certificates import Id
from yourcall.system.p256 import b64

# Half of what a bad line may take; clocks are compared before anything is signed.
WINDOW_S = 120.0

# A person gives a few a minute. One device cannot make a host forget another's.
MOST_ACTS = 2_000

Word = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{12,64}$")]
Digest = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{43}$")]


class Act(Struct, frozen=True):
    """`shown`: the digest of the prompt as it was shown, "" where none was. `run`: of the host's daemon."""

    host: Id
    device: Id
    id: Word
    run: Word
    time: Annotated[int, Meta(ge=0, le=1 << 53)]  # milliseconds
    digest: Digest
    shown: Annotated[str, Meta(pattern="^([A-Za-z0-9_-]{43})?$")]
    signature: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{86}$")] = "A" * 86


class Stale(Struct, frozen=True):
    """Signed for an earlier run, or by a clock that is off: it may be signed once more."""

    run: str
    now: int


class Unsound(Struct, frozen=True):
    reason: str


def statement(fleet: str, act: Act, method: str, target: str) -> bytes:
    """What the signature is over. No part can hold the end of a line: an address is sent without one."""
    parts = (
        "yourcall act 1", fleet, act.host, act.device, act.id, act.run, str(act.time), method, target, act.digest,
        act.shown or "-",
    )  # fmt: skip
    return "\n".join(parts).encode()


class Acts:
    """The acts that a host has taken in this run, so that each is done once. `clock`: seconds since 1970 that
    never go back."""

    def __init__(self, run: str, clock: Callable[[], float]) -> None:
        self.run = run
        self._clock = clock
        self._taken: dict[str, OrderedDict[str, tuple[float, bytes]]] = {}

    @property
    def now(self) -> int:
        return int(self._clock() * 1000)

    def take(self, act: Act, text: bytes) -> Stale | Unsound | bool:
        """True: do it. False: the very same was taken before. The signature was verified already."""
        now = self._clock()
        mine = self._taken.setdefault(act.device, OrderedDict())
        while mine and next(iter(mine.values()))[0] <= now:
            mine.popitem(last=False)
        known = mine.get(act.id)
        if known is not None:
            same = known[1] == hashlib.sha256(text).digest()
            return False if same else Unsound("Another act of this id was taken already.")
        if act.run != self.run or abs(now - act.time / 1000) > WINDOW_S:
            return Stale(self.run, self.now)
        if len(mine) >= MOST_ACTS:
            return Unsound("Too many acts of this device within a few minutes.")
        mine[act.id] = (now + 2 * WINDOW_S, hashlib.sha256(text).digest())  # later than it would be taken
        return True


def digest_of(body: bytes) -> str:
    return b64(hashlib.sha256(body).digest())
