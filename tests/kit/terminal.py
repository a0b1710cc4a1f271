"""Terminals a test owns: a pane in a private tmux server, or a plain pty.

The rule it keeps: nothing is reached that the test did not start. A tmux server is found by its own socket, a
process by its own pid, and both are ended when the test ends.

    with Tmux() as tmux:
        pane = tmux.start(["claude"], cwd=project, env={...})
        pane.wait_until(lambda screen: "Do you want to proceed?" in screen)
        pane.settle()
        pane.key("1")
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kit.poll import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def squeezed(words: str) -> str:
    """Words without white space: a narrow screen wraps them, a pty shows moves of the cursor instead."""
    return "".join(words.split())


class Tmux:
    """A tmux server of its own, with an empty configuration and a clean environment."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="yc-tmux-"))  # short: a socket path has about 100 bytes
        self.socket = self.folder / "s"
        self.panes: list[Pane] = []

    def __enter__(self) -> Tmux:
        return self

    def __exit__(self, *_: object) -> None:
        for pane in self.panes:
            end(pane.pid)
        self.run("kill-server", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *arguments: str, check: bool = True, typed: bytes | None = None) -> str:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder), "LANG": "C.UTF-8"}
        command = ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *arguments]
        done = subprocess.run(command, input=typed, env=env, capture_output=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"tmux {arguments}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", "replace")

    def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], cols: int = 120, rows: int = 40
    ) -> Pane:
        """Run a command in a new session, with exactly this environment plus TMUX and TMUX_PANE."""
        clean = " ".join(shlex.quote(f"{name}={value}") for name, value in env.items())
        line = f'exec env -i TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" {clean} {shlex.join(command)}'
        name = f"t{len(self.panes)}"
        made = self.run(
            "new-session", "-d", "-s", name, "-x", str(cols), "-y", str(rows), "-c", str(cwd),
            "-P", "-F", "#{pane_id} #{pane_pid}", "sh", "-c", line,
            ";", "set-option", "-t", name, "remain-on-exit", "on",
        ).split()  # fmt: skip
        pane = Pane(self, made[0], int(made[1]))
        self.panes.append(pane)
        return pane


class Pane:
    """One tmux pane; `pid` is the started program itself."""

    def __init__(self, tmux: Tmux, pane_id: str, pid: int) -> None:
        self.tmux, self.id, self.pid = tmux, pane_id, pid

    def screen(self) -> str:
        return self.tmux.run("capture-pane", "-p", "-t", self.id)

    def ansi(self) -> str:
        return self.tmux.run("capture-pane", "-e", "-p", "-t", self.id)

    def variable(self, name: str) -> str:
        return self.tmux.run("display-message", "-p", "-t", self.id, f"#{{{name}}}").strip()

    def key(self, *names: str) -> None:
        self.tmux.run("send-keys", "-t", self.id, *names)

    def text(self, words: str) -> None:
        self.tmux.run("send-keys", "-t", self.id, "-l", "--", words)

    def paste(self, words: str) -> None:
        name = uuid.uuid4().hex
        self.tmux.run("load-buffer", "-b", name, "-", typed=words.encode())
        self.tmux.run("paste-buffer", "-p", "-r", "-d", "-b", name, "-t", self.id)

    def shows(self, words: str) -> bool:
        return squeezed(words) in squeezed(self.screen())

    def wait_until(self, predicate: Callable[[str], object], timeout: float = PATIENCE_S) -> str:
        """The first screen for which the predicate holds."""

        def look() -> str:
            screen = self.screen()
            return screen if predicate(screen) else ""

        return until(look, timeout, every=0.03, show=self.screen)

    def settle(self, quiet: float = 0.2, timeout: float = PATIENCE_S) -> str:
        """The screen once it has not changed for `quiet` seconds."""
        return _settled(self.screen, quiet, timeout)


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
        _settled(lambda: len(self._raw), quiet, timeout)
        return self.seen()


def _settled(look: Callable[[], object], quiet: float, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    seen, since = look(), time.monotonic()
    while time.monotonic() - since < quiet:
        if time.monotonic() > deadline:
            raise AssertionError(f"did not settle within {timeout:g} s:\n{seen}")
        time.sleep(0.02)
        if (now := look()) != seen:
            seen, since = now, time.monotonic()
    return str(seen)


def alive(pid: int) -> bool:
    """Is this process there and not a zombie?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return not stat.parent.parent.is_dir()  # no /proc on this system: the signal's word counts


def end(pid: int, reap: subprocess.Popen[bytes] | None = None) -> None:
    """End a program that the test started; kindly first, so that it can end its own children."""
    gone = (lambda: reap.poll() is not None) if reap else (lambda: not alive(pid))
    for number, patience in ((signal.SIGTERM, 4.0), (signal.SIGKILL, 4.0)):
        if gone():
            return
        try:
            os.kill(pid, number)
            until(gone, patience)
        except (ProcessLookupError, AssertionError):
            continue
