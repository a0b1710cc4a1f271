"""The paired devices: who may talk to us, by the hash of a key we do not keep.

Rule: the key itself is never stored; a revoked device is remembered but never found by its key.
"""

from __future__ import annotations

import secrets

from msgspec import Struct

from yourcall.store.writer import Transaction

_COLUMNS = "id, name, created_at, seen_at, revoked_at"
ALL = f"SELECT {_COLUMNS} FROM devices ORDER BY created_at, id"  # noqa: S608
BY_HASH = f"SELECT {_COLUMNS} FROM devices WHERE token_hash = ? AND revoked_at IS NULL"  # noqa: S608


class Device(Struct, frozen=True):
    """`seen_at` is 0 until it spoke to us for the first time."""

    id: str
    name: str
    created_at: float
    seen_at: float = 0.0
    revoked_at: float | None = None


def add(tx: Transaction, name: str, token_hash: str, at: float) -> Device:
    device = Device(secrets.token_hex(4), name, at)
    tx.db.execute(
        "INSERT INTO devices (id, name, token_hash, created_at, seen_at) VALUES (?, ?, ?, ?, 0)",
        (device.id, name, token_hash, at),
    )
    return device


def touch(tx: Transaction, device_id: str, at: float) -> None:
    tx.db.execute("UPDATE devices SET seen_at = max(seen_at, ?) WHERE id = ?", (at, device_id))


def rename(tx: Transaction, device_id: str, name: str) -> bool:
    found = tx.db.execute("UPDATE devices SET name = ? WHERE id = ? AND revoked_at IS NULL", (name, device_id))
    return found.rowcount == 1


def revoke(tx: Transaction, device_id: str, at: float) -> bool:
    """Whether there was such a device, not yet revoked."""
    found = tx.db.execute("UPDATE devices SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, device_id))
    return found.rowcount == 1
