"""The record that we keep ourselves, of a session whose agent names none: each line is one entry."""

from __future__ import annotations

import msgspec

from yourcall.model.conversation import AnyEntry

_entry = msgspec.json.Decoder(AnyEntry)


def read_entry(line: bytes) -> list[AnyEntry]:
    try:
        return [_entry.decode(line)]
    except (ValueError, RecursionError):
        return []


def written(entry: AnyEntry) -> bytes:
    return msgspec.json.encode(entry) + b"\n"
