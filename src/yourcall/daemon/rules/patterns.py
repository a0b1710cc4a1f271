"""Which files a shell's pattern could mean: at least those that any shell would find.

Rule: too many rather than too few. Hidden files count, `[…]` is any text (shells differ about what is in it), and
a pattern that would take long, or looks below all folders (`**`), is not followed at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import iglob

# A pattern that matches more than this is not looked at one by one.
MOST_MATCHES = 500

_SIGNS = re.compile(r"[*?\[#^]")
_BRACKETS = re.compile(r"\[.*\]")


class Looks:
    """How many entries of folders one decision may still look at; and how many of them for searches."""

    def __init__(self, left: int, searched: int = 0) -> None:
        self.left = left
        self.searched = Looks(searched) if searched else self


def matching(path: str, start: str, looks: Looks) -> list[str] | None:
    """Every file that `path`, meant from `start`, may stand for; None if there are too many to tell."""
    if "**" in path:
        return None
    if "~" in path[1:]:
        # To zsh, with an option that many set, `a~b` is what `a` finds without what `b` does.
        cut = path.index("~", 1)
        whole = os.path.join(start, path[:cut])
        more = matching(path[:cut], start, looks) if _SIGNS.search(path[:cut]) else [whole]
        rest = matching(path.replace("~", "*"), start, looks)
        return None if more is None or rest is None else [*more, *rest]
    results = ["/"] if path.startswith("/") else [start]
    for step in [each for each in path.split("/") if each not in ("", ".")]:
        if not _SIGNS.search(step):
            results = [f"{folder.rstrip('/')}/{step}" for folder in results]
            continue
        wanted = _like(step)
        names: list[str] = []
        for folder in results:
            entries = _entries(folder, looks) + ([".", ".."] if step.startswith((".", "[")) else [])
            if looks.left < 0:
                return None
            names += [f"{folder.rstrip('/')}/{name}" for name in entries if wanted.fullmatch(name)]
            if len(names) > MOST_MATCHES:
                return None
        results = names
    return [each for each in results if (os.path.isdir(each) if path.endswith("/") else os.path.lexists(each))]


def surely_finds(path: str, start: str) -> bool:
    """Does every shell find something by it? Only of `*` and `?` they all think the same. It is asked after
    `matching`, which says that there is not too much to look at."""
    return re.search(r"[\[#^~]", path) is None and any(iglob(path, root_dir=start))


def _entries(folder: str, looks: Looks) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(looks.left + 1), entries, strict=False)]
    except OSError:
        names = []
    looks.left -= 1 + len(names)
    return names


def name_pattern(pattern: str) -> re.Pattern[str]:
    """What a pattern of `find -name` may mean, at most. A backslash stands for no letter of the name."""
    return _like(pattern.replace("\\", "*"))


def _like(step: str) -> re.Pattern[str]:
    # To zsh, with an option that many set: `x#` is any number of x, `^x` anything but x.
    loose = re.sub(r".?#+|\^.*", "*", _BRACKETS.sub("*", step))
    return re.compile("".join(_letters(loose)), re.DOTALL | re.IGNORECASE)


def _letters(step: str) -> Iterable[str]:
    for letter in step:
        yield ".*" if letter in "*[]" else "." if letter == "?" else re.escape(letter)
