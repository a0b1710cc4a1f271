"""What was told to whom, the single-use answers that went with it, and the channels' own small facts.

Rule: of a single-use answer only the hash of its token is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from yourcall.model.prompts import Receipt, Tap
from yourcall.store.writer import Transaction

_COLUMNS = "notice, channel, target, prompts, state, at, times, receipt, face, why"
ALL = f"SELECT {_COLUMNS} FROM receipts ORDER BY at"  # noqa: S608
_PUT = f"INSERT OR REPLACE INTO receipts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
REMEMBERING = "SELECT DISTINCT channel FROM channel_facts"
FACTS = "SELECT key, value FROM channel_facts WHERE channel = ?"
TAP = "SELECT prompt_id, question, option, offer, channel, at FROM taps WHERE hash = ?"

_ids = msgspec.json.Decoder(tuple[str, ...])


def receipt(row: Sequence[object]) -> Receipt:
    values = list(row)
    values[3] = _ids.decode(str(values[3]))
    return Receipt(*values)  # pyright: ignore[reportArgumentType]


def put(tx: Transaction, rows: Sequence[Receipt]) -> None:
    for row in rows:
        values = [getattr(row, name) for name in Receipt.__struct_fields__]
        values[3] = msgspec.json.encode(row.prompts).decode()
        tx.db.execute(_PUT, values)


def drop(tx: Transaction, keys: Sequence[tuple[str, str, str]]) -> None:
    tx.db.executemany("DELETE FROM receipts WHERE notice = ? AND channel = ? AND target = ?", keys)


def put_taps(tx: Transaction, taps: Sequence[tuple[str, Tap]]) -> None:
    for token_hash, tap in taps:
        values = (token_hash, tap.prompt_id, tap.question, tap.option, tap.offer, tap.channel, tap.at)
        tx.db.execute("INSERT INTO taps VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def drop_tap(tx: Transaction, token_hash: str) -> None:
    tx.db.execute("DELETE FROM taps WHERE hash = ?", (token_hash,))


def drop_taps(tx: Transaction, prompt_id: str) -> None:
    tx.db.execute("DELETE FROM taps WHERE prompt_id = ?", (prompt_id,))


def drop_all_taps(tx: Transaction) -> None:
    tx.db.execute("DELETE FROM taps")


def remember(tx: Transaction, channel: str, key: str, value: bytes | None) -> None:
    if value is None:
        tx.db.execute("DELETE FROM channel_facts WHERE channel = ? AND key = ?", (channel, key))
    else:
        tx.db.execute("INSERT OR REPLACE INTO channel_facts VALUES (?, ?, ?)", (channel, key, value))


def forget(tx: Transaction, channel: str) -> None:
    tx.db.execute("DELETE FROM channel_facts WHERE channel = ?", (channel,))
