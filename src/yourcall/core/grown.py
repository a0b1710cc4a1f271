"""What an earlier part of a command may have put in the way of a later one.

Rule: a path is resolved before anything runs; where something that runs first brings files that nobody has looked
at (a link, a repository with settings of its own), what lies below is not known.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from yourcall.core.effects import Part, Ref

# A folder with a file of this name may be a repository, and git obeys its settings.
_HEAD = re.compile(r"(?:^|/)HEAD/*$", re.IGNORECASE)


class Growth(Struct, frozen=True):
    """By which part something grew, and where; None is anywhere. `itself`: the place, too, may be a link."""

    part: int
    path: str | None
    itself: bool = False


def settled_in_turn(parts: list[Part], grown: list[Growth], loops: bool) -> tuple[Part, ...]:
    """All parts. `loops`: a later one may have run before an earlier one."""
    head = any(ref.use == "write" and _HEAD.search(ref.path or "") for part in parts for ref in part.refs)
    if not grown and not head:
        return tuple(parts)
    found: list[Part] = []
    for at, part in enumerate(parts):
        before = [each for each in grown if each.part < at or (loops and each.part != at)]
        refs = (
            Ref(None, ref.use) if _blurred(part, ref, before) or (head and ref.use == "repo") else ref
            for ref in part.refs
        )
        found.append(replace(part, refs=tuple(refs)))
    return tuple(found)


def _blurred(part: Part, ref: Ref, grown: list[Growth]) -> bool:
    """Could what grew before stand in the way of this path? Git itself follows no links of its own files."""
    if not grown or ref.path is None or ref.use == "stand":
        return False
    if part.argv[:1] == ("git",) and (ref.use not in ("enter", "repo", "remote") or ref.path in (".", "./.")):
        return False
    ours = _steps(ref.path)
    for each in grown:
        theirs = _steps(each.path) if each.path is not None else None
        if ours is None or theirs is None:
            # What is pulled could hold a folder called as a remote; but nobody could push behind a pull any more.
            if ref.use != "remote" and (ref.use != "repo" or ours):
                return True
        elif ours[: len(theirs)] == theirs and (each.itself or len(ours) > len(theirs)):
            return True
    return False


def _steps(path: str) -> list[str] | None:
    """A path below the folder it starts in, step by step; None if it leads elsewhere, or nobody knows."""
    if path.startswith(("/", "~")):
        return None
    steps = [step.casefold() for step in path.split("/") if step not in ("", ".")]
    return None if ".." in steps else steps
