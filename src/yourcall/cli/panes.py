"""Where a person is in tmux, and how to bring them to another pane.

Rule: only the client that asked is moved, and only to a pane that still is the one it was taken for; nobody
else's focus, layout or options change.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourcall.cli.instance import Problem
from yourcall.cli.terminal.render import safe

How = Literal["switch", "link"]
PANE = re.compile(r"%\d{1,9}")
TOLD_MS = 3000  # long enough to read a line; a key press ends it earlier, and still goes to the pane
WAIT_S = 5.0  # a tmux server that does not answer in this time hangs; better to say so than to hang too


class Pane(Struct, frozen=True):
    """A pane, by the socket of its server and its id, which no other pane of that server ever gets."""

    server: str
    id: str


class Here(Struct, frozen=True):
    """The client that asked (empty: the one tmux finds by itself) and the pane it shows."""

    client: str
    pane: Pane


def here(client: str = "", pane: str = "") -> Here | None:
    """Where this command was called from; None outside tmux."""
    server = os.environ.get("TMUX", "").partition(",")[0]
    if not server:
        return None
    value = pane or os.environ.get("TMUX_PANE", "")
    if not PANE.fullmatch(value):
        value = tmux(server, "display-message", "-p", "#{pane_id}") or ""
    return Here(client or _client_at(server, value), Pane(os.path.realpath(server), value))


def _client_at(server: str, pane: str) -> str:
    """The person's client that shows this pane; of several, the one last typed in. Our own only watches."""
    text = tmux(
        server, "list-clients", "-F", "#{client_control_mode} #{client_activity} #{pane_id} #{client_name}"
    )
    rows = [line.split(" ", 3) for line in (text or "").splitlines()]
    theirs = [(int(at), name) for control, at, shown, name in rows if control == "0" and shown == pane]
    return max(theirs, default=(0, ""))[1]


def tell(client: str, message: str) -> None:
    """A line of our own in the client's status bar, for a few seconds. Never in a pane: tmux would open a page of
    its own over the dialog there, and take the person's keys. An agent's words don't belong in here."""
    server = os.environ.get("TMUX", "").partition(",")[0]
    plain = safe(message).replace("#", "##").replace("%", "%%")  # tmux would expand both
    tmux(server, "display-message", "-c", client, "-d", str(TOLD_MS), f"yourcall: {plain}")


def alive(pane: Pane, pid: int) -> bool:
    """Is this pane there, and does the process that it was taken for still run in it?"""
    if not PANE.fullmatch(pane.id):
        return False
    text = tmux(pane.server, "display-message", "-p", "-t", pane.id, "#{pane_id} #{pane_pid}")
    name, _, first = (text or "").partition(" ")
    if name != pane.id or not first.isdecimal():
        return False
    return not pid or int(first) in _line_of(pid)


def _line_of(pid: int) -> set[int]:
    """A process and all it descends from."""
    import psutil

    try:
        process = psutil.Process(pid)
        return {pid, *(each.pid for each in process.parents())}
    except psutil.Error:
        return set()


def go(at: Here | None, pane: Pane, how: How) -> None:
    """Show this pane to whoever asked. Outside tmux, this process becomes a client of the pane's server."""
    if at is None:
        _select(pane)
        _become(pane)
    elif at.pane.server != os.path.realpath(pane.server):
        _beside(at, pane)
    elif how == "link" and not _shares_session(at, pane):
        session = _must(pane.server, "display-message", "-p", "-t", at.pane.id, "#{session_id}")
        window = _must(pane.server, "display-message", "-p", "-t", pane.id, "#{window_id}")
        _must(pane.server, "link-window", "-d", "-s", window, "-t", f"{session}:")
        _must(pane.server, "select-window", "-t", f"{session}:{window}")
        _must(pane.server, "select-pane", "-t", pane.id)
    else:
        _select(pane)
        client = ["-c", at.client] if at.client else []
        _must(pane.server, "switch-client", *client, "-t", pane.id)


def _shares_session(at: Here, pane: Pane) -> bool:
    session = _must(pane.server, "display-message", "-p", "-t", at.pane.id, "#{session_id}")
    return pane.id in _must(pane.server, "list-panes", "-s", "-t", session, "-F", "#{pane_id}").split()


def _select(pane: Pane) -> None:
    _must(pane.server, "select-window", "-t", pane.id)
    _must(pane.server, "select-pane", "-t", pane.id)


def _beside(at: Here, pane: Pane) -> None:
    """A client cannot leave its server: a new window holds a client of the other one, and ends with it."""
    _select(pane)
    inner = shlex.join(["env", "-u", "TMUX", _program(), "-S", pane.server, "attach-session", "-t", pane.id])
    _must(at.pane.server, "new-window", "-t", f"{_session_of(at)}:", "-n", "yourcall", inner)


def _session_of(at: Here) -> str:
    return _must(at.pane.server, "display-message", "-p", "-t", at.pane.id, "#{session_id}")


def _become(pane: Pane) -> None:
    program = _program()
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    words = [program, "-S", pane.server, "attach-session", "-t", pane.id]
    os.execve(program, words, env)  # noqa: S606 - that there is no shell in between is the point


def _program() -> str:
    program = shutil.which("tmux")
    if program is None:
        raise Problem("tmux isn't installed.")
    return program


def tmux(server: str, *words: str) -> str | None:
    """What tmux says, or None if it says no, or is not there."""
    if not Path(server).is_socket():
        return None
    try:
        done = subprocess.run(
            [_program(), "-S", server, *words], capture_output=True, text=True, timeout=WAIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _must(server: str, *words: str) -> str:
    text = tmux(server, *words)
    if text is None:
        raise Problem(f"tmux did not do this: {words[0]}. The pane may just have closed; see: yourcall sessions")
    return text
