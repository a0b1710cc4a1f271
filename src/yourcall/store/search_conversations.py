"""Full-text search over conversations: what people and agents said, from the agents' own records.

Rule: the index is a file of its own and can be deleted at any time. Each search reads a bounded part of what isn't
in it yet, a page at a time, the latest session first; so a search may know that there is more. A record that was
replaced is read anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from yourcall.model.conversation import AssistantText, Page, UserMessage
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.store.search import match

# Entries of one page, and pages that one search reads: some two seconds of a slow machine.
PAGE = 200
MOST_PAGES = 24
MOST_SESSIONS = 200
# Of a longer message its beginning is found.
LONGEST = 20_000
VERSION = 1

_SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(
    text, session UNINDEXED, place UNINDEXED, at UNINDEXED, tokenize = "unicode61 remove_diacritics 2"
);
CREATE TABLE records (session TEXT PRIMARY KEY, file TEXT NOT NULL, low INTEGER, high INTEGER NOT NULL);
"""
_FIND = (
    "SELECT session, place, at, snippet(words, 0, '', '', '…', 16) FROM words WHERE words MATCH ? "
    "ORDER BY bm25(words), rowid DESC LIMIT ?"
)


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

    async def find(self, text: str, limit: int) -> FoundMessages:
        query = match(text)
        if not query:
            return FoundMessages((), complete=True)
        running = sorted(self._sessions.live()[1], key=lambda each: -each.seen_at)
        sessions = {each.id: each for each in [*running, *self._sessions.ended(MOST_SESSIONS)]}
        async with self._lock:
            complete = await self._catch_up(list(sessions.values())[:MOST_SESSIONS])
            rows = await asyncio.to_thread(self._look, query, limit)
        return FoundMessages(
            tuple(
                FoundMessage(sessions[name], place, at, excerpt)
                for name, place, at, excerpt in rows
                if name in sessions
            ),
            complete,
        )

    async def _catch_up(self, sessions: Sequence[Session]) -> bool:
        places = await asyncio.to_thread(self._begin)
        gone = places.keys() - {session.id for session in sessions}
        await asyncio.to_thread(self._forget, gone)
        left = MOST_PAGES
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
        await asyncio.to_thread(self._put, session.id, page, now, anew)
        return now

    async def _later(self, session: Session, place: _Place) -> None:
        page = await self._conversations.page(
            session, "", before=None, after=place.high, file=place.file, limit=PAGE
        )
        if isinstance(page, Refused) or (not page.restarted and page.end == place.high):
            return
        low = page.next_before if page.restarted else place.low
        await asyncio.to_thread(self._put, session.id, page, _Place(page.file, low, page.end), page.restarted)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None)

    def _begin(self) -> dict[str, _Place]:
        """How far each record is in the index; a new index if there is none that can be read."""
        for last in (False, True):
            self._path.touch(mode=0o600)
            try:
                with contextlib.closing(self._open()) as db:
                    if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                        db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
                    rows = db.execute("SELECT session, file, low, high FROM records").fetchall()
                    return {name: _Place(file, low, high) for name, file, low, high in rows}
            except sqlite3.DatabaseError:
                if last:
                    raise
                self._path.unlink(missing_ok=True)
        return {}

    def _forget(self, sessions: Set[str]) -> None:
        """What yourcall has no session of any more is not kept."""
        if not sessions:
            return
        with contextlib.closing(self._open()) as db:
            db.execute("BEGIN IMMEDIATE")
            for name in sessions:
                db.execute("DELETE FROM words WHERE session = ?", (name,))
                db.execute("DELETE FROM records WHERE session = ?", (name,))
            db.execute("COMMIT")

    def _put(self, session: str, page: Page, place: _Place, anew: bool) -> None:
        with contextlib.closing(self._open()) as db:
            db.execute("BEGIN IMMEDIATE")
            if anew:
                db.execute("DELETE FROM words WHERE session = ?", (session,))
            db.executemany(
                "INSERT INTO words (text, session, place, at) VALUES (?, ?, ?, ?)",
                [
                    (_clean(entry.text), session, entry.offset, entry.at)
                    for entry in page.entries
                    if isinstance(entry, UserMessage | AssistantText) and entry.text.strip()
                ],
            )
            db.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (session, place.file, place.low, place.high)
            )
            db.execute("COMMIT")

    def _look(self, query: str, limit: int) -> list[tuple[str, int, float, str]]:
        with contextlib.closing(self._open()) as db:
            return db.execute(_FIND, (query, limit)).fetchall()


def _clean(text: str) -> str:
    """SQLite takes no lone surrogates, and an index holds no novel."""
    return text[:LONGEST].encode("utf-8", "replace").decode()
