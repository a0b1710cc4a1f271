"""The ground that rules stand on: which folder is the project, and where the paths of a request really lead.

Rule: links and `..` are followed before anything is compared; what cannot be followed is left out, and then counts
as unknown.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from yourcall.core.effects import NOWHERE, Facts, Part, Ref
from yourcall.core.rules import Scene, exactly, is_project
from yourcall.model import Prompt
from yourcall.rulebook.patterns import matching

# To follow one takes 20 µs, and an agent waits: a command that names more is for a person to read.
MOST_PATHS = 400

_ANCHORED = re.compile(r"(?:^|/)\./[^/]*[*?\[]")

# Entries of a folder that is copied into; to look at them takes two milliseconds.
MOST_LOOKS = 2_000

# What these mean depends on who asks.
_OURS = re.compile(r"//?(?:proc/(?:self|thread-self|\d+)/(?:cwd|root|fd|task|map_files)|dev/fd)(?:/|$)")

MARKS = (".git", ".yourcall", ".hg")


def project_of(cwd: str, home: str) -> str:
    """The folder that holds the project: the nearest with a mark, or this one. The home, or a folder around it, is
    no project: inside of it would be everything."""
    if not cwd.startswith("/") or "\0" in cwd:
        return ""
    here = os.path.realpath(cwd)
    found = here
    for folder in (here, *map(str, Path(here).parents)):
        if _around(folder, home):
            break
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS):
            found = folder
            break
    return "" if _around(found, home) else found


@lru_cache(maxsize=256)
def around(root: str, home: str) -> tuple[str, ...]:
    """The project, and every folder around it that could be one: a repository within another, a submodule, does
    not leave the rules of the outer one, which can only restrict."""
    folders = (root, *map(str, Path(root).parents))
    return tuple(folder for folder in folders if not _around(folder, home))


def _around(folder: str, home: str) -> bool:
    return folder == "/" or home == folder or home.startswith(folder + "/")


def facts_of(parts: Iterable[Part], cwd: str, root: str, home: str) -> Facts:
    """Every path that is named, followed to its end."""
    refs = {ref for part in parts for ref in part.refs if ref.path is not None}
    resolved: dict[Ref, tuple[str, ...]] = {}
    named: dict[Ref, tuple[str, ...]] = {}
    starts = _starts(cwd)
    left = MOST_PATHS
    for ref in sorted(
        refs, key=lambda ref: (ref.path or "", ref.use, ref.glob)
    ):  # always the same ones, if not all
        found = _followed(ref, cwd, home) if left > 0 else ()
        left -= len(found)
        if found:
            resolved[ref] = found
        named[ref] = tuple(_called(ref, each, home) for each in starts)
    return Facts(root, home, resolved, named)


def _starts(cwd: str) -> tuple[str, ...]:
    try:
        return tuple({cwd, os.path.realpath(cwd)})
    except (OSError, ValueError):
        return ()


def _called(ref: Ref, start: str, home: str) -> str:
    """The path from the root, as it is called."""
    path = ref.path or ""
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(start, path))


def _followed(ref: Ref, cwd: str, home: str) -> tuple[str, ...]:
    path = ref.path or ""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    whole = os.path.join(cwd, path)
    if not whole.startswith("/"):
        return ()  # nobody says which folder it is in
    if ref.use == "remote" and any(os.path.lexists(each) for each in (whole, whole.rstrip("/") + ".git")):
        return ()
    plain = os.path.normpath(whole)
    if plain in NOWHERE or plain == "/dev/stdin":
        return (plain,)  # where our own output goes is not where a command's does
    if _OURS.match(os.path.normpath(whole)):
        return ()
    try:
        # As it stands it may be a file too: a quoted star is only a star.
        ends = [os.path.realpath(whole)]
        if ".." in path:
            # `cd link/..` leads back to where the link lies, `cat link/../x` to where it points: both are meant.
            ends.append(os.path.realpath(os.path.normpath(whole)))
        if ref.use == "repo" and any(_odd_repository(end) for end in ends):
            return ()
        if ref.glob:
            found = matching(path, cwd)
            # A file named like an option is one to the command that gets it (`*/x`: `-o/x`); `./*` is none.
            if found is None or (not _ANCHORED.search(path) and any("/-" in each[len(cwd) :] for each in found)):
                return ()
            ends += [os.path.realpath(each) for each in found]
            if ref.use == "write":  # a link is copied under its own name
                pairs = [os.path.split(each) for each in found]
                ends += [os.path.join(os.path.realpath(folder), name) for folder, name in pairs]
        if ref.use == "merge" and any(_holds_links(end) for end in ends):
            return ()
    except (OSError, ValueError):
        return ()
    return tuple(dict.fromkeys(ends))


def _holds_links(folder: str) -> bool:
    """Is there a link anywhere below, or too much to look at?"""
    left = MOST_LOOKS
    todo = [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as found:
                for entry in found:
                    left -= 1
                    if entry.is_symlink() or left < 0:
                        return True
                    if entry.is_dir():
                        todo.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return False


def _odd_repository(folder: str) -> bool:
    """Would git, from here, find a folder that is itself a repository (HEAD, objects, refs)? Such a one can come
    with a project, or be written by anybody, and its settings name programs that git runs."""
    for here in (folder, *map(str, Path(folder).parents)):
        if os.path.lexists(os.path.join(here, ".git")):
            return False
        if all(os.path.exists(os.path.join(here, name)) for name in ("HEAD", "objects", "refs")):
            return True
    return False


@cache
def machine() -> str:
    return socket.gethostname()


def called(patterns: Iterable[str], folders: tuple[str, ...], home: str) -> frozenset[str]:
    """Which of what rules write for a project means one of these folders by way of a link; looked up each time,
    for a link may lead elsewhere by now."""
    found: set[str] = set()
    marks = {_mark(folder) for folder in folders} - {None} if patterns else set[object]()
    for pattern in patterns:
        written = home + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern
        plain = re.match(r"[^*?\[]*", written)
        folder = plain[0] if plain else ""
        if "\0" in written:
            continue  # no folder is called so
        if folder == written:
            same = _mark(written) in marks
        else:  # `~/code/*`: the folder in front of the star may be a link
            folder = folder[: folder.rfind("/") + 1]
            led = exactly(os.path.realpath(folder)) + "/" + written[len(folder) :] if folder else written
            same = any(is_project(led, each) for each in folders)
        if same:
            found.add(pattern)
    return frozenset(found)


def _mark(folder: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(folder)
    except (OSError, ValueError):
        return None
    return seen.st_dev, seen.st_ino


def scene_of(
    prompt: Prompt,
    root: str,
    home: str,
    at: float,
    used: dict[str, int],
    started_in: str = "",
    projects: Iterable[str] = (),
) -> Scene:
    try:
        here = os.path.realpath(prompt.cwd)
    except (OSError, ValueError):
        here = ""  # no folder has such a name, so no rule is about it
    local = time.localtime(at)
    projects = tuple(projects)
    within = _within(root, started_in or here) if projects else ()
    return Scene(
        agent=prompt.agent,
        root=root,
        home=home,
        machine=machine(),
        mode=prompt.permission_mode,
        subagent=bool(prompt.subagent),
        at=at,
        minute=local.tm_hour * 60 + local.tm_min,
        day=local.tm_wday,
        used=used,
        away=bool(started_in) and here not in (root, os.path.realpath(started_in)),
        called=called(projects, (root,) if root else (), home),
        within=within,
        called_within=called(projects, within, home),
    )


def _within(root: str, started_in: str) -> tuple[str, ...]:
    """The folder a session was started in, its project, and every folder around those."""
    first = [os.path.realpath(each) for each in (started_in, root) if each]
    return tuple(dict.fromkeys(str(each) for folder in first for each in (folder, *Path(folder).parents)))
