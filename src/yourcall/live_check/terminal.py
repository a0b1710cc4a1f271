"""A terminal of one's own: a pane in a private tmux server, with an empty configuration and a clean environment.

The rule it keeps: nothing is reached that was not started here. A tmux server is found by its own socket, a
process by its own pid, and both are ended at the end.

    with Tmux() as tmux:
        pane = tmux.start(["claude"], cwd=project, env={...})
        pane.wait_until(lambda screen: "Do you want to proceed?" in screen)
        pane.settle()
        pane.key("1")
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from yourcall.live_check.waiting import PATIENCE_S, NotInTime, until


def squeezed(text: str) -> str:
    """Words without white space: a narrow screen wraps them, a pty shows moves of the cursor instead."""
    return "".join(text.split())


class Tmux:
    """A tmux server of its own, with an empty configuration and a clean environment."""

    def __init__(self, folder: Path | None = None) -> None:
        # Short: a socket path has about 100 bytes.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="yc-tmux-"))
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

    def text(self, wording: str) -> None:
        self.tmux.run("send-keys", "-t", self.id, "-l", "--", wording)

    def paste(self, text: str) -> None:
        name = uuid.uuid4().hex
        self.tmux.run("load-buffer", "-b", name, "-", typed=text.encode())
        self.tmux.run("paste-buffer", "-p", "-r", "-d", "-b", name, "-t", self.id)

    def shows(self, text: str) -> bool:
        return squeezed(text) in squeezed(self.screen())

    def wait_until(self, predicate: Callable[[str], object], timeout: float = PATIENCE_S) -> str:
        """The first screen for which the predicate holds."""

        def look() -> str:
            screen = self.screen()
            return screen if predicate(screen) else ""

        return until(look, timeout, every=0.03, show=self.screen)

    def settle(self, quiet: float = 0.2, timeout: float = PATIENCE_S) -> str:
        """The screen once it has not changed for `quiet` seconds."""
        return settled(self.screen, quiet, timeout)


def settled(look: Callable[[], object], quiet: float, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    seen, since = look(), time.monotonic()
    while time.monotonic() - since < quiet:
        if time.monotonic() > deadline:
            raise NotInTime(f"did not settle within {timeout:g} s:\n{seen}")
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
