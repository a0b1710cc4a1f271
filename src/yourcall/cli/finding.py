"""What `doctor` says about one thing it looked at."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True):
    """`well`: as it should be. `note`: worth knowing. `wrong`: prompts or answers will be missed; `do` helps."""

    check: str
    level: Literal["well", "note", "wrong"]
    says: str
    do: str = ""


def well(check: str, says: str) -> Finding:
    return Finding(check, "well", says)


def note(check: str, says: str, do: str = "") -> Finding:
    return Finding(check, "note", says, do)


def wrong(check: str, says: str, do: str) -> Finding:
    return Finding(check, "wrong", says, do)
