"""Words to whoever tapped, on platforms where they stay in the chat: each is said once in a while.

Rule: a thumb that goes on tapping is not answered each time; that would use up what the bot may send.
"""

from __future__ import annotations

from collections.abc import Callable

from yourcall.channels.chat.wire import Id

# As long as somebody remembers what was said.
ONCE_S = 5.0

MOST_KEPT = 1000


class Toasts:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: dict[tuple[Id, Id, str], float] = {}

    def new(self, chat: Id, person: Id, text: str) -> bool:
        now, name = self._clock(), (chat, person, text)
        if 0 <= now - self._said.get(name, -ONCE_S) < ONCE_S:
            return False
        if len(self._said) >= MOST_KEPT:
            self._said.clear()
        self._said[name] = now
        return True
