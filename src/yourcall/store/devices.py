"""The paired devices: who may talk to us, by the hash of a token we do not keep, or by a browser's public key.

Rule: the token itself is never stored; a revoked device is remembered but never found by its token.
"""

from __future__ import annotations

import secrets

from msgspec import Struct

from yourcall.store.writer import Transaction

_COLUMNS = "id, name, created_at, seen_at, revoked_at, public_key, scopes, void, person"
ALL = f"SELECT {_COLUMNS} FROM devices ORDER BY created_at, id"  # noqa: S608
BY_HASH = f"SELECT {_COLUMNS} FROM devices WHERE token_hash = ? AND revoked_at IS NULL"  # noqa: S608


class Device(Struct, frozen=True):
    """`seen_at` is 0 until it spoke to us for the first time. `public_key`: a browser's own, which has no token.

    `scopes`: what it may do, with commas between. `void`: its token may have gone to others, so it opens nothing;
    the device has to be paired again. `person`: whose it is; empty: the owner's of the machine.
    """

    id: str
    name: str
    created_at: float
    seen_at: float = 0.0
    revoked_at: float | None = None
    public_key: str = ""
    scopes: str = ""
    void: int = 0
    person: str = ""


def add(
    tx: Transaction, name: str, token_hash: str, at: float, scopes: str, public_key: str, person: str = ""
) -> Device:
    device = Device(secrets.token_hex(4), name, at, scopes=scopes, public_key=public_key, person=person)
    tx.db.execute(
        "INSERT INTO devices (id, name, token_hash, created_at, seen_at, scopes, public_key, person)"
        " VALUES (?, ?, ?, ?, 0, ?, ?, ?)",
        (device.id, name, token_hash, at, scopes, public_key, person),
    )
    return device


def scope(tx: Transaction, device_id: str, scopes: str) -> bool:
    cursor = tx.db.execute(
        "UPDATE devices SET scopes = ? WHERE id = ? AND revoked_at IS NULL", (scopes, device_id)
    )
    return cursor.rowcount == 1


def make_void(tx: Transaction, device_id: str) -> bool:
    """Whether that was news."""
    cursor = tx.db.execute(
        "UPDATE devices SET void = 1 WHERE id = ? AND public_key = '' AND void = 0", (device_id,)
    )
    return cursor.rowcount == 1


def touch(tx: Transaction, device_id: str, at: float) -> None:
    tx.db.execute("UPDATE devices SET seen_at = max(seen_at, ?) WHERE id = ?", (at, device_id))


def rename(tx: Transaction, device_id: str, name: str) -> bool:
    cursor = tx.db.execute("UPDATE devices SET name = ? WHERE id = ? AND revoked_at IS NULL", (name, device_id))
    return cursor.rowcount == 1


def give(tx: Transaction, device_id: str, person: str) -> bool:
    cursor = tx.db.execute(
        "UPDATE devices SET person = ? WHERE id = ? AND revoked_at IS NULL", (person, device_id)
    )
    return cursor.rowcount == 1


def revoke(tx: Transaction, device_id: str, at: float) -> bool:
    """Whether there was such a device, not yet revoked."""
    cursor = tx.db.execute(
        "UPDATE devices SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at, device_id)
    )
    return cursor.rowcount == 1
