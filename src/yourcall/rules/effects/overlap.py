"""What an earlier part of a command may have put in the way of a later one.

Rule: a path is resolved before anything runs; where something that runs first brings files that nobody has looked
at (a link, a repository with settings of its own), what lies below is not known.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from yourcall.rules.effects.parts import Part, Ref

# A folder with a file of this name may be a repository, and git obeys its settings.
# Everything below them is handed on.
_SEARCHED = ("found", "split")
_CUT = re.compile(r"[\s'\"\\]")
_DASHED = re.compile(r"(?:^|/)-[^/]*/*$")
_PATTERN = re.compile(r"[*?\[#^~]")
_HEAD = re.compile(r"(?:^|/)HEAD/*$", re.IGNORECASE)


class Growth(Struct, frozen=True):
    """By which part something grew, and where; None is anywhere. `itself`: the place, too, may be a link.
    `moved`: it may be a repository that somebody else has made."""

    part: int
    path: str | None
    itself: bool = False
    moved: bool = False


def settled_in_turn(parts: list[Part], grown: list[Growth], loops: bool) -> tuple[Part, ...]:
    """All parts. `loops`: a later one may have run before an earlier one."""
    written = [ref for part in parts for ref in part.refs if ref.use in ("write", "merge")]
    head = any(ref.glob or _HEAD.search(ref.path or "") for ref in written)
    # A name that is an option, or that only running it tells: a pattern may find it by then.
    dashed = any(_DASHED.search(ref.path or "-") for ref in written)
    # A name that is cut in two where files are handed on.
    cut = any(ref.glob or ref.path is None or _CUT.search(ref.path) for ref in written)
    lists = bool(written) and any(ref.use == "listed" for part in parts for ref in part.refs)
    if not grown and not head and not dashed and not cut and not lists:
        return tuple(parts)
    found: list[Part] = []
    for at, part in enumerate(parts):
        before = [each for each in grown if each.part < at or (loops and each.part != at)]
        refs = (
            replace(ref, path=None)
            if _blurred(part, ref, before)
            or (head and ref.use == "repo")
            or (dashed and ref.glob)
            or (cut and ref.use == "split")
            or (lists and ref.use == "listed")
            else ref
            for ref in part.refs
        )
        found.append(replace(part, refs=tuple(refs)))
    return tuple(found)


def _blurred(part: Part, ref: Ref, grown: list[Growth]) -> bool:
    """Could what grew before stand in the way of this path? Git itself follows no links of its own files."""
    if not grown or ref.path is None or ref.use == "stand":
        return False
    in_git = part.argv[:1] == ("git",) and not ref.glob
    if in_git and (ref.use not in ("enter", "repo", "remote") or ref.path in (".", "./.")):
        return False
    ours = _steps(ref.path)
    for each in grown:
        theirs = _steps(each.path) if each.path is not None else None
        if ours is None or theirs is None:
            # What is pulled could hold a folder called as a remote; but nobody could push behind a pull any more.
            if ref.use != "remote" and (ref.use != "repo" or ours):
                return True
        elif _meets(ours, theirs, ref.glob):
            below = each.itself or len(ours) > len(theirs) or ref.glob
            if below or ref.use in _SEARCHED or (ref.use == "repo" and each.moved):
                return True
        elif ref.use in _SEARCHED and _meets(theirs, ours, False):
            return True
    return False


def _meets(ours: list[str], theirs: list[str], glob: bool) -> bool:
    """Does our path lead through theirs? From the first step on that is a pattern, it may."""
    for mine, other in zip(ours, theirs, strict=False):
        if glob and _PATTERN.search(mine):
            return True
        if mine != other:
            return False
    return len(ours) >= len(theirs)


def _steps(path: str) -> list[str] | None:
    """A path below the folder it starts in, step by step; None if it leads elsewhere, or nobody knows."""
    if path.startswith(("/", "~")):
        return None
    steps = [step.casefold() for step in path.split("/") if step not in ("", ".")]
    return None if ".." in steps else steps
