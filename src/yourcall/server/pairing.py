"""One single-use code at a time, shown at the desk and typed (or scanned) on the device that wants in.

Rule: a code lives five minutes, dies with its first right use or its fifth wrong one, and guessing is slowed
down for everybody together, whatever address it comes from.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

# Crockford's alphabet: no I, L, O or U, and what a person may type instead of 1 and 0 is read as such.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TYPED = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": "", "\t": ""})

LETTERS = 8  # 40 bits, of which five guesses are nothing
LIFETIME = 300.0
MOST_WRONG = 5

# A person needs two or three; a program that tries more waits for the minute to pass.
MOST_PER_MINUTE = 10


class Code(Struct, frozen=True):
    text: str
    expires_at: float


class Slow(Struct, frozen=True):
    """Too many attempts; come back in `seconds`."""

    seconds: int


class Wrong(Struct, frozen=True):
    reason: str


class Pairing:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._code: Code | None = None
        self._wrong = 0
        self._attempts: deque[float] = deque(maxlen=MOST_PER_MINUTE)

    def new(self) -> Code:
        """A fresh code; an older one is void from now on."""
        text = "".join(secrets.choice(ALPHABET) for _ in range(LETTERS))
        self._code = Code(f"{text[:4]}-{text[4:]}", self._clock() + LIFETIME)
        self._wrong = 0
        return self._code

    def use(self, typed: str) -> Wrong | Slow | None:
        """None when the code was right; it is used up then."""
        now = self._clock()
        if len(self._attempts) == MOST_PER_MINUTE and 0 <= now - self._attempts[0] < 60:
            return Slow(int(60 - (now - self._attempts[0])) + 1)
        self._attempts.append(now)
        code = self._code
        if code is None or now >= code.expires_at:
            self._code = None
            return Wrong("No pairing is open. Make a new code at the desk with: yourcall devices pair")
        if hmac.compare_digest(_plain(typed).encode(), _plain(code.text).encode()):
            self._code = None
            return None
        self._wrong += 1
        if self._wrong >= MOST_WRONG:
            self._code = None
            return Wrong(
                "That code is wrong, and was the last try. Make a new code at the desk with: yourcall devices pair"
            )
        return Wrong("That code is wrong. Look again at the desk; a code is eight letters and digits.")


def _plain(code: str) -> str:
    return code.strip().upper().translate(_TYPED)
