"""Reading what agents emit: JSON that may be broken, fields that may be missing, times that may be no times.

Rule: nothing here raises. What cannot be read is None, empty or 0, and the caller says what that means.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")

_fields = msgspec.json.Decoder(dict[str, object])


def empty() -> Raw:
    return Raw(b"{}")


def null() -> Raw:
    return Raw(b"null")


def decoded(kind: type[T], data: bytes | Raw) -> T | None:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError):
        return None


def line_of(decoder: msgspec.json.Decoder[T], line: bytes) -> T | None:
    """One line of a record. A Raw in it is not looked into when it is decoded, so bytes that are no text are
    noticed here."""
    try:
        line.decode()
        return decoder.decode(line)
    except (ValueError, RecursionError):
        return None


def fields_of(raw: bytes | Raw) -> dict[str, object]:
    """The input of a call; empty if it is no JSON object."""
    try:
        return _fields.decode(raw)
    except (ValueError, RecursionError):
        return {}


def text_of(fields: Mapping[str, object], *names: str) -> str:
    """The first of these fields that holds a text."""
    return next((v for name in names if isinstance(v := fields.get(name), str) and v), "")


def time_of(stamp: str) -> float:
    """When a line was written; 0 if it does not say."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def call_fingerprint(tool: str, fields: Mapping[str, object]) -> str:
    """The same for the same call, however its JSON was spelled."""
    return f"call:{hashlib.sha256(msgspec.json.encode([tool, fields], order='sorted')).hexdigest()}"
