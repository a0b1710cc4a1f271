"""What an earlier part of a command may have put in the way of a later one.

Rule: a path is resolved before anything runs; where something that runs first brings files that nobody has looked
at (a link, a repository with settings of its own), what lies below is not known.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from yourcall.core.effects import Part, Ref

# A folder with a file of this name may be a repository, and git obeys its settings.
_HEAD = re.compile(r"(?:^|/)HEAD/*$", re.IGNORECASE)


def settled_in_turn(parts: list[Part], grown: list[tuple[int, str | None]], loops: bool) -> tuple[Part, ...]:
    """All parts. `grown`: by which of them something grew, and where; None is anywhere. `loops`: a later part may
    have run before an earlier one."""
    head = any(ref.use == "write" and _HEAD.search(ref.path or "") for part in parts for ref in part.refs)
    if not grown and not head:
        return tuple(parts)
    found: list[Part] = []
    for at, part in enumerate(parts):
        before = [where for number, where in grown if number < at or (loops and number != at)]
        refs = (
            Ref(None, ref.use) if _blurred(part, ref, before) or (head and ref.use == "repo") else ref
            for ref in part.refs
        )
        found.append(replace(part, refs=tuple(refs)))
    return tuple(found)


def _blurred(part: Part, ref: Ref, grown: list[str | None]) -> bool:
    """Could what grew before stand in the way of this path? Git itself follows no links of its own files."""
    if not grown or ref.path is None or ref.use == "stand":
        return False
    if part.argv[:1] == ("git",) and (ref.use not in ("enter", "repo") or ref.path in (".", "./.")):
        return False
    ours = _steps(ref.path)
    for each in grown:
        theirs = _steps(each) if each is not None else None
        if ours is None or theirs is None:
            if ref.use != "repo" or ours:
                return True
        elif ours[: len(theirs)] == theirs and (len(ours) > len(theirs) or ref.use not in ("enter", "repo")):
            return True
    return False


def _steps(path: str) -> list[str] | None:
    """A path below the folder it starts in, step by step; None if it leads elsewhere, or nobody knows."""
    if path.startswith(("/", "~")):
        return None
    steps = [step.casefold() for step in path.split("/") if step not in ("", ".")]
    return None if ".." in steps else steps
