"""The store: an append-only log of facts and the current rows, written in one transaction.

Rule: rows serve, replay proves. `record` returns only when everything is on disk; what is read through here,
except `newest`, is on disk too.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from yourcall.core.lifecycle import CLOSED
from yourcall.model.events import AnyEvent, SettingsChanged
from yourcall.model.orders import OrderQueue
from yourcall.model.people import Person
from yourcall.model.prompts import Prompt, Receipt, Tap
from yourcall.model.reviews import Review
from yourcall.model.sessions import Session
from yourcall.store import devices, passkeys, people, prune
from yourcall.store import receipts as told
from yourcall.store.chain import HEAD, LINK, Head
from yourcall.store.devices import Device
from yourcall.store.facts import (
    EVENT,
    PROMPT,
    QUEUE,
    REVIEW,
    SESSION,
    SETTING,
    SETTINGS_FROM,
    Change,
    Encoded,
    Fact,
    encode,
    encode_queue,
    put_setting,
)
from yourcall.store.migrations import MIGRATIONS, Migration, connect, prepare
from yourcall.store.passkeys import Passkey
from yourcall.store.people import PERSON
from yourcall.store.problem import explained, unreadable
from yourcall.store.writer import Transaction, Work, Writer

T = TypeVar("T")

# Enough facts at a time that the cost is in decoding; few enough that no read keeps the WAL from being reused.
_PAGE = 1_000

# Bodies longer than this are hashed and written on the writer's thread, however urgent they are.
LARGEST_AT_ONCE = 256 * 1024

_NOT_CLOSED = f"state NOT IN ({', '.join(repr(state) for state in sorted(CLOSED))})"

# Each of these must use an index; the tests ask SQLite for the plan.
LIVE_PROMPTS = "SELECT id, row FROM prompts WHERE live = 1 ORDER BY opened_at"
LIVE_SESSIONS = "SELECT id, row FROM sessions WHERE live = 1 ORDER BY id"
LIVE_STATES = "SELECT state FROM prompts WHERE live = 1 ORDER BY opened_at"
LIVE_COUNT = "SELECT count(*) FROM sessions WHERE live = 1"
LAST_SEQ = (
    f"SELECT max(coalesce((SELECT max(seq) FROM log WHERE seq <= {SETTINGS_FROM}), 0),"  # noqa: S608
    " coalesce((SELECT value FROM meta WHERE key = 'seq'), 0))"
)
ONE_PROMPT = "SELECT id, row FROM prompts WHERE id = ?"
ENDED_SESSIONS = "SELECT id, row FROM sessions WHERE live = 0 ORDER BY at DESC LIMIT ?"
ONE_SESSION = "SELECT id, row FROM sessions WHERE id = ?"
NEWEST_OPENED = "SELECT max(opened_at) FROM prompts WHERE session_id = ?"
MATCHING = "SELECT id FROM prompts WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
PROMPTS = "SELECT id, row FROM prompts WHERE opened_at < ? ORDER BY opened_at DESC LIMIT ?"
TIED_PROMPTS = "SELECT id, row FROM prompts WHERE opened_at = ?"
OPEN_PROMPTS = f"SELECT id, row FROM prompts WHERE live = 1 AND {_NOT_CLOSED} AND opened_at < ? ORDER BY opened_at DESC LIMIT ?"  # noqa: E501, S608
# One statement, so one look: read one after the other, a commit in between could hide a change for good.
CHANGED = (
    "SELECT seq, at, 'prompt', id, row FROM prompts WHERE seq > ?1"
    " UNION ALL SELECT seq, at, 'session', id, row FROM sessions WHERE seq > ?1 ORDER BY seq LIMIT ?2"
)
FACTS = f"SELECT seq, fact FROM log WHERE seq > ? AND seq <= {SETTINGS_FROM} ORDER BY seq LIMIT ?"  # noqa: S608
SETTINGS_LOG = (
    f"SELECT seq - {SETTINGS_FROM}, fact FROM log WHERE seq > {SETTINGS_FROM}"  # noqa: S608
    f" AND seq < {SETTINGS_FROM} + ? ORDER BY seq DESC LIMIT ?"
)
QUEUES = "SELECT session_id, row FROM queues ORDER BY session_id"
ONE_REVIEW = "SELECT id, row FROM reviews WHERE id = ?"
REVIEWS = "SELECT id, row FROM reviews WHERE session_id = ? OR by_session = ?"
RUNNING_REVIEWS = "SELECT id, row FROM reviews WHERE running = 1 ORDER BY at"
BODY = "SELECT data FROM bodies WHERE id = ?"
BODY_SIZE = "SELECT length(data) FROM bodies WHERE id = ?"


class Store:
    """The open database. Writes are awaited; reads are short and may run on the event loop."""

    def __init__(self, path: Path, writer: Writer, reading: sqlite3.Connection) -> None:
        self.path = path
        self._writer = writer
        self._reading = reading
        # Rows handed to the writer that are not on disk yet, each with the write it waits for.
        self._unwritten: dict[str, tuple[Prompt, Future[list[Change]]]] = {}

    @classmethod
    def open(cls, path: Path, steps: Sequence[Migration] = MIGRATIONS) -> Self:
        """The database at `path`, made if missing, migrated if older; a StoreProblem says why not."""
        writing = prepare(path, steps)
        try:
            reading = connect(path)
            reading.execute("PRAGMA query_only = ON")
            last_seq: int = reading.execute(LAST_SEQ).fetchone()[0]
        except sqlite3.Error as error:
            writing.close()
            raise explained(path, error) from error
        return cls(path, Writer(writing, path, last_seq), reading)

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        self._writer.close()
        self._reading.close()

    @property
    def last_seq(self) -> int:
        return self._writer.last_seq

    @property
    def busy(self) -> bool:
        """Something is queued that is not on disk."""
        return self._writer.busy

    # -- writing

    async def record(self, facts: Sequence[Fact | Encoded], *, at_once: bool = False) -> list[Change]:
        """Put these facts on disk, in this order, all or none; one change with its own seq for every row.

        `at_once`: somebody waits for just this one; everything else may wait for the disk meanwhile. What is large
        is written by the writer's thread all the same.
        """
        encoded = [fact if isinstance(fact, Encoded) else Encoded(fact) for fact in facts]
        # No await up to here: facts get into the log in the order in which `record` was called.
        size = sum(len(data) for each in encoded for data in each.fact.bodies.values())
        submit = self._writer.at_once if at_once and size <= LARGEST_AT_ONCE else self._writer.submit
        future = submit(lambda tx: [change for fact in encoded for change in fact.write(tx)])
        if future.done():
            return future.result()
        rows = [prompt for each in encoded for prompt in each.fact.prompts]
        self._unwritten.update((prompt.id, (prompt, future)) for prompt in rows)
        try:
            return await asyncio.wrap_future(future)
        finally:
            for prompt in rows:
                if future.done() and self._unwritten.get(prompt.id, (None, None))[1] is future:
                    del self._unwritten[prompt.id]

    async def prune(self, before: float) -> int:
        """Forget settled prompts and ended sessions from before then; how many rows went. In small batches."""
        removed = await self._all(lambda tx: prune.prune_prompts(tx, before))
        removed += await self._all(lambda tx: prune.prune_sessions(tx, before))
        if await self._all(lambda tx: prune.prune_bodies(tx, before)) or removed:
            await self._all(prune.give_back)
        return removed

    async def _all(self, batch: Work[int]) -> int:
        """Batch after batch, each in a transaction that others may share, until nothing is left to do."""
        done = 0
        while some := await self._write(batch):
            done += some
        return done

    async def _write(self, work: Work[T]) -> T:
        return await asyncio.wrap_future(self._writer.submit(work))

    # -- reading

    def live(self) -> tuple[list[Prompt], list[Session]]:
        """What a restarted daemon must know: prompts that are not settled, sessions that are not over."""
        return self._decoded(PROMPT, LIVE_PROMPTS), self._decoded(SESSION, LIVE_SESSIONS)

    def counts(self) -> tuple[dict[str, int], int]:
        """How many prompts `live` has in each state, and how many sessions: without reading a row of them."""
        return Counter(state for (state,) in self._rows(LIVE_STATES)), self._rows(LIVE_COUNT)[0][0]

    def prompt(self, prompt_id: str) -> Prompt | None:
        return next(iter(self._decoded(PROMPT, ONE_PROMPT, prompt_id)), None)

    def newest(self, prompt_id: str) -> Prompt | None:
        """The row as last handed to `record`, even if not on disk yet: to decide with, never to show."""
        row, write = self._unwritten.get(prompt_id, (None, None))
        if write is None or write.done():
            return self.prompt(prompt_id)
        return row

    def session(self, session_id: str) -> Session | None:
        return next(iter(self._decoded(SESSION, ONE_SESSION, session_id)), None)

    def asked_at(self, session_id: str) -> float:
        """When its newest prompt was raised, whatever became of that; 0 if it had none."""
        return self._rows(NEWEST_OPENED, session_id)[0][0] or 0.0

    def ended(self, limit: int) -> list[Session]:
        """Sessions that are over, the latest first."""
        return self._decoded(SESSION, ENDED_SESSIONS, limit)

    def matching(self, prefix: str, limit: int = 5) -> list[str]:
        """Ids of prompts that begin like this."""
        return [row[0] for row in self._rows(MATCHING, prefix, prefix + "\U0010ffff", limit)]

    def prompts(self, *, open_only: bool, limit: int, before: float | None = None) -> list[Prompt]:
        """The newest first; `before`: only those opened earlier. Open is everything not closed, unsure too.

        What was opened in the same instant as the last one comes with it: the next page begins before that.
        """
        query = OPEN_PROMPTS if open_only else PROMPTS
        found = self._decoded(PROMPT, query, float("inf") if before is None else before, limit)
        if found and len(found) == limit:
            known = {prompt.id for prompt in found}
            tied = self._decoded(PROMPT, TIED_PROMPTS, found[-1].opened_at)
            found += [p for p in tied if p.id not in known and not (open_only and p.state in CLOSED)]
        return found

    def changes_after(self, seq: int, limit: int) -> list[Change]:
        """The current version of every row that changed after `seq`, oldest change first."""
        return [
            Change(number, at, prompt=self._one(PROMPT, name, row))
            if table == "prompt"
            else Change(number, at, session=self._one(SESSION, name, row))
            for number, at, table, name, row in self._rows(CHANGED, seq, limit)
        ]

    def facts(self, after: int = 0, limit: int | None = None) -> Iterator[tuple[int, AnyEvent]]:
        """The log, oldest first; each fact with the last seq it used."""
        left = limit
        while left is None or left > 0:
            page = self._rows(FACTS, after, _PAGE if left is None else min(left, _PAGE))
            for seq, fact in page:
                yield seq, self._one(EVENT, f"fact {seq}", fact)
            if not page:
                return
            after = page[-1][0]
            left = None if left is None else left - len(page)

    def body(self, body_id: str) -> bytes | None:
        return next((row[0] for row in self._rows(BODY, body_id)), None)

    def body_size(self, body_id: str) -> int:
        """How long it is, without reading it; 0 if it is not stored."""
        return next((row[0] for row in self._rows(BODY_SIZE, body_id)), 0)

    # -- who may do what, and the seal over all of it

    def note(self, event: SettingsChanged) -> Future[None]:
        """Record it, here and now unless others are before us."""
        return self._writer.at_once(lambda tx: put_setting(tx, event))

    def settings_log(self, before: int | None = None, limit: int = 500) -> list[tuple[int, SettingsChanged]]:
        """What was changed, the newest first, each with its number, which counts from 1."""
        rows = self._rows(SETTINGS_LOG, SETTINGS_FROM if before is None else min(before, SETTINGS_FROM), limit)
        return [(number, self._one(SETTING, f"changed setting {number}", fact)) for number, fact in rows]

    def head(self) -> Head | None:
        """The end of the chain; None before the first fact."""
        return next((Head(n, link.hex()) for n, link in self._rows(HEAD)), None)

    def head_at(self, place: int) -> Head | None:
        """The link at this place of the chain, if it goes that far."""
        return next((Head(n, link.hex()) for n, link in self._rows(LINK, place)), None)

    # -- devices

    def devices(self) -> list[Device]:
        return [Device(*row) for row in self._rows(devices.ALL)]

    def device_by_hash(self, token_hash: str) -> Device | None:
        """The device with this token, unless it was revoked."""
        return next((Device(*row) for row in self._rows(devices.BY_HASH, token_hash)), None)

    async def add_device(
        self,
        name: str,
        token_hash: str,
        at: float | None = None,
        *,
        scopes: str = "",
        public_key: str = "",
        by: str = "",
        what: str = "added",
    ) -> Device:
        now = time.time() if at is None else at

        def work(tx: Transaction) -> Device:
            device = devices.add(tx, name, token_hash, now, scopes, public_key)
            kind = "a browser with its own key" if public_key else "a token"
            _note_device(tx, now, what, device.id, by, f"{name}, {kind}, may {scopes or 'nothing'}")
            return device

        return await self._write(work)

    async def scope_device(self, device_id: str, scopes: str, by: str = "") -> bool:
        """Whether there was such a device, not revoked."""
        return await self._change_device(
            lambda tx: devices.scope(tx, device_id, scopes), "scopes changed", device_id, by, f"may {scopes}"
        )

    async def void_device(self, device_id: str) -> None:
        """Its token opens nothing from here on; it stays in the list until it is paired again or revoked."""

        def work(tx: Transaction) -> bool:
            return devices.make_void(tx, device_id)

        await self._change_device(work, "token made void", device_id, "yourcall", "the token came as a cookie")

    def touch_device(self, device_id: str, at: float | None = None) -> None:
        """It spoke to us; nobody waits for this to be written."""
        now = time.time() if at is None else at
        self._writer.submit(lambda tx: devices.touch(tx, device_id, now))

    async def rename_device(self, device_id: str, name: str, by: str = "") -> bool:
        """Whether there was such a device, not revoked."""
        return await self._change_device(
            lambda tx: devices.rename(tx, device_id, name), "renamed", device_id, by, name
        )

    async def revoke_device(self, device_id: str, at: float | None = None, *, by: str = "") -> bool:
        """Whether there was such a device; from here on its key opens nothing."""
        now = time.time() if at is None else at
        return await self._change_device(
            lambda tx: devices.revoke(tx, device_id, now), "revoked", device_id, by, at=now
        )

    async def _change_device(
        self, change: Work[bool], what: str, device_id: str, by: str, detail: str = "", at: float | None = None
    ) -> bool:
        """The change and the fact that it was made, both or neither."""
        now = time.time() if at is None else at

        def work(tx: Transaction) -> bool:
            done = change(tx)
            if done:
                _note_device(tx, now, what, device_id, by, detail)
            return done

        return await self._write(work)

    # -- what waits for its session

    def queues(self) -> list[OrderQueue]:
        return self._decoded(QUEUE, QUEUES)

    async def put_queues(self, queues: Sequence[OrderQueue]) -> None:
        """All of them or none, on disk when this returns; one without an order is not kept."""
        rows = [(each.session_id, encode_queue(each) if each.orders else None) for each in queues]

        def work(tx: Transaction) -> None:
            for session_id, row in rows:
                if row is None:
                    tx.db.execute("DELETE FROM queues WHERE session_id = ?", (session_id,))
                else:
                    tx.db.execute("INSERT OR REPLACE INTO queues VALUES (?, ?)", (session_id, row))

        await self._write(work)

    # -- passkeys

    def passkeys(self) -> list[Passkey]:
        """All of them, the revoked ones too."""
        return [Passkey(*row) for row in self._rows(passkeys.ALL)]

    async def add_passkey(
        self, name: str, person: str, rp_id: str, credential: str, public_key: bytes, count: int, by: str
    ) -> Passkey:
        now = time.time()

        def work(tx: Transaction) -> Passkey:
            made = passkeys.add(tx, name, person, rp_id, credential, public_key, count, now)
            put_setting(tx, SettingsChanged(now, "passkeys", "registered", made.id, by, f"{name}, for {rp_id}"))
            return made

        return await self._write(work)

    async def passkey_used(self, passkey_id: str, count: int) -> bool:
        """Whether it is there, and its counter went up."""
        return await self._write(lambda tx: passkeys.used(tx, passkey_id, count, time.time()))

    async def revoke_passkey(self, passkey_id: str, by: str, why: str = "") -> bool:
        """Whether there was such a passkey; from here on it proves nothing."""
        now = time.time()

        def work(tx: Transaction) -> bool:
            done = passkeys.revoke(tx, passkey_id, now, why)
            if done:
                put_setting(tx, SettingsChanged(now, "passkeys", "revoked", passkey_id, by, why))
            return done

        return await self._write(work)

    # -- persons

    def people(self) -> list[Person]:
        """All of them, those that were removed too."""
        return [self._one(PERSON, name, row) for name, row in self._rows(people.ALL)]

    async def put_person(self, person: Person, what: str, by: str, detail: str = "") -> None:
        """This person as they are from now on."""

        def work(tx: Transaction) -> None:
            people.put(tx, person)
            put_setting(tx, SettingsChanged(time.time(), "people", what, person.name, by, detail))

        await self._write(work)

    async def give_device(self, device_id: str, person: str, by: str) -> bool:
        """Whose device it is from now on; False if there is no such device."""
        return await self._change_device(
            lambda tx: devices.give(tx, device_id, person), "given to a person", device_id, by, person
        )

    def who_asked(self, session_id: str) -> frozenset[str]:
        """The persons who told this session what to do."""
        return frozenset(person for (person,) in self._rows(people.WHO_ASKED, session_id))

    async def note_wish(self, session_id: str, person: str) -> None:
        """This person told the session what to do."""
        await self._write(lambda tx: people.note_wish(tx, session_id, person, time.time()))

    def host_id(self) -> str:
        """The name of this host in what passkeys sign: random, and its own for good."""
        items = self._rows("SELECT value FROM meta WHERE key = 'host'")
        if items:
            return str(items[0][0])

        def work(tx: Transaction) -> str:
            tx.db.execute("INSERT OR IGNORE INTO meta VALUES ('host', ?)", (secrets.token_hex(16),))
            return str(tx.db.execute("SELECT value FROM meta WHERE key = 'host'").fetchone()[0])

        return self._writer.submit(work).result()

    # -- who reviewed what

    def reviews(self, session_id: str) -> list[Review]:
        """Those about this session, and the one that this session is; the oldest first."""
        return sorted(self._decoded(REVIEW, REVIEWS, session_id, session_id), key=lambda each: each.at)

    def review(self, review_id: str) -> Review | None:
        return next(iter(self._decoded(REVIEW, ONE_REVIEW, review_id)), None)

    def running_reviews(self) -> list[Review]:
        return self._decoded(REVIEW, RUNNING_REVIEWS)

    async def put_review(self, review: Review) -> None:
        """On disk when this returns."""
        row = encode(review)
        REVIEW.decode(row)
        values = (review.id, review.session_id, review.by_session, review.at, review.state == "running", row)
        await self._write(
            lambda tx: tx.db.execute("INSERT OR REPLACE INTO reviews VALUES (?, ?, ?, ?, ?, ?)", values).rowcount
        )

    # -- what people were told

    def receipts(self) -> list[Receipt]:
        return [told.receipt(row) for row in self._rows(told.ALL)]

    async def put_receipts(self, rows: Sequence[Receipt]) -> None:
        await self._write(lambda tx: told.put(tx, rows))

    async def drop_receipts(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Forget these, by notice, channel and target."""
        await self._write(lambda tx: told.drop(tx, keys))

    async def put_taps(self, taps: Sequence[tuple[str, Tap]]) -> None:
        """Single-use answers, each by the hash of its token."""
        await self._write(lambda tx: told.put_taps(tx, taps))

    def tap(self, token_hash: str) -> Tap | None:
        """The answer behind this token."""
        items = self._rows(told.TAP, token_hash)
        return Tap(*items[0]) if items else None

    async def drop_tap(self, token_hash: str) -> None:
        await self._write(lambda tx: told.drop_tap(tx, token_hash))

    async def drop_taps(self, prompt_id: str) -> None:
        await self._write(lambda tx: told.drop_taps(tx, prompt_id))

    async def drop_all_taps(self) -> None:
        await self._write(told.drop_all_taps)

    def remembered(self, channel: str) -> dict[str, bytes]:
        return dict(self._rows(told.FACTS, channel))

    def remembering(self) -> list[str]:
        """The channels that something is kept of."""
        return [channel for (channel,) in self._rows(told.REMEMBERING)]

    async def forget(self, channel: str) -> None:
        await self._write(lambda tx: told.forget(tx, channel))

    async def remember(self, channel: str, key: str, value: bytes | None) -> None:
        await self._write(lambda tx: told.remember(tx, channel, key, value))

    # -- how rows are read

    def _rows(self, query: str, *values: object) -> list[Any]:
        try:
            return self._reading.execute(query, values).fetchall()
        except (UnicodeEncodeError, OverflowError):
            return []  # no id we keep has half a character in it, no seq has 65 bits: nothing is meant by them
        except sqlite3.Error as error:
            raise explained(self.path, error) from error

    def _decoded(self, decoder: msgspec.json.Decoder[T], query: str, *values: object) -> list[T]:
        return [self._one(decoder, row[0], row[1]) for row in self._rows(query, *values)]

    def _one(self, decoder: msgspec.json.Decoder[T], name: str, data: bytes) -> T:
        try:
            return decoder.decode(data)
        except msgspec.DecodeError as error:
            raise unreadable(self.path, repr(name), str(error)) from error


def _note_device(tx: Transaction, at: float, what: str, device_id: str, by: str, detail: str) -> None:
    put_setting(tx, SettingsChanged(at, "devices", what, device_id, by or "yourcall", detail))
