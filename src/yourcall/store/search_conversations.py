"""Full-text search over conversations: what people and agents said, from the agents' own records.

Rule: the index is a file of its own and can be deleted at any time. It is made in the background, a page at a
time, the latest session first, and rests longer than it works; a search reads only the little that was added just
now, and says if there is more. A record that was replaced is read anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct

from yourcall.model.conversation import AssistantText, Page, UserMessage
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.store.search import match

log = logging.getLogger(__name__)
T = TypeVar("T")

# Entries of one page, and pages that one search reads where nothing is read in the background: some two seconds of
# a slow machine.
PAGE = 200
MOST_PAGES = 24
# Where it is, a search reads what was just added to this many sessions.
NEWEST = 3
JUST_ADDED_S = 0.03
# More than anybody has in a year; each is looked at once in a round.
MOST_SESSIONS = 5_000
# In the background it rests so many times as long as it worked, and so long between two rounds.
RESTS = 4.0
ROUND_S = 15.0
# So many matches are put in order by how well they fit; of more, those that were read in last come first.
MOST_RANKED = 5_000
# Of a longer message its beginning is found.
LONGEST = 20_000
VERSION = 2

_SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(
    text, session UNINDEXED, place UNINDEXED, at UNINDEXED, tokenize = "unicode61 remove_diacritics 2",
    prefix = '2 3'
);
CREATE TABLE spans (session TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL);
CREATE INDEX spans_session ON spans (session);
CREATE INDEX spans_high ON spans (high);
CREATE TABLE records (session TEXT PRIMARY KEY, file TEXT NOT NULL, low INTEGER, high INTEGER NOT NULL);
"""
_FIND = "SELECT session, place, at, snippet(words, 0, '', '', '…', 16) FROM words WHERE words MATCH ? "
_BEST = _FIND + "ORDER BY bm25(words), rowid DESC LIMIT ?"
_LAST = _FIND + "ORDER BY rowid DESC LIMIT ?"
_MANY = f"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {MOST_RANKED + 1})"  # noqa: S608


class FoundMessage(Struct, frozen=True):
    """A message that holds all the words. `offset`: where it stands in the record of its session."""

    session: Session
    offset: int
    at: float
    excerpt: str


class FoundMessages(Struct, frozen=True):
    """`complete`: all that is on record was searched; if not, the next search knows more."""

    messages: tuple[FoundMessage, ...]
    complete: bool


class Sessions(Protocol):
    def live(self) -> tuple[object, list[Session]]: ...
    def ended(self, limit: int, /) -> list[Session]: ...
    def session(self, session_id: str, /) -> Session | None: ...


class Conversations(Protocol):
    async def page(
        self, session: Session, subagent: str, /, *, before: int | None, after: int | None, file: str, limit: int
    ) -> Page | Refused: ...


class _Place(Struct, frozen=True):
    """What is in the index of one record: from `low` (None: its beginning) to `high`."""

    file: str
    low: int | None
    high: int


