"""Which files of secrets a search opens, below the folders that it is told.

Rule: a file counts as left out only if that is sure: it begins with a dot, or a plain line of an ignore file names
it, and no line of any ignore file around it may bring it back. Links are not followed, as the search does not
follow them. What git keeps for itself has names of its own.
"""

from __future__ import annotations

import os
import re
import stat
import time
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourcall.daemon.rules.patterns import Looks, name_pattern
from yourcall.rules.effects.known_files import secrets_in
from yourcall.rules.effects.searches import (
    HIDDEN_OUT,
    IGNORED_OUT,
    KNOWN_OUT,
    SEARCH_MARKS,
    SKIPPED_FILE,
    SKIPPED_FOLDER,
)

# Letters of an ignore file; longer ones are nobody's.
MOST_LINES = 20_000
# Entries that one decision reads anew where a search leaves out what is ignored, so that a project of common size
# is looked at as a whole; a folder that did not change since counts as one.
MOST_SEARCHED = 6_000
# Folders whose entries are kept in mind.
MOST_KEPT = 20_000
# Of git's index, which is looked at only where a file of secrets would be staged.
MOST_INDEX = 30_000_000
# A folder that changed a moment ago may change again within the same tick of the clock.
SETTLED_NS = 2_000_000_000

_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_MARKS = frozenset((".git", *_IGNORE_FILES))
# What every program reads in the same way: `secrets/`, `/config/master.key`, `*.pem`, `**/node_modules`.
_SURE = re.compile(r"(?:\*\*/)?/?[\w.@+,=%-][\w.@+,=%*/ -]*|(?:\*\*/)?/?\*[\w.@+,=%-][\w.@+,=%*/ -]*", re.ASCII)


class _Listing(Struct, frozen=True):
    """Of a folder's entries those that matter: files of secrets, folders, ignore files and `.git`."""

    secrets: tuple[str, ...]
    folders: tuple[str, ...]
    marks: frozenset[str]
    entries: int


class _Lines(Struct, frozen=True):
    """An ignore file: names that it surely ignores, of anything and of folders only, at any depth or from where it
    lies; and names that it may bring back."""

    names: re.Pattern[str] | None = None
    folders: re.Pattern[str] | None = None
    here: re.Pattern[str] | None = None
    folders_here: re.Pattern[str] | None = None
    lifted: tuple[re.Pattern[str], ...] = ()


class _Ignored(Struct, frozen=True):
    """What counts in a folder. `git`: what only counts within a repository; each with the folder it lies in, or
    None where that is above the search: rg then forgets what is meant from there."""

    git: tuple[tuple[str | None, _Lines], ...] = ()
    plain: tuple[tuple[str | None, _Lines], ...] = ()
    lifted: tuple[re.Pattern[str], ...] = ()
    in_git: bool = False

    def brings_back(self, name: str) -> bool:
        return any(each.fullmatch(name) for each in self.lifted)

    def leaves_out(self, folder: str, name: str, is_folder: bool) -> bool:
        every = (*self.plain, *self.git) if self.in_git else self.plain
        return any(_names(lines, at, folder, name, is_folder) for at, lines in every)


_listings: dict[str, tuple[tuple[int, ...], _Listing]] = {}


