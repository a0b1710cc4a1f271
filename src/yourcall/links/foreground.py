"""Which program has a terminal right now?

Rule: keys go to whatever is in front; before one is sent, that must be the program the person was shown.
"""

from __future__ import annotations

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
