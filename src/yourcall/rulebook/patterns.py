"""Which files a shell's pattern could mean: at least those that any shell would find.

Rule: too many rather than too few. Hidden files count, `[…]` is any text (shells differ about what is in it), and
a pattern that would take long, or looks below all folders (`**`), is not followed at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

# A pattern that matches more than this is not looked at one by one.
MOST_MATCHES = 500
# Entries of folders that are looked at for one pattern; a folder of modules has more.
MOST_LOOKS = 5_000

_BRACKETS = re.compile(r"\[.*\]")


def matching(path: str, start: str) -> list[str] | None:
    """Every file that `path`, meant from `start`, may stand for; None if there are too many to tell."""
    if "**" in path:
        return None
    found = ["/"] if path.startswith("/") else [start]
    looks = 0
    for step in [each for each in path.split("/") if each not in ("", ".")]:
        if not re.search(r"[*?\[]", step):
            found = [f"{folder.rstrip('/')}/{step}" for folder in found]
            continue
        wanted = _like(step)
        names: list[str] = []
        for folder in found:
            entries = _entries(folder) + ([".", ".."] if step.startswith((".", "[")) else [])
            looks += len(entries)
            names += [f"{folder.rstrip('/')}/{name}" for name in entries if wanted.fullmatch(name)]
            if looks > MOST_LOOKS or len(names) > MOST_MATCHES:
                return None
        found = names
    return [each for each in found if os.path.lexists(each)]


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            names = [entry.name for _, entry in zip(range(MOST_LOOKS + 1), found, strict=False)]
    except OSError:
        return []
    return names


def _like(step: str) -> re.Pattern[str]:
    loose = _BRACKETS.sub("*", step)
    return re.compile("".join(_letters(loose)), re.DOTALL | re.IGNORECASE)


def _letters(step: str) -> Iterable[str]:
    for letter in step:
        yield ".*" if letter in "*[]" else "." if letter == "?" else re.escape(letter)
