"""Lets a few through in each turn of the event loop, in the order in which they came.

Rule: a crowd that comes at once is served between other people's requests, not before them. One alone never waits.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turnstile:
    """`most`: how many in one turn of the loop."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._passed = 0  # in this turn
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._waiting and self._passed < self._most:
            if not self._passed:
                loop.call_soon(self._next)
            self._passed += 1
            return
        mine = loop.create_future()
        self._waiting.append(mine)
        await mine

    def _next(self) -> None:
        """Another turn has begun."""
        self._passed = 0
        while self._waiting and self._passed < self._most:
            first = self._waiting.popleft()
            if not first.done():  # else it is gone
                first.set_result(None)
                self._passed += 1
        if self._passed:
            asyncio.get_running_loop().call_soon(self._next)
