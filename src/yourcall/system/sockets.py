"""Unix sockets in yourcall's home, whatever its depth.

Rule: a socket is bound and reached by its relative name from inside the home (the system limits the path of a
socket to about 100 bytes), and nobody but its owner may touch it.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from yourcall.system.connections import BACKLOG

# To come back to a folder it need not be readable; where the system knows no such handle, it must be.
_WAY_BACK = getattr(os, "O_PATH", os.O_RDONLY)
LONGEST = 100  # a Unix socket's path has room for some 104 bytes


def short_folder(home: Path, name: str) -> Path:
    """Where programs that know no relative names put their sockets: in the home or, if its path is too long for
    that, in a folder of our own in /tmp."""
    folder = home / name
    if len(os.fsencode(folder)) + 30 <= LONGEST:
        return folder
    return Path("/tmp") / f"yourcall-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]}"  # noqa: S108


def made_private(folder: Path) -> str:
    """Make this folder for ourselves alone; what is wrong with it, if something is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        return f"{folder} can be used by others. Remove it, and try again."
    return ""


@contextmanager
def inside(folder: Path) -> Generator[None]:
    before = os.open(".", _WAY_BACK)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def bind_unix(home: Path, name: str) -> socket.socket:
    """A fresh listening socket, 0600 from the first moment."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with inside(home):
        Path(name).unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            sock.bind(name)
        finally:
            os.umask(mask)
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


def reach_unix(home: Path, name: str, timeout: float | None = None) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    try:
        with inside(home):
            sock.connect(name)
    except BaseException:
        sock.close()
        raise
    return sock