def secrets_below(folders: list[str], names: tuple[str, ...], looks: Looks) -> tuple[str, ...] | None:
    """The first file of secrets that a search limited to these names opens; None if there is too much to see."""
    wanted = [name_pattern(each) for each in names if not each.startswith(SEARCH_MARKS)]
    no_folder, no_file = _left_out(names, SKIPPED_FOLDER), _left_out(names, SKIPPED_FILE)
    staged = KNOWN_OUT in names
    no_hidden, no_ignored = HIDDEN_OUT in names, staged or IGNORED_OUT in names
    todo = [(folder, _around(folder, staged) if no_ignored else _Ignored(), False) for folder in folders]
    while todo:
        here, rules, back = todo.pop()
        listing = _listed(here, looks, looks.searched if no_ignored else looks)
        if listing is None:
            return None
        if no_ignored:
            rules = _within(rules, here, listing.marks, here, staged)
        for name in listing.secrets:
            if not (back or (no_ignored and rules.brings_back(name))) and (
                (no_hidden and name[0] == ".") or (no_ignored and rules.leaves_out(here, name, False))
            ):
                continue
            if (not wanted or any(each.fullmatch(name) for each in wanted)) and not any(
                each.fullmatch(name) for each in no_file
            ):
                if staged and git_has(here, name):
                    continue
                return (f"{here.rstrip('/')}/{name}",)
        for name in listing.folders:
            lifted = back or (no_ignored and rules.brings_back(name))
            out = (no_hidden and name[0] == ".") or (no_ignored and rules.leaves_out(here, name, True))
            if (lifted or not out) and not any(each.fullmatch(name) for each in no_folder):
                todo.append((f"{here.rstrip('/')}/{name}", rules, lifted))
    return ()


def _listed(folder: str, looks: Looks, left: Looks) -> _Listing | None:
    """None if it is too much. A folder that did not change is not read again."""
    try:
        seen = os.stat(folder)
    except OSError:
        return _NOTHING
    if not stat.S_ISDIR(seen.st_mode):
        return _NOTHING
    mark = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_dev, seen.st_ino)
    kept = _listings.get(folder)
    if kept is not None and kept[0] == mark:
        left.left -= 1 if left is not looks else 1 + kept[1].entries
        return kept[1] if left.left >= 0 else None
    listing = _read(folder, left)
    if listing is not None and time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) > SETTLED_NS:
        if len(_listings) >= MOST_KEPT:
            _listings.clear()
        _listings[folder] = (mark, listing)
    return listing


_NOTHING = _Listing((), (), frozenset(), 0)


def _read(folder: str, left: Looks) -> _Listing | None:
    secrets: list[str] = []
    folders: list[str] = []
    marks: set[str] = set()
    count = 0
    try:
        entries = os.scandir(folder)
    except OSError:
        return _NOTHING
    with entries:
        secret = secrets_in(folder)
        left.left -= 1
        for entry in entries:
            count += 1
            left.left -= 1
            if left.left < 0:
                return None
            name = entry.name
            if name in _MARKS:
                marks.add(name)
            if entry.is_dir(follow_symlinks=False):
                folders += [] if name == ".git" else [name]
            elif secret(name) and not entry.is_symlink():
                secrets.append(name)
    return _Listing(tuple(secrets), tuple(folders), frozenset(marks), count)


def _around(folder: str, staged: bool) -> _Ignored:
    """The ignore files in the folders around it."""
    rules = _Ignored()
    for here in reversed([*map(str, Path(folder).parents)]):
        marks = frozenset(name for name in _MARKS if os.path.lexists(os.path.join(here, name)))
        rules = _within(rules, here, marks, here if staged else None, staged)
    return rules


def _within(rules: _Ignored, folder: str, marks: frozenset[str], at: str | None, staged: bool) -> _Ignored:
    """The same with what lies in this folder. In a repository of its own, the outer one does not count. `staged`:
    it is git that looks, which obeys its own files only."""
    if ".git" in marks:
        rules = replace(rules, git=(), in_git=True)
        lines = _lines_of(os.path.join(folder, ".git/info/exclude"))
        rules = replace(rules, git=((at, lines),), lifted=(*rules.lifted, *lines.lifted))
    for name in _IGNORE_FILES[: 1 if staged else None]:
        if name in marks:
            lines = _lines_of(os.path.join(folder, name))
            rules = replace(rules, lifted=(*rules.lifted, *lines.lifted))
            if name == ".gitignore":
                rules = replace(rules, git=(*rules.git, (at, lines)))
            else:
                rules = replace(rules, plain=(*rules.plain, (at, lines)))
    return rules


