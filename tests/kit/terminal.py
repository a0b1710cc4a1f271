"""Terminals a test owns: a pane in a private tmux server (which the package brings), or a plain pty.

The rule it keeps: nothing is reached that the test did not start; both are ended when the test ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kit.poll import PATIENCE_S
from yourcall.live_check.terminal import Pane, Tmux, alive, end, settled, squeezed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Pane", "Pty", "Ptys", "Terminal", "Tmux", "alive", "end", "squeezed"]

KEYS = {
    "Enter": "\r", "Escape": "\x1b", "Tab": "\t", "BSpace": "\x7f", "Space": " ",
    "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
    "C-c": "\x03", "C-d": "\x04", "C-o": "\x0f", "C-u": "\x15",
}  # fmt: skip
# The first program takes the pty as its controlling terminal and becomes the second: the pid stays.
TAKE_TERMINAL = (
    "import fcntl, os, sys, termios;fcntl.ioctl(0, termios.TIOCSCTTY, 0);os.execv(sys.argv[1], sys.argv[1:])"
)
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|P[^\x1b]*\x1b\\|[ -/]*[0-~])")


class Terminal(Protocol):
    """What a driver of an agent needs from a pane or a pty."""

    pid: int

    def key(self, *names: str) -> None: ...
    def text(self, words: str) -> None: ...
    def shows(self, words: str) -> bool: ...
    def settle(self, quiet: float = 0.2, timeout: float = PATIENCE_S) -> str: ...


class Ptys:
    """Plain ptys, all ended together; used where a `Tmux` is."""

    def __init__(self) -> None:
        self.ptys: list[Pty] = []

    def __enter__(self) -> Ptys:
        return self

    def __exit__(self, *_: object) -> None:
        for pty in self.ptys:
            pty.close()

    def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int = 120, rows: int = 40
    ) -> Pty:
        pty = Pty(command, cwd=cwd, env=env, cols=cols, rows=rows)
        self.ptys.append(pty)
        return pty


class Pty:
    """A program on a plain pseudo-terminal; what it writes is read all the time and kept as raw bytes."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int = 120, rows: int = 40
    ) -> None:
        self._master, slave = os.openpty()
        self.tty = os.ttyname(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        program = shutil.which(command[0]) or command[0]
        self._process = subprocess.Popen(
            [sys.executable, "-ISc", TAKE_TERMINAL, program, *command[1:]],
            cwd=cwd, env=dict(env), stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.pid = self._process.pid
        self._raw = bytearray()
        self._wake, self._woken = os.pipe()
        self._reader = threading.Thread(target=self._read, name="pty-reader")
        self._reader.start()

    def close(self) -> None:
        end(self.pid, reap=self._process)
        os.close(self._woken)  # wakes the reader also when a grandchild keeps the terminal open
        self._reader.join()
        os.close(self._wake)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._wake], [], [])
            if self._master not in ready:
                return
            try:
                self._raw += os.read(self._master, 65536)
            except OSError:  # EIO: the last one who had the terminal open is gone
                return

    @property
    def raw(self) -> bytes:
        return bytes(self._raw)

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def seen(self, since: int = 0) -> str:
        """Everything written since that byte, without escape sequences and white space (not a screen!)."""
        return squeezed(ESCAPES.sub("", self.raw[since:].decode("utf-8", "replace")))

    def shows(self, words: str) -> bool:
        return squeezed(words) in self.seen()

    def key(self, *names: str) -> None:
        for name in names:
            os.write(self._master, KEYS.get(name, name).encode())

    def text(self, words: str) -> None:
        os.write(self._master, words.encode())

    def send(self, data: bytes) -> None:
        """Type these very bytes, however long the program takes to read them."""
        while data:
            data = data[os.write(self._master, data) :]

    def paste(self, words: str) -> None:
        os.write(self._master, f"\x1b[200~{words}\x1b[201~".encode())

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    @property
    def settings(self) -> list[object]:
        """How the terminal is set: echo, lines, signals."""
        return termios.tcgetattr(self._master)

    def hang_up(self) -> None:
        """Close the terminal itself, as a closed window does; the program is not ended by us."""
        os.write(self._woken, b"x")
        self._reader.join()
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)

    def settle(self, quiet: float = 0.2, timeout: float = PATIENCE_S) -> str:
        """Wait until nothing was written for `quiet` seconds."""
        settled(lambda: len(self._raw), quiet, timeout)
        return self.seen()
