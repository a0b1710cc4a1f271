"""News that a platform pushes: handled one after the other, once each, with the time since when it may have lain
somewhere.

Rule: a piece of news is done with before the platform hears that we have it; what comes again was done. One that
fails is tried a second time, as the disk may have been full, and then told as failed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from yourcall.channels.chat.memory import Memory
from yourcall.channels.chat.wire import Id, News

if TYPE_CHECKING:
    from yourcall.channels.chat.channel import ChatChannel

log = logging.getLogger(__name__)

# More than people say at once. Whoever pushes more has to wait: the line itself is held.
MOST_WAITING = 100

# Longer than it takes to leave for a daemon that the disk has failed: what it could not do, the next one does.
AGAIN_S = 10.0

# So many of the latest pieces of news say how long the line needs at the least.
MOST_LATE = 64


async def _nothing() -> None:
    pass


def number_of(message: Id, chat: Id) -> str:
    """A message as a piece of news."""
    return f"{message}@{chat}"


def seen_in(book: Memory, chat: Id) -> list[str]:
    """The messages of this chat that were handled of late, oldest first."""
    return [each.removesuffix(f"@{chat}") for each in book.all_seen() if each.endswith(f"@{chat}")]


class _Arrived(Struct, frozen=True):
    news: News
    tapped_at: float
    done: Callable[[], Awaitable[None]]


class Inbox:
    def __init__(
        self,
        channel: ChatChannel,
        do: Callable[[News], Awaitable[None]],
        failed: Callable[[News], None],
    ) -> None:
        self._channel = channel
        self._do = do
        self._failed = failed
        self._queue: asyncio.Queue[_Arrived] = asyncio.Queue(MOST_WAITING)
        self._late: deque[float] = deque(maxlen=MOST_LATE)

    async def put(
        self,
        news: News,
        told_at: float = 0.0,
        *,
        missed: bool = False,
        done: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        """`told_at`: when the platform took it, by its own clock; 0: it does not say. `missed`: from while nobody
        listened. Whoever pushes waits while there is no room."""
        if self._crowds(news):
            await done()
        else:
            await self._queue.put(self._arrived(news, told_at, missed, done))

    def offer(self, news: News, told_at: float) -> None:
        """For a line that cannot be held: what there is no room for is dropped."""
        if self._crowds(news) or self._queue.full():
            log.warning("%s: more was said than can be read", self._channel.name)
        else:
            self._queue.put_nowait(self._arrived(news, told_at, False, _nothing))

    def _crowds(self, news: News) -> bool:
        """A stranger's, when half is full: whoever is nobody here must not keep out those who are."""
        return self._queue.qsize() >= MOST_WAITING // 2 and self._channel.book.sender(news.sender.id) is None

    def _arrived(self, news: News, told_at: float, missed: bool, done: Callable[[], Awaitable[None]]) -> _Arrived:
        lag = self._lag(told_at) if told_at else 0.0
        return _Arrived(news, 0.0 if missed else self._channel.world.clock() - lag, done)

    def _lag(self, told_at: float) -> float:
        """How much longer it was on its way than the quickest of late. The two clocks need not agree, and ours may
        be set: what counts is the difference to other news."""
        late = time.monotonic() - told_at
        self._late.append(late)
        return late - min(self._late)

    async def handle(self, news: News, at: float, age: float | None, told_at: float, *, missed: bool) -> None:
        """At once, to its end. `age`: how old it was at that time, in milliseconds, if the platform says so."""
        lag = self._lag(told_at) if age is None else max(age, 0.0) / 1000
        await self._take(_Arrived(news, 0.0 if missed else at - lag, _nothing))

    async def run(self, line: Coroutine[Any, Any, None]) -> None:
        """Until cancelled, or until one of them ends: `line` brings what is handled here."""
        tasks = (asyncio.create_task(self._run()), asyncio.create_task(line))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _run(self) -> None:
        while True:
            await self._take(await self._queue.get())

    async def _take(self, arrived: _Arrived) -> None:
        book, news = self._channel.book, arrived.news
        if not book.seen(news.number):
            self._channel.still.tapped_at = arrived.tapped_at
            if not await self._tried(news):
                await self._channel.world.sleep(AGAIN_S)
                if not await self._tried(news):
                    self._failed(news)
            if book.sender(news.sender.id) is not None:
                await book.put_seen(news.number)  # of strangers there is no end: theirs would push out what counts
        await arrived.done()

    async def _tried(self, news: News) -> bool:
        try:
            await self._do(news)
        except Exception as error:
            # No words: somebody else wrote them.
            log.error("%s: news could not be handled: %s", self._channel.name, type(error).__name__)
            return False
        return True
