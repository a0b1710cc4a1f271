"""The door of a program that runs in a pseudo-terminal of ours: a Unix socket, asked in lines of JSON.

Rule: only the same user comes in. Whoever asks nonsense, or does not listen, is shown out; nobody waits for them.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from yourcall.system.connections import Crowd, Guest, peer_of

LARGEST = 4 << 20  # a pasted text; a file is handed over as a file
MOST = 16  # the daemon needs one; of those who ask nothing, the oldest makes room


class Ask(Struct, frozen=True):
    """`keys`: hand these characters to the program. `paste`: the same, marked as a paste if it asked for that.
    `by`: not later than this (on the machine's own clock): a terminal that was stopped must not press old keys."""

    do: Literal["about", "keys", "paste"]
    text: str = ""
    by: float = 0.0


class About(Struct, frozen=True):
    """What runs there; `typed_at`: when somebody last typed at its terminal; `seen`: its screen can be read."""

    name: str
    agent: str
    cwd: str
    started_at: float
    pid: int = 0
    typed_at: float = 0.0
    seen: bool = False


class Written(Struct, frozen=True):
    """What became of the keys: nothing of them was written if there is a reason."""

    why: str = ""


Answer = Callable[[About | Written], None]

_ask = msgspec.json.Decoder(Ask)


class ControlSocket:
    """`asked` is called with each question, and with the way to answer it, at once or later."""

    def __init__(self, path: Path, asked: Callable[[Ask, Answer], None]) -> None:
        self._path, self._asked = path, asked
        self._guests: dict[int, _Client] = {}
        self._crowd = Crowd(MOST)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            self._listening.bind(str(path))
        finally:
            os.umask(mask)
        self._listening.listen(8)
        self._listening.setblocking(False)

    def watched(self) -> list[tuple[int, int]]:
        fds = [self._listening.fileno(), *self._guests]
        return [(fd, select.POLLIN) for fd in fds if fd >= 0]

    def happened(self, fd: int) -> None:
        if fd == self._listening.fileno():
            with contextlib.suppress(OSError):
                self._let_in(self._listening.accept()[0])
            return
        guest = self._guests.get(fd)
        if guest is None:
            return
        try:
            lines = guest.heard()
            for line in lines:
                ask = _ask.decode(line)
                self._crowd.know(guest.place)
                self._asked(ask, guest.say)
        except (OSError, ValueError, RecursionError):
            self._show_out(fd)

    def _let_in(self, sock: socket.socket) -> None:
        if peer_uid(sock) != os.getuid():
            sock.close()
            return
        sock.setblocking(False)
        # Room is made before it has a place among the guests, and not by itself: then it is the one to go.
        place = self._crowd.enter(peer_of(sock), partial(self._show_out, sock.fileno()))
        if place not in self._crowd:
            sock.close()
            return
        self._guests[sock.fileno()] = _Client(sock, place)

    def _show_out(self, fd: int) -> None:
        guest = self._guests.pop(fd, None)
        if guest is not None:
            self._crowd.leave(guest.place)
            guest.sock.close()

    def close(self) -> None:
        for fd in list(self._guests):
            self._show_out(fd)
        self._listening.close()
        self._path.unlink(missing_ok=True)


class _Client:
    def __init__(self, sock: socket.socket, place: Guest) -> None:
        self.sock, self.place = sock, place
        self._rest = b""

    def heard(self) -> list[bytes]:
        data = self.sock.recv(1 << 16)
        if not data or len(self._rest) > LARGEST:
            raise ConnectionResetError
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines

    def say(self, answer: About | Written) -> None:
        # A reply is a line of some hundred bytes: one that does not fit was not read for thousands of questions.
        with contextlib.suppress(OSError):
            self.sock.send(msgspec.json.encode(answer) + b"\n")


def peer_uid(sock: socket.socket) -> int:
    """Who is at the other end, from the kernel; -1 where it cannot tell."""
    with contextlib.suppress(OSError, AttributeError, struct.error):
        if sys.platform == "darwin":
            return struct.unpack("II", sock.getsockopt(0, 1, 8))[1]  # SOL_LOCAL, LOCAL_PEERCRED: version, uid
        return struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    return -1
