"""Agents in a private tmux of ours: they have a terminal, and outlive the one they were started from.

Rule: a server of its own for each: it has just that environment, and ends with the agent. Without the person's own
configuration: a plugin that restores sessions would restore them in here.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from yourcall.links import processes
from yourcall.model.prompts import Refused
from yourcall.system.sockets import made_private, short_folder

ENDS_AT_ONCE_S = 1.0
ENDS_S = 3.0  # an agent is gone a moment after its terminal was closed
ANSWERS_S = 10.0  # tmux does within milliseconds, unless it is stopped, or the machine stands still
SILENT = 124  # how a question to tmux ended that got no answer: it may be carried out later
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
COLUMNS, ROWS = 200, 50

# So that it looks and feels like the terminal around it: colours, the mouse, keys with Shift, Escape at once.
COMFORT = (
    ("set-option", "-g", "mouse", "on"),
    ("set-option", "-s", "escape-time", "10"),
    ("set-option", "-s", "extended-keys", "on"),
    ("set-option", "-as", "terminal-features", ",*:RGB"),
    ("set-option", "-g", "status-left-length", "40"),
    ("set-option", "-g", "status-right", "Ctrl-B D leaves; it goes on"),
)


class PrivateSession(Struct, frozen=True):
    name: str
    socket: Path
    pane: str


def sockets(home: Path) -> Path | Refused:
    """Where the sockets are."""
    folder = short_folder(home, "tmux")
    wrong = made_private(folder)
    return Refused(wrong) if wrong else folder


def new_name(program: str) -> str:
    return f"{Path(program).name[:20]}-{''.join(secrets.choice(LETTERS) for _ in range(4))}"


def start(home: Path, argv: Sequence[str], env: Mapping[str, str], folder: Path) -> PrivateSession | Refused:
    """Start it; refused if it does not stay."""
    if shutil.which("tmux") is None:
        return Refused("tmux isn't installed. Install it, or run the agent in this terminal.")
    place = sockets(home)
    if isinstance(place, Refused):
        return place
    name = new_name(argv[0])
    socket = place / name
    own = {key: value for key, value in env.items() if key not in ("TMUX", "TMUX_PANE")}
    made = tmux(
        socket, "new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", str(COLUMNS), "-y", str(ROWS),
        "-c", str(folder), "--", *argv, env=own,
    )  # fmt: skip
    if made.returncode != 0:
        return Refused(f"tmux could not start it: {made.stderr.strip()}")
    for words in COMFORT:
        tmux(socket, *words)  # what an older tmux does not know, it does without
    deadline = time.monotonic() + ENDS_AT_ONCE_S
    while time.monotonic() < deadline:
        if not lives(socket):
            return Refused(f"{argv[0]} ended at once. To see why, run it in this terminal.")
        time.sleep(0.1)
    return PrivateSession(name, socket, made.stdout.strip())


def lives(socket: Path) -> bool:
    """One that says nothing is there all the same."""
    return tmux(socket, "has-session").returncode in (0, SILENT)


def named(home: Path, name: str) -> Path | None:
    """The socket of one that lives."""
    if not name or "/" in name or name.startswith("."):
        return None
    socket = short_folder(home, "tmux") / name
    if not socket.is_socket() or isinstance(sockets(home), Refused):
        return None
    return socket if lives(socket) else None


def end(socket: Path) -> Refused | None:
    """End it and what runs in it, also what does not heed that its terminal is closed."""
    listed = tmux(socket, "list-panes", "-a", "-F", "#{pane_pid}")
    if listed.returncode == SILENT:
        return Refused("Its tmux does not answer: nothing was ended. See to it at the machine.")
    runs = {pid: processes.started(pid) for pid in map(int, listed.stdout.split())}
    tmux(socket, "kill-server")
    socket.unlink(missing_ok=True)  # its server may leave it
    asked_at = time.monotonic()
    while left := [pid for pid, began in runs.items() if began and not processes.gone(pid, began)]:
        if time.monotonic() > asked_at + 2 * ENDS_S:
            return Refused("It could not be ended. See to it at the machine.")
        if time.monotonic() > asked_at + ENDS_S:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)  # it leads the group of its terminal
        time.sleep(0.02)
    return None


def tmux(socket: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    # For tmux a word that ends with a semicolon ends a command, unless that is escaped.
    plain = [f"{word[:-1]}\\;" if word.endswith(";") else word for word in words]
    argv = ["tmux", "-S", str(socket), "-f", "/dev/null", *plain]
    try:
        return subprocess.run(
            argv,
            env=dict(env) if env is not None else None,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=ANSWERS_S,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, SILENT, "", "it does not answer")
