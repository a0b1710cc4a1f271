"""The chain over the log: every fact, and every fact that was forgotten, is sealed by the one before it.

Rule: made by the database itself, in the same transaction as the fact; nothing writes to the log past it. It
proves that the record is whole and unchanged since somebody noted its head; whoever may write the file could also
forge all of it anew, which only such a note can show.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from yourcall.core.identity import unsettled
from yourcall.core.replay import replay
from yourcall.store.facts import EVENT, PROMPT, SESSION, SETTING, SETTINGS_FROM
from yourcall.store.problem import StoreProblem, explained

FIRST = b"\0" * 32

HEAD = "SELECT n, link FROM chain WHERE n = (SELECT max(n) FROM chain)"
LINK = "SELECT n, link FROM chain WHERE n = ?"

_DIGEST = "chain_digest({row}.at, {row}.kind, {row}.subject, {row}.fact)"
_APPEND = (
    "INSERT INTO chain (seq, gone, digest, link) SELECT {row}.seq, {gone}, {digest},"
    " chain_link((SELECT link FROM chain ORDER BY n DESC LIMIT 1), {row}.seq, {gone}, {digest})"
)
# Oldest first: a page at a time, so that no read keeps the database from tidying up.
_PAGE = 2_000


def add_chain(db: sqlite3.Connection) -> None:
    """The layout: the chain, as long as the log already is, and what makes it grow with it."""
    db.execute(
        "CREATE TABLE chain (n INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, gone INTEGER NOT NULL,"
        " digest BLOB NOT NULL, link BLOB NOT NULL)"
    )
    for row in db.execute("SELECT seq, at, kind, subject, fact FROM log ORDER BY seq").fetchall():
        last = db.execute("SELECT link FROM chain ORDER BY n DESC LIMIT 1").fetchone()
        digest = digest_of(*row[1:])
        link = link_of(last[0] if last else None, row[0], 0, digest)
        db.execute("INSERT INTO chain (seq, gone, digest, link) VALUES (?, 0, ?, ?)", (row[0], digest, link))
    for when, row, gone in (("INSERT", "new", 0), ("DELETE", "old", 1)):
        append = _APPEND.format(row=row, gone=gone, digest=_DIGEST.format(row=row))
        db.execute(f"CREATE TRIGGER log_is_chained_{when.lower()} AFTER {when} ON log BEGIN {append}; END")
    for when in ("UPDATE", "DELETE"):
        db.execute(
            f"CREATE TRIGGER chain_only_grows_{when.lower()} BEFORE {when} ON chain"
            " BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END"
        )


def teach(db: sqlite3.Connection) -> None:
    """Without these two functions no program can write to the log: its triggers call them."""
    db.create_function("chain_digest", 4, digest_of, deterministic=True)
    db.create_function("chain_link", 4, link_of, deterministic=True)


def digest_of(at: float, kind: str, subject: str, fact: bytes) -> bytes:
    sealed = sha256()
    for part in (repr(float(at)).encode(), _raw(kind), _raw(subject), _raw(fact)):
        sealed.update(len(part).to_bytes(8))
        sealed.update(part)
    return sealed.digest()


def _raw(value: object) -> bytes:
    """Whatever stands there: a hand that was in it may have left text where bytes belong."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def link_of(before: bytes | None, seq: int, gone: int, digest: bytes) -> bytes:
    return sha256((before or FIRST) + seq.to_bytes(8) + bytes([gone]) + digest).digest()


def _sealed(seal: Callable[..., bytes], *parts: Any) -> bytes:
    """What the seal must be; none, if a hand has left there what nobody could have sealed."""
    try:
        return seal(*parts)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return b""


class Verified(Struct, frozen=True):
    """What a look at the whole record found; `problems` is empty if it is whole. `head` seals all of it."""

    facts: int
    links: int
    forgotten: int
    head: str
    problems: tuple[str, ...] = ()


class Head(Struct, frozen=True):
    """One link of the chain: its place, and the hash that seals everything up to it."""

    place: int
    hash: str


def verify(path: Path, head: str = "") -> Verified:
    """Look at every link, every fact, every row.

    `head`: one that was noted before, which must still be there: its hash, or `PLACE:HASH`.
    """
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
            db.execute("BEGIN")  # one look at one moment, whatever is written meanwhile
            return _verified(db, head.lower())
    except sqlite3.Error as error:
        raise explained(path, error) from error


