"""Where a session works, in the words people use: this machine's name, and the branch that is checked out.

Rule: a look, never a program: `git` is not run, nothing but one small file is read, and what is odd says nothing.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from functools import cache

from yourcall.server.fleet.wire import HostRef

# A list of a thousand prompts asks a thousand times; a branch changes by hand.
FRESH_S = 5.0
MOST_KNOWN = 500
MOST_PARENTS = 40
_LARGEST = 4096
_HEAD = re.compile(r"ref: refs/heads/(\S+)|([0-9a-f]{7})[0-9a-f]{33,57}")

_known: dict[str, tuple[float, str]] = {}


class Here:
    """Which machine of a fleet this one is; None: it is in none. Said by the daemon as it joins or leaves one."""

    host: HostRef | None = None


def machine() -> str:
    """The name of this machine: in a fleet the one that it has there, else its own without its domain."""
    return Here.host.name if Here.host is not None else _hostname()


@cache
def _hostname() -> str:
    return socket.gethostname().partition(".")[0][:60]


def branch(cwd: str) -> str:
    """The branch checked out in this folder, or the first letters of the commit; empty if there is none."""
    now = time.monotonic()
    match = _known.get(cwd)
    if match is not None and now - match[0] < FRESH_S:
        return match[1]
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    text = _look(cwd)
    _known[cwd] = (now, text)
    return text


def _look(cwd: str) -> str:
    if not os.path.isabs(cwd) or "\0" in cwd:
        return ""
    folder = cwd
    for _ in range(MOST_PARENTS):
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return _head(os.path.join(place, "HEAD"))
        if os.path.isfile(place):  # a worktree, or a submodule: it says where its own folder is
            where = _small(place).removeprefix("gitdir: ").strip()
            return _head(os.path.join(folder, where, "HEAD")) if where else ""
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return ""


def _head(path: str) -> str:
    match = _HEAD.fullmatch(_small(path).strip())
    return (match[1] or match[2])[:120] if match else ""


def _small(path: str) -> str:
    """The beginning of a plain file. Whatever else it may be (a pipe would keep us waiting) is empty."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(fd, _LARGEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(fd).st_mode) else ""
        finally:
            os.close(fd)
    except (OSError, ValueError):  # a null in a path that a project's own file names
        return ""
