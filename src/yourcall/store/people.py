"""Persons, and who told which session what to do.

Rule: a person who was removed stays on record; what they did stays theirs.
"""

from __future__ import annotations

import msgspec

from yourcall.model.people import Person
from yourcall.store.writer import Transaction

ALL = "SELECT id, row FROM people ORDER BY id"
WHO_ASKED = "SELECT person FROM wishes WHERE session_id = ?"

PERSON = msgspec.json.Decoder(Person)


def put(tx: Transaction, person: Person) -> None:
    tx.db.execute("INSERT OR REPLACE INTO people VALUES (?, ?)", (person.id, msgspec.json.encode(person)))


def note_wish(tx: Transaction, session_id: str, person: str, at: float) -> None:
    tx.db.execute("INSERT OR REPLACE INTO wishes VALUES (?, ?, ?)", (session_id, person, at))
