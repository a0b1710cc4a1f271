"""What connecting any agent has in common: versions, the edited settings, and what may be wrong with them.

Rule: settings are texts, in and out; nothing here knows a file or an agent.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Version = tuple[int, int, int]


class Edited(Struct, frozen=True):
    """The settings as they should be; None: nothing would be left of the file. `notes` are for people."""

    text: str | None
    changed: bool
    notes: tuple[str, ...] = ()


FindingCode = Literal[
    "broken", "too_old", "missing", "partial", "moved", "outdated", "unaccepted", "disabled", "managed_only"
]


class Finding(Struct, frozen=True):
    """Something about the settings that keeps prompts from reaching us; `do` says what helps."""

    code: FindingCode
    says: str
    do: str


def parse_version(said: str) -> Version | None:
    """The version in what `--version` says: `2.1.325 (Claude Code)`, `codex-cli 0.166.0`, `0.61.0`; a name of up
    to three words may stand in front."""
    found = re.match(r"\s*(?:[A-Za-z-]{1,20} ){0,3}v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?!\d)", said, re.ASCII)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def show_version(version: Version) -> str:
    return ".".join(map(str, version))
