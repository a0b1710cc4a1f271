"""The ground that rules stand on: which folder is the project, and where the paths of a request really lead.

Rule: links and `..` are followed before anything is compared; what cannot be followed is left out, and then counts
as unknown.
"""

from __future__ import annotations

import glob
import os
import re
import socket
import time
from collections.abc import Iterable
from functools import cache
from itertools import islice
from pathlib import Path

from yourcall.core.effects import Facts, Part, Ref
from yourcall.core.rules import Scene
from yourcall.model import Prompt

# A pattern that matches more than this is not looked at one by one.
MOST_MATCHES = 500

_ANCHORED = re.compile(r"(?:^|/)\./[^/]*[*?\[]")

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


def _around(folder: str, home: str) -> bool:
    return folder == "/" or home == folder or home.startswith(folder + "/")


def facts_of(parts: Iterable[Part], cwd: str, root: str, home: str) -> Facts:
    """Every path that is named, followed to its end."""
    refs = {ref for part in parts for ref in part.refs if ref.path is not None}
    resolved = {ref: found for ref in refs if (found := _followed(ref, cwd, home))}
    return Facts(root, home, resolved)


def _followed(ref: Ref, cwd: str, home: str) -> tuple[str, ...]:
    path = ref.path or ""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    whole = os.path.join(cwd, path)
    try:
        # As it stands it may be a file too: a quoted star is only a star.
        ends = [os.path.realpath(whole)]
        if ".." in path:
            # `cd link/..` leads back to where the link lies, `cat link/../x` to where it points: both are meant.
            ends.append(os.path.realpath(os.path.normpath(whole)))
        if ref.glob:
            found = list(islice(glob.iglob(whole, include_hidden=True, recursive=False), MOST_MATCHES + 1))
            # A file named like an option is one to the command that gets it (`*/x`: `-o/x`); `./*` is none.
            options = not _ANCHORED.search(path) and any("/-" in each[len(cwd) :] for each in found)
            if len(found) > MOST_MATCHES or options:
                return ()
            ends += [os.path.realpath(each) for each in found]
    except (OSError, ValueError):
        return ()
    return tuple(dict.fromkeys(ends))


@cache
def machine() -> str:
    return socket.gethostname()


def scene_of(prompt: Prompt, root: str, home: str, at: float, used: dict[str, int]) -> Scene:
    local = time.localtime(at)
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
    )