def _verified(db: sqlite3.Connection, head: str) -> Verified:
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'chain'").fetchone():
        raise StoreProblem("This database is from a version without a chain: start the daemon once, it makes one.")
    problems: list[str] = []
    standing: dict[int, bytes] = {}
    last, count, forgotten, seen = b"", 0, 0, not head
    place, _, wanted = head.rpartition(":")
    for n, seq, gone, digest, link in _pages(db, "SELECT n, seq, gone, digest, link FROM chain WHERE n > ?"):
        count += 1
        if n != count:
            problems.append(f"link {count} of the chain is missing")
            count = n
        if link != _sealed(link_of, last or None, seq, gone, digest):
            problems.append(f"link {n} of the chain does not follow from the one before it")
        last = _raw(link)
        seen = seen or (last.hex() == wanted and place in ("", str(n)))
        if gone:
            forgotten += 1
            if standing.pop(seq, None) != digest:
                problems.append(f"fact {seq} was forgotten, but was never recorded as it was forgotten")
        elif seq in standing:
            problems.append(f"fact {seq} was recorded twice")
        else:
            standing[seq] = digest
    facts = 0
    for seq, at, kind, subject, fact in _pages(db, "SELECT seq, at, kind, subject, fact FROM log WHERE seq > ?"):
        facts += 1
        sealed = standing.pop(seq, None)
        if sealed is None:
            problems.append(f"fact {seq} is not in the chain: it was put in by hand")
        elif sealed != _sealed(digest_of, at, kind, subject, fact):
            problems.append(f"fact {seq} was changed")
    problems += [f"fact {seq} is missing" for seq in standing]
    if not seen:
        problems.append("the head that was noted is not in this chain: it was cut off, or made anew")
    problems += () if problems else _rows(db)
    return Verified(facts, count, forgotten, last.hex(), tuple(problems))


def _rows(db: sqlite3.Connection) -> Iterator[str]:
    """The rows that people are shown must be what the facts lead to; bodies must be what they are named by."""
    pages = _pages(db, f"SELECT seq, fact FROM log WHERE seq <= {SETTINGS_FROM} AND seq > ?")  # noqa: S608
    settings = _pages(db, f"SELECT seq, fact FROM log WHERE seq > {SETTINGS_FROM} AND seq > ?")  # noqa: S608
    try:
        prompts, sessions = replay(EVENT.decode(_raw(fact)) for _, fact in pages)
        for _, fact in settings:
            SETTING.decode(_raw(fact))
    except ValueError as error:
        yield f"a fact cannot be read: {error}"
        return
    for table, decoder, wanted in (("prompts", PROMPT, prompts), ("sessions", SESSION, sessions)):
        left = dict[str, object](wanted)
        for name, row in db.execute(f"SELECT id, row FROM {table}"):  # noqa: S608
            if left.pop(name, None) != _read(decoder, row):
                yield f"what is shown of {table[:-1]} {name} is not what the facts say"
        yield from (f"{table[:-1]} {name} is missing" for name in left)
    # By these columns it is found and put in order: what says otherwise there is shown elsewhere, or not at all.
    columns = "SELECT id, state, session_id, opened_at, request, live FROM prompts"
    for name, *items, live in db.execute(columns):
        prompt = prompts.get(name)
        if prompt is None:
            continue  # it was told of already
        hidden = prompt.state == "open" and unsettled(prompt) and not live
        if hidden or items != [prompt.state, prompt.session_id, prompt.opened_at, prompt.request]:
            yield f"prompt {name} is not listed as what the facts say"
    for name, data in db.execute("SELECT id, data FROM bodies"):
        if sha256(_raw(data)).hexdigest() != name:
            yield f"what was asked ({name[:12]}…) was changed"
    # Forgetting takes a body only once no prompt asks for it any more.
    gone = "SELECT id FROM prompts WHERE request != '' AND request NOT IN (SELECT id FROM bodies)"
    for (name,) in db.execute(gone):
        yield f"what prompt {name} asked is missing"


def _read(decoder: msgspec.json.Decoder[Any], row: object) -> object:
    try:
        return decoder.decode(_raw(row))
    except ValueError:
        return ""  # no row is this


def _pages(db: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """Rows by their first column, which is their place; a hand may have put one before the first."""
    after = -(1 << 63)
    while page := db.execute(f"{query} ORDER BY 1 LIMIT {_PAGE}", (after,)).fetchall():
        yield from page
        after = page[-1][0]