def _names(lines: _Lines, at: str | None, folder: str, name: str, is_folder: bool) -> bool:
    if (lines.names and lines.names.fullmatch(name)) or (
        is_folder and lines.folders and lines.folders.fullmatch(name)
    ):
        return True
    if at is None or not (lines.here or lines.folders_here):
        return False
    path = f"{folder}/{name}"[len(at.rstrip("/")) + 1 :]
    return bool(
        (lines.here and lines.here.fullmatch(path))
        or (is_folder and lines.folders_here and lines.folders_here.fullmatch(path))
    )


def _lines_of(path: str) -> _Lines:
    text = text_of(path, MOST_LINES)
    if text is None:
        return _NO_FILE if not os.path.lexists(path) else _ANYTHING
    return _parsed(text)


_NO_FILE = _Lines()
_ANYTHING = _Lines(lifted=(re.compile(".*", re.DOTALL),))


@lru_cache(maxsize=512)
def _parsed(text: str) -> _Lines:
    names: list[str] = []
    folders: list[str] = []
    here: list[str] = []
    folders_here: list[str] = []
    lifted: list[str] = []
    # Not `splitlines`: other signs than these end no line to who reads the file.
    for line in re.split(r"\r?\n", text):
        plain = line.removeprefix("\ufeff")
        if plain.startswith("!"):
            lifted.append(plain[1:].strip().rstrip("/").rpartition("/")[2] or "*")
            continue
        sure = line.rstrip(" ")
        if not sure or not _SURE.fullmatch(sure) or "**" in sure.removeprefix("**/"):
            continue
        deep = sure.startswith("**/")
        path = sure.removeprefix("**/").rstrip("/")
        if deep and "/" in path:
            continue
        pattern = "[^/]*".join(map(re.escape, path.lstrip("/").split("*")))
        if "/" in path:
            (folders_here if sure.endswith("/") else here).append(pattern)
        else:
            (folders if sure.endswith("/") else names).append(pattern)
    return _Lines(
        _any_of(names), _any_of(folders), _any_of(here), _any_of(folders_here),
        tuple(name_pattern(each) for each in dict.fromkeys(lifted)),
    )  # fmt: skip


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns), re.DOTALL) if patterns else None


def repository_of(folder: str) -> str:
    """The folder with the repository that this one lies in; without one, itself."""
    around = (folder, *map(str, Path(folder).parents))
    return next((each for each in around if os.path.lexists(os.path.join(each, ".git"))), folder)


def git_has(folder: str, name: str) -> bool:
    """Is this file in the index of its repository?"""
    top = repository_of(folder)
    index = content_of(os.path.join(top, ".git/index"), MOST_INDEX)
    path = os.path.relpath(os.path.join(folder, name), top).encode(errors="surrogateescape")
    at = -1
    while index is not None and (at := index.find(path + b"\0", at + 1)) >= 4:
        # In front of an entry's path stands how long it is; with more flags, two bytes further on.
        lengths = (int.from_bytes(index[at - back : at - back + 2]) & 0xFFF for back in (2, 4))
        if len(path) in lengths:
            return True
    return False


def text_of(path: str, most: int) -> str | None:
    content = content_of(path, most)
    return None if content is None else content.decode(errors="replace")


def content_of(path: str, most: int) -> bytes | None:
    """What is in a file; None if it is too long, or no file: a pipe of that name would have us wait for ever."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = b""
        while len(content) <= most and (more := os.read(handle, most + 1 - len(content))):
            content += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) <= most else None


def _left_out(names: tuple[str, ...], mark: str) -> list[re.Pattern[str]]:
    """What is left out for sure: of a pattern's signs only `*` is believed."""
    given = [each.removeprefix(mark) for each in names if each.startswith(mark)]
    plain = [each for each in given if not re.search(r"[?\[\]\\]", each)]
    return [re.compile(".*".join(map(re.escape, each.split("*"))), re.DOTALL) for each in plain]
