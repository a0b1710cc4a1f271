"""One single-use code at a time, shown at the desk and typed (or scanned) on the device that wants in.

Rule: a code lives five minutes and dies with its first right use. Whoever guesses is told to wait, each address
for itself; the right code is let in whatever others guess, also from the same address (a proxy's, say).
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from msgspec import Struct

# Crockford's alphabet: no I, L, O or U, and what a person may type instead of 1 and 0 is read as such.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TYPED = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": "", "\t": ""})

LETTERS = 8  # 40 bits
LIFETIME = 300.0

# All that is ever compared with one code, from wherever: one in ten million of what it could be.
MOST_WRONG = 100_000

# A person needs two or three; who tries more from one address is told to wait for the minute to pass.
MOST_PER_MINUTE = 10

# Addresses whose wrong codes are counted; the one that was quiet for longest is forgotten first.
MOST_PEERS = 4_096


class Code(Struct, frozen=True):
    text: str
    expires_at: float


class Slow(Struct, frozen=True):
    """Too many wrong codes from there; come back in `seconds`."""

    seconds: int


class Wrong(Struct, frozen=True):
    reason: str


class Pairing:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._code: Code | None = None
        self._wrong = 0
        self._peers: OrderedDict[str, deque[float]] = OrderedDict()

    def new(self) -> Code:
        """A fresh code; an older one is void from now on."""
        text = "".join(secrets.choice(ALPHABET) for _ in range(LETTERS))
        self._code = Code(f"{text[:4]}-{text[4:]}", self._clock() + LIFETIME)
        self._wrong = 0
        return self._code

    def close(self) -> None:
        """The code that is open, if one is, is void."""
        self._code = None

    def use(self, typed: str, peer: str = "") -> Wrong | Slow | None:
        """None when the code was right; it is used up then. `peer`: the address it came from."""
        now = self._clock()
        code = self._code
        if code is not None and now >= code.expires_at:
            code = self._code = None
        if code is not None and hmac.compare_digest(_plain(typed).encode(), _plain(code.text).encode()):
            self._code = None
            return None
        slow = self._counted(peer, now)
        if code is None:
            return slow or Wrong("No pairing is open. Make a new code at the desk with: yourcall devices pair")
        self._wrong += 1
        if self._wrong >= MOST_WRONG:
            self._code = None
        return slow or Wrong("That code is wrong. Check it again: a code has eight letters and digits.")

    def _counted(self, peer: str, now: float) -> Slow | None:
        """One more wrong code from there; how long to wait, if it was one too many."""
        wrong = self._peers.setdefault(_network(peer), deque(maxlen=MOST_PER_MINUTE))
        self._peers.move_to_end(_network(peer))
        if len(self._peers) > MOST_PEERS:
            self._peers.popitem(last=False)
        if len(wrong) == MOST_PER_MINUTE and 0 <= now - wrong[0] < 60:
            return Slow(int(60 - (now - wrong[0])) + 1)
        wrong.append(now)
        return None


def _network(peer: str) -> str:
    """One household has a whole /64 of IPv6, and may come from another of its addresses each time."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if not isinstance(address, IPv6Address):
        return peer
    return str(address.ipv4_mapped or int(address) >> 64)


def _plain(code: str) -> str:
    return code.strip().upper().translate(_TYPED)
