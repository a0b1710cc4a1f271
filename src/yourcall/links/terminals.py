"""What the kernel tells of a terminal: which program is in front, and whether it has read the keys that were sent.

Rule: this looks and never touches. What cannot be told is said as such.
"""

from __future__ import annotations

import array
import fcntl
import os
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from yourcall.links import processes


def in_front(pid: int) -> str:
    """A word for the process group in front of this process's terminal; empty where the system does not tell."""
    leader = _foreground_group(pid)
    began = processes.started(leader)
    return f"{leader}-{began}" if began else ""


def has_terminal(pid: int) -> bool | None:
    """Is this process (its group) in front of its own terminal? None: the system does not tell."""
    fields = _fields(pid)
    if fields is None:
        return None
    group, front = fields[2], fields[5]
    return group == front


def in_pane(pid: int, pane_pid: int) -> bool | None:
    """Is this process in front of the terminal of that pane? None: the system does not tell."""
    mine, pane = _fields(pid), _fields(pane_pid)
    if mine is None or pane is None:
        return None if not Path("/proc/self/stat").exists() else False
    return mine[4] == pane[4] and mine[2] == mine[5]


def same_terminal(pid: int, other: int) -> bool:
    """Have these two processes one controlling terminal?"""
    mine, others = _fields(pid), _fields(other)
    return mine is not None and others is not None and mine[4] == others[4] != "0"


def folder(pid: int) -> str:
    """The working folder of the program in front of this process's terminal, or of the process itself."""
    for each in (_foreground_group(pid), pid):
        try:
            return processes.as_text(str(Path(f"/proc/{each}/cwd").readlink()))
        except OSError:
            continue
    return ""


def leader_in_front(pid: int) -> int:
    """The leader of the group in front, or this very process where that cannot be known."""
    leader = _foreground_group(pid)
    return leader if processes.started(leader) else pid


def _foreground_group(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[5]) if fields is not None and fields[5].isdecimal() else 0


def _fields(pid: int) -> list[str] | None:
    """State, parent, group, session, terminal, group in front: what stands behind the name in `stat`."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields if len(fields) > 5 else None


def unread_keys(pane_pid: int, agent_pid: int = 0) -> bool:
    """Do keys lie unread in the terminal of this pane, or is the agent there stopped and can read none?"""
    return _waiting_bytes(pane_pid) > 0 or stopped(agent_pid or leader_in_front(pane_pid))


def unread_answer(agent_pid: int) -> bool:
    """Has the agent not read yet what its hook wrote?

    A hook ends when it has written, and stays a zombie until its agent takes what it left.
    """
    return stopped(agent_pid) or processes.has_zombie(agent_pid)


def stopped(pid: int) -> bool:
    return processes.run_state(pid) in ("T", "t")


def busy(pid: int) -> bool:
    """It runs this very moment: what it has read last may not be done yet."""
    return processes.run_state(pid) == "R"


def line_mode(pid: int) -> bool:
    """Does the terminal of this process collect whole lines? Then no program reads single keys there."""
    with _terminal_of(pid) as file:
        try:
            return file >= 0 and bool(termios.tcgetattr(file)[3] & termios.ICANON)
        except termios.error:
            return False


def _waiting_bytes(pid: int) -> int:
    """How many bytes lie unread in the terminal of this process. Looking takes none of them."""
    with _terminal_of(pid) as file:
        try:
            count = array.array("i", [0])
            fcntl.ioctl(file, termios.FIONREAD, count)
            return count[0]
        except (OSError, ValueError):
            return 0


@contextmanager
def _terminal_of(pid: int) -> Generator[int]:
    """The terminal of this process, opened to look at it; -1 if it has none or can't be opened."""
    terminal = processes.terminal_of(pid)
    try:
        file = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC) if terminal else -1
    except OSError:
        file = -1
    try:
        yield file
    finally:
        if file >= 0:
            os.close(file)
