"""A fact on its way to disk: the event in the log, and the rows that it changed.

Rule: a fact and its rows are written together, each row under a seq of its own; the fact bears the last of them.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

from yourcall.core.identity import unsettled
from yourcall.model.events import AnyEvent, PromptRaised, SessionEnded, SessionSeen, SettingsChanged
from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Prompt
from yourcall.model.reviews import Review
from yourcall.model.sessions import Session
from yourcall.store.writer import Transaction


class Fact(Struct, frozen=True):
    """One event and the rows it changed. `bodies`: sha256 of the data in hex → the data, verbatim."""

    event: AnyEvent
    prompts: tuple[Prompt, ...] = ()
    sessions: tuple[Session, ...] = ()
    bodies: dict[str, bytes] = {}


class Change(Struct, frozen=True):
    """One row as it is after a fact; the live feed sends these in the order of `seq`."""

    seq: int
    at: float
    prompt: Prompt | None = None
    session: Session | None = None


encode = msgspec.json.Encoder().encode
PROMPT = msgspec.json.Decoder(Prompt)
SESSION = msgspec.json.Decoder(Session)
EVENT: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
SETTING = msgspec.json.Decoder(SettingsChanged)
QUEUE = msgspec.json.Decoder(OrderQueue)
REVIEW = msgspec.json.Decoder(Review)

# The kind, and the one subject, of facts that no row follows from; replay leaves them out.
SETTINGS_KIND = SettingsChanged.__name__
SETTINGS = "settings"
# They are numbered by themselves, above all rows: the feed counts rows only, and misses nothing.
SETTINGS_FROM = 1 << 52
_LAST_SETTING = f"SELECT coalesce(max(seq), {SETTINGS_FROM}) FROM log WHERE seq > {SETTINGS_FROM}"  # noqa: S608

PUT_FACT = "INSERT INTO log VALUES (?, ?, ?, ?, ?)"
_PUT_BODY = "INSERT OR IGNORE INTO bodies VALUES (?, ?, ?)"
_PUT_PROMPT = (
    "INSERT INTO prompts (id, seq, at, state, live, session_id, opened_at, closed_at, request, row)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, at = excluded.at,"
    " state = excluded.state, live = excluded.live, session_id = excluded.session_id,"
    " opened_at = excluded.opened_at, closed_at = excluded.closed_at, request = excluded.request,"
    " row = excluded.row"
)
_PUT_SESSION = (
    "INSERT INTO sessions (id, seq, at, live, row) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, at = excluded.at, live = excluded.live,"
    " row = excluded.row"
)


class Encoded:
    """A fact ready to be written. Made by the caller, so that what cannot be encoded is the caller's error."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self.log = encode(fact.event)
        self.prompts = [(prompt, encode(prompt)) for prompt in fact.prompts]
        self.sessions = [(session, encode(session)) for session in fact.sessions]
        # Nothing is written that could not be read back: one such row would keep a daemon from starting.
        EVENT.decode(self.log)
        for _, row in self.prompts:
            PROMPT.decode(row)
        for _, row in self.sessions:
            SESSION.decode(row)

    def write(self, tx: Transaction) -> list[Change]:
        fact, at = self.fact, self.fact.event.at
        for body_id, data in fact.bodies.items():
            if sha256(data).hexdigest() != body_id:
                raise ValueError(f"body {body_id!r} is not named by the sha256 of its data")
            tx.db.execute(_PUT_BODY, (body_id, at, data))
        changes: list[Change] = []
        for p, row in self.prompts:
            seq = tx.next_seq()
            live = unsettled(p)
            # What is settled must have an age, or it could never be forgotten.
            closed_at = at if p.closed_at is None and not live else p.closed_at
            values = (p.id, seq, at, p.state, live, p.session_id, p.opened_at, closed_at, p.request, row)
            tx.db.execute(_PUT_PROMPT, values)
            changes.append(Change(seq, at, prompt=p))
        for s, row in self.sessions:
            seq = tx.next_seq()
            tx.db.execute(_PUT_SESSION, (s.id, seq, at, s.state != "ended", row))
            changes.append(Change(seq, at, session=s))
        if changes:
            kind = type(fact.event).__name__
            tx.db.execute(PUT_FACT, (changes[-1].seq, at, kind, subject(fact.event), self.log))
        return changes


def put_setting(tx: Transaction, event: SettingsChanged) -> None:
    """In the transaction of the change itself, where that is a row of ours."""
    seq: int = tx.db.execute(_LAST_SETTING).fetchone()[0] + 1
    tx.db.execute(PUT_FACT, (seq, event.at, SETTINGS_KIND, SETTINGS, encode(event)))


def encode_queue(queue: OrderQueue) -> bytes:
    """Nothing is written that could not be read back."""
    row = encode(queue)
    QUEUE.decode(row)
    return row


def subject(event: AnyEvent) -> str:
    """Whose fact it is: the id of a session or of a prompt."""
    match event:
        case SessionSeen():
            return event.session.id
        case SessionEnded():
            return event.session_id
        case PromptRaised():
            return event.prompt.id
        case _:
            return event.prompt_id
