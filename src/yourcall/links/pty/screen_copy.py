"""A second, invisible terminal that is told all that the person's is told, so that the screen can be read.

It is a pane of a private tmux, with a program in it that only repeats: tmux draws what an agent's terminal draws,
and is asked for it like any other pane. What it would reply to the agent's questions is thrown away.

Rule: it sees every byte in order, or it is closed. It may be slower for a while, but nothing waits long for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import termios
import time
from pathlib import Path

MOST = 32 << 20  # what may wait for tmux, which draws 20 MB a second; beyond this the output takes its pace
HANGS_S = 2.0  # so long may it take nothing at all before it is given up
PIPE = 1 << 20
PART = 1 << 18  # so much is offered to the pipe at a time; it takes what was read of it since
BEGINS_S = 2.0
RESIZED_S = 0.5  # tmux takes 5 ms; a program is told of its new size at the latest then

# Repeats a pipe on the pane. Replies of the pane's terminal are read, or they would pile up in tmux.
_REPEATS = 'stty raw -echo; exec 3<&0; cat <&3 >/dev/null & cat "$1"; kill $!'


class ScreenCopy:
    def __init__(self, folder: Path, name: str, columns: int, rows: int) -> None:
        """Begins to draw; what is told before it is ready waits in the pipe."""
        self._socket, self._pipe = folder / f"{name}.tmux", folder / f"{name}.fifo"
        self._tmux = shutil.which("tmux") or ""
        self._waits = bytearray()
        self._moved_at = time.monotonic()
        self._resizing: subprocess.Popen[bytes] | None = None
        self._resized_by = 0.0
        self.fd = -1
        if not self._tmux:
            return
        os.mkfifo(self._pipe, 0o600)
        # For reading too: opening it must not wait for the other side, nor break when that side leaves.
        self.fd = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, PIPE)
        self._begin = self._run(
            "start-server", ";", "set-option", "-g", "history-limit", "0", ";",
            "set-option", "-g", "status", "off", ";",
            "new-session", "-d", "-s", "shadow", "-x", str(columns), "-y", str(rows),
            "/bin/sh", "-c", _REPEATS, "sh", str(self._pipe), ";",
            # Not before there is a window: tmux 3.3 falls over that.
            "set-option", "-g", "window-size", "manual",
        )  # fmt: skip

    @property
    def late(self) -> bool:
        """So much waits that the output must take its pace."""
        return len(self._waits) > MOST

    @property
    def waits(self) -> bool:
        return bool(self._waits)

    @property
    def behind(self) -> bool:
        """It does not show yet what the person sees: a key that it led to might be for another screen."""
        if self.fd < 0 or self._waits or not self.resized:
            return True
        try:
            return fcntl.ioctl(self.fd, termios.FIONREAD, bytes(4)) != bytes(4)
        except OSError:
            return True

    def told(self, data: bytes) -> None:
        if self.fd < 0:
            return
        if not self._waits:
            data = data[self._write(data) :]
            self._moved_at = time.monotonic()
        self._waits += data

    def go_on(self) -> None:
        """It can take more."""
        taken = self._write(bytes(memoryview(self._waits)[:PART]))
        if taken:
            del self._waits[:taken]
            self._moved_at = time.monotonic()

    def look_after(self) -> None:
        """Now and then: one that takes nothing any more is given up."""
        if self.fd >= 0 and self._waits and time.monotonic() - self._moved_at > HANGS_S:
            self.close()

    # --- another size ---------------------------------------------------------------------------------------

    def resize(self, columns: int, rows: int) -> None:
        """Begin to take another size; `resized` says when the program may be told, which then draws anew."""
        if self.fd < 0:
            return
        size = ("-x", str(columns), "-y", str(rows))
        self._resizing = self._run("resize-window", "-t", "=shadow:", *size)
        self._resized_by = time.monotonic() + RESIZED_S

    @property
    def resized(self) -> bool:
        going = self._resizing is not None and self._resizing.poll() is None
        if going and time.monotonic() < self._resized_by:
            return False
        self._resizing = None
        return True

    def close(self) -> None:
        """The pipe ends, and with it the pane and the server."""
        self._waits.clear()
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._begin.wait(BEGINS_S)  # one that is just beginning would make its socket after us
        for path in (self._pipe, self._socket):
            path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close()
            return 0

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        env = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return subprocess.Popen(
            [self._tmux, "-u", "-S", str(self._socket), "-f", "/dev/null", *words],
            env={**env, "TERM": "dumb", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
