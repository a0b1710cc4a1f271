"""The conversation that a client of the live feed looks at: what is added to it, as it is added.

Rule: one conversation per connection, read only while somebody looks; a client that goes on where it was misses
nothing and hears nothing twice. A session that was cleared or forked is followed to where it went on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from msgspec.structs import replace

from yourcall.model.conversation import Page
from yourcall.model.sessions import Session
from yourcall.server.api.conversation import find_run
from yourcall.server.ports import Conversations, Rows
from yourcall.server.wire import EntriesNews, WatchRequest

EVERY_S = 0.25  # a person reads no faster; a look where nothing was added is one `stat` and one byte
LONGEST = 2_000
RESYNC = 4008

_request = msgspec.json.Decoder(WatchRequest)


class Watched:
    """What the client has asked for last; `news` is set when that is another one."""

    def __init__(self) -> None:
        self.wish: WatchRequest | None = None
        self.news = asyncio.Event()

    def heard(self, text: str) -> None:
        if len(text) > LONGEST:
            return
        try:
            wish = _request.decode(text)
        except (ValueError, RecursionError):
            return
        self.wish = wish if wish.watch else None
        self.news.set()


async def stream(
    say: Callable[[object], Awaitable[None]], watched: Watched, rows: Rows, conversations: Conversations | None
) -> tuple[int, str]:
    """Never ends by itself, unless the client does not take what it is sent."""
    at: WatchRequest | None = None
    while True:
        if watched.news.is_set():
            watched.news.clear()
            at = watched.wish
        if at is None or conversations is None:
            await watched.news.wait()
            continue
        try:
            at = await _look(say, at, rows, conversations)
        except TimeoutError:
            return RESYNC, "resync"
        try:
            async with asyncio.timeout(EVERY_S):
                await watched.news.wait()
        except TimeoutError:
            pass


async def _look(
    say: Callable[[object], Awaitable[None]], at: WatchRequest, rows: Rows, conversations: Conversations
) -> WatchRequest:
    session = find_run(rows, at.watch)
    if not isinstance(session, Session):
        return at
    fresh = at.after is None
    page = await conversations.page(
        session, at.subagent, before=None, after=at.after, file=at.file, limit=1 if fresh else 50
    )
    if not isinstance(page, Page) or not page.file:
        # No transcript yet: it begins with the first message, and is then heard from its beginning.
        return replace(at, after=0, file="-") if fresh else at
    if (page.entries or page.restarted) and not fresh:
        await say(EntriesNews(session.id, at.subagent, page))
    return replace(at, after=page.end, file=page.file)
