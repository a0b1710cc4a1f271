"""The passkeys that stand behind a yes: their public halves, whose they are, and how often each has signed.

Rule: a revoked one is remembered and never found again; a counter only goes up.
"""

from __future__ import annotations

import secrets

from msgspec import Struct

from yourcall.store.writer import Transaction

_COLUMNS = "id, name, person, rp_id, credential, public_key, sign_count, created_at, used_at, revoked_at, why"
ALL = f"SELECT {_COLUMNS} FROM passkeys ORDER BY created_at, id"  # noqa: S608


class Passkey(Struct, frozen=True):
    """`rp_id`: the name of the site that it was made for. `credential`: its own id, in base64url. `why`: for what
    reason it was revoked."""

    id: str
    name: str
    person: str
    rp_id: str
    credential: str
    public_key: bytes
    sign_count: int
    created_at: float
    used_at: float = 0.0
    revoked_at: float | None = None
    why: str = ""


def add(
    tx: Transaction, name: str, person: str, rp_id: str, credential: str, public_key: bytes, count: int, at: float
) -> Passkey:
    made = Passkey(secrets.token_hex(4), name, person, rp_id, credential, public_key, count, at)
    tx.db.execute(
        f"INSERT INTO passkeys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, NULL, '')",  # noqa: S608
        (made.id, name, person, rp_id, credential, public_key, count, at),
    )
    return made


def used(tx: Transaction, passkey_id: str, count: int, at: float) -> bool:
    """Whether it was there, not revoked, and its counter went up (or it has none)."""
    cursor = tx.db.execute(
        "UPDATE passkeys SET sign_count = ?, used_at = ? WHERE id = ? AND revoked_at IS NULL"
        " AND (sign_count < ? OR (sign_count = 0 AND ? = 0))",
        (count, at, passkey_id, count, count),
    )
    return cursor.rowcount == 1


def revoke(tx: Transaction, passkey_id: str, at: float, why: str) -> bool:
    cursor = tx.db.execute(
        "UPDATE passkeys SET revoked_at = ?, why = ? WHERE id = ? AND revoked_at IS NULL", (at, why, passkey_id)
    )
    return cursor.rowcount == 1
