"""Tasks that run in the background, kept alive until they end; and a turnstile that lets a few through at a time.

Rule: asyncio holds only a weak reference to a task; whoever starts one here need not keep it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar


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


T = TypeVar("T")


class Tasks:
    """The background tasks of one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Until all of them have ended, including those that start meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def close(self) -> None:
        """End them, and wait until they have ended."""
        tasks = list(self._tasks)
        self.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