class ConversationSearch:
    def __init__(self, path: Path, sessions: Sessions, conversations: Conversations) -> None:
        self._path = path
        self._sessions = sessions
        self._conversations = conversations
        self._lock = asyncio.Lock()
        self._complete: bool | None = None  # as the last round in the background found it; None: there is none
        self._quietly = ThreadPoolExecutor(1, "search", _unimportant)

    async def find(self, text: str, limit: int) -> FoundMessages:
        query = match(text)
        if not query:
            return FoundMessages((), complete=True)
        if self._complete is None:
            async with self._lock:
                complete = await self._catch_up(self._all(), MOST_PAGES)
        else:
            complete = self._complete
            with contextlib.suppress(
                TimeoutError
            ):  # a page is being read in at leisure: that can wait, this can't
                async with asyncio.timeout(JUST_ADDED_S):
                    await self._just_added()
        rows = await asyncio.to_thread(self._look, query, limit)
        known = {name: self._sessions.session(name) for name, *_ in rows}
        return FoundMessages(
            tuple(
                FoundMessage(session, place, at, excerpt)
                for name, place, at, excerpt in rows
                if (session := known[name]) is not None
            ),
            complete,
        )

    async def run(self) -> None:
        """Make the index in the background, and keep it up to date."""
        self._complete = False
        while True:
            try:
                await self._round()
            except (sqlite3.Error, OSError):  # it is made anew, or there is no room for it
                log.exception("the index of conversations could not be brought up to date")
            await asyncio.sleep(ROUND_S)

    async def _round(self) -> None:
        """Every session once, with a rest after each page."""
        sessions = self._all()
        async with self._lock:
            places = await self._aside(self._begin)
            await self._aside(self._forget, places.keys() - {session.id for session in sessions})
        for session in sessions:
            more = True
            while more:
                began = time.monotonic()
                async with self._lock:
                    place = await self._aside(self._place_of, session.id)
                    more = await self._more_of(session, place)
                await asyncio.sleep(RESTS * (time.monotonic() - began))
        self._complete = True

    async def _more_of(self, session: Session, place: _Place | None) -> bool:
        """One page more of this session; whether there may be another."""
        if place is not None:
            before = place
            place = await self._later(session, place)
            if place.high != before.high:
                return True
        if place is not None and place.low is None:
            return False
        step = await self._earlier(session, place)
        return step is not None and step.low is not None

    async def _just_added(self) -> None:
        """What was said a moment ago, in the sessions that spoke last."""
        newest = sorted(self._sessions.live()[1], key=lambda each: -each.seen_at)[:NEWEST]
        async with self._lock:
            places = await self._aside(self._begin)
            for session in newest:
                await self._more_of(session, places.get(session.id))

    def _all(self) -> list[Session]:
        running = sorted(self._sessions.live()[1], key=lambda each: -each.seen_at)
        sessions = {each.id: each for each in [*running, *self._sessions.ended(MOST_SESSIONS)]}
        return list(sessions.values())[:MOST_SESSIONS]

    async def _aside(self, work: Callable[..., T], *given: object) -> T:
        """On a thread that everything else comes before."""
        return await asyncio.get_running_loop().run_in_executor(self._quietly, work, *given)

    async def _catch_up(self, sessions: Sequence[Session], most: int) -> bool:
        places = await self._aside(self._begin)
        gone = places.keys() - {session.id for session in sessions}
        await self._aside(self._forget, gone)
        left = most
        for session in sessions:
            place = places.get(session.id)
            while left and (place is None or place.low is not None):
                left -= 1
                step = await self._earlier(session, place)
                if step is None:
                    break
                place = step
            if place is not None and left:
                left -= 1
                await self._later(session, place)
            if not left:
                return False
        return True

    async def _earlier(self, session: Session, place: _Place | None) -> _Place | None:
        """The page before what is in the index; None if there is no record to read."""
        file = place.file if place else ""
        page = await self._conversations.page(
            session, "", before=place.low if place else None, after=None, file=file, limit=PAGE
        )
        if isinstance(page, Refused):
            return None
        anew = place is None or page.restarted
        high = page.end if place is None or page.restarted else place.high
        now = _Place(page.file, page.next_before, high)
        await self._aside(self._put, session.id, page, now, anew)
        return now

    async def _later(self, session: Session, place: _Place) -> _Place:
        """What was added behind what is in the index, and how far that goes now."""
        page = await self._conversations.page(
            session, "", before=None, after=place.high, file=place.file, limit=PAGE
        )
        if isinstance(page, Refused) or (not page.restarted and page.end == place.high):
            return place
        now = _Place(page.file, page.next_before if page.restarted else place.low, page.end)
        await self._aside(self._put, session.id, page, now, page.restarted)
        return now

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None)

    def _begin(self) -> dict[str, _Place]:
        """How far each record is in the index; a new index if there is none that can be read."""
        for last in (False, True):
            self._path.touch(mode=0o600)
            try:
                with contextlib.closing(self._open()) as db:
                    if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                        db.execute("PRAGMA journal_mode = WAL")  # who looks does not wait for who writes
                        db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
                    rows = db.execute("SELECT session, file, low, high FROM records").fetchall()
                    return {name: _Place(file, low, high) for name, file, low, high in rows}
            except sqlite3.DatabaseError:
                if last:
                    raise
                self._path.unlink(missing_ok=True)
        return {}

    def _place_of(self, session: str) -> _Place | None:
        with contextlib.closing(self._open()) as db:
            rows = db.execute("SELECT file, low, high FROM records WHERE session = ?", (session,)).fetchall()
        return _Place(*rows[0]) if rows else None

    def _forget(self, sessions: Set[str]) -> None:
        """What yourcall has no session of any more is not kept."""
        if not sessions:
            return
        with contextlib.closing(self._open()) as db:
            db.execute("BEGIN IMMEDIATE")
            for name in sessions:
                _delete(db, name)
                db.execute("DELETE FROM records WHERE session = ?", (name,))
            db.execute("COMMIT")

    def _put(self, session: str, page: Page, place: _Place, anew: bool) -> None:
        with contextlib.closing(self._open()) as db:
            db.execute("BEGIN IMMEDIATE")
            if anew:
                _delete(db, session)
            first: int = db.execute("SELECT coalesce(max(high), 0) + 1 FROM spans").fetchone()[0]
            rows = [
                (_clean(entry.text), session, entry.offset, entry.at)
                for entry in page.entries
                if isinstance(entry, UserMessage | AssistantText) and entry.text.strip()
            ]
            db.executemany(
                "INSERT INTO words (rowid, text, session, place, at) VALUES (?, ?, ?, ?, ?)",
                [(first + n, *row) for n, row in enumerate(rows)],
            )
            if rows:
                db.execute("INSERT INTO spans VALUES (?, ?, ?)", (session, first, first + len(rows) - 1))
            db.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (session, place.file, place.low, place.high)
            )
            db.execute("COMMIT")

    def _look(self, query: str, limit: int) -> list[tuple[str, int, float, str]]:
        with contextlib.closing(self._open()) as db:
            many = db.execute(_MANY, (query,)).fetchone()[0] > MOST_RANKED
            return db.execute(_LAST if many else _BEST, (query, limit)).fetchall()


def _delete(db: sqlite3.Connection, session: str) -> None:
    """By its rows: which they are is written down, for the index itself can only be read through."""
    for low, high in db.execute("SELECT low, high FROM spans WHERE session = ?", (session,)).fetchall():
        db.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (low, high))
    db.execute("DELETE FROM spans WHERE session = ?", (session,))


def _unimportant() -> None:
    """This thread gives way to everything else, where the system can do that for one thread."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def _clean(text: str) -> str:
    """SQLite takes no lone surrogates, and an index holds no novel."""
    return text[:LONGEST].encode("utf-8", "replace").decode()
