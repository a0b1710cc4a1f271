"""Full-text search over prompts and their answers.

Rule: the index is a file of its own beside the database and can be deleted at any time. It is brought up to date
before each search, a page at a time; what the database doesn't hold any more is never found.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from yourcall.model.prompts import Prompt
from yourcall.store.facts import Change

# What one look takes from the log; between two of them others have their turn.
PAGE = 250
# So many rows are read before one search; the rest is read before the next ones.
MOST_AT_ONCE = 5_000
# Of a longer text its beginning is found.
LONGEST = 50_000
MOST_WORDS = 12
# Any other version is thrown away and made anew.
VERSION = 1

_SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(
    title, body, answer, id UNINDEXED, tokenize = "unicode61 remove_diacritics 2"
);
CREATE TABLE rows (id TEXT PRIMARY KEY, row INTEGER NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO meta VALUES ('seq', 0);
"""
_FIND = (
    "SELECT id, snippet(words, -1, '', '', '…', 16) FROM words WHERE words MATCH ? "
    "ORDER BY bm25(words, 4.0, 1.0, 2.0), rowid DESC LIMIT ?"
)


class Found(Struct, frozen=True):
    """A prompt that holds all the words, and the place where it does."""

    prompt: Prompt
    excerpt: str


class Rows(Protocol):
    """What the index is made of."""

    @property
    def last_seq(self) -> int: ...
    def changes_after(self, seq: int, limit: int, /) -> list[Change]: ...
    def prompt(self, prompt_id: str, /) -> Prompt | None: ...


class Search:
    def __init__(self, path: Path, rows: Rows) -> None:
        self._path = path
        self._rows = rows
        self._lock = asyncio.Lock()

    async def find(self, text: str, limit: int) -> list[Found]:
        """Prompts with all of these words, the best first; a word may be the beginning of one."""
        query = match(text)
        if not query:
            return []
        async with self._lock:
            await self._catch_up()
            hits = await asyncio.to_thread(self._look, query, limit)
        found = [(self._rows.prompt(name), excerpt) for name, excerpt in hits]
        return [Found(prompt, excerpt) for prompt, excerpt in found if prompt is not None]

    async def _catch_up(self) -> None:
        seq = await asyncio.to_thread(self._begin)
        if seq > self._rows.last_seq:  # another database lies there now
            self._path.unlink(missing_ok=True)
            seq = await asyncio.to_thread(self._begin)
        for _ in range(MOST_AT_ONCE // PAGE):
            changes = self._rows.changes_after(seq, PAGE)
            if not changes:
                return
            seq = changes[-1].seq
            prompts = [change.prompt for change in changes if change.prompt is not None]
            await asyncio.to_thread(self._put, prompts, seq)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None)

    def _begin(self) -> int:
        """How far the index goes; a new one if there is none that can be read."""
        self._path.touch(mode=0o600)
        for last in (False, True):
            try:
                with contextlib.closing(self._open()) as db:
                    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                        return db.execute("SELECT value FROM meta WHERE key = 'seq'").fetchone()[0]
                    if last:
                        db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
                        return 0
            except sqlite3.DatabaseError:
                if last:
                    raise
            self._path.unlink(missing_ok=True)
            self._path.touch(mode=0o600)
        return 0

    def _put(self, prompts: Sequence[Prompt], seq: int) -> None:
        with contextlib.closing(self._open()) as db:
            db.execute("BEGIN IMMEDIATE")
            for prompt in prompts:
                old = db.execute("SELECT row FROM rows WHERE id = ?", (prompt.id,)).fetchone()
                if old is not None:
                    db.execute("DELETE FROM words WHERE rowid = ?", old)
                done = db.execute(
                    "INSERT INTO words (title, body, answer, id) VALUES (?, ?, ?, ?)", _texts(prompt)
                )
                db.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (prompt.id, done.lastrowid))
            db.execute("UPDATE meta SET value = ? WHERE key = 'seq'", (seq,))
            db.execute("COMMIT")

    def _look(self, query: str, limit: int) -> list[tuple[str, str]]:
        with contextlib.closing(self._open()) as db:
            return db.execute(_FIND, (query, limit)).fetchall()


def match(text: str) -> str:
    """The query: every word quoted, so that none of them is an operator."""
    items = re.findall(r"\w+", text)[:MOST_WORDS]
    return " ".join(f'"{word}"*' for word in items)


def _texts(prompt: Prompt) -> tuple[str, str, str, str]:
    questions = "\n".join(question.text for question in prompt.questions)
    answer = ""
    if prompt.answer is not None:
        chosen = {name for names in prompt.answer.choices.values() for name in names}
        labels = [option.label for each in prompt.questions for option in each.options if option.id in chosen]
        answer = "\n".join([*labels, *prompt.answer.texts.values()])
    body = f"{prompt.body}\n{questions}\n{prompt.cwd}"
    return _clean(prompt.title), _clean(body), _clean(answer), prompt.id


def _clean(text: str) -> str:
    """SQLite takes no lone surrogates, and an index holds no novel."""
    return text[:LONGEST].encode("utf-8", "replace").decode()
