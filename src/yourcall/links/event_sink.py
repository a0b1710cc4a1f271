"""Whom every link tells what it sees: the one who keeps the state and does what follows.

Rule: a link reads the state and tells events; it never changes anything itself.
"""

from __future__ import annotations

from typing import Protocol

from yourcall.core.state import State
from yourcall.model.events import AnyEvent


class EventSink(Protocol):
    @property
    def state(self) -> State: ...

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> object:
        """When this returns, what follows from it is on disk and on its way."""
        ...

    def body(self, id: str, /) -> bytes | None:
        """What was asked, as it is stored."""
        ...
