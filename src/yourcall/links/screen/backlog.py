"""Has a program read what was written to it?

Rule: a stopped or starved program has read nothing, however long ago we wrote. Where the system does not tell, it
counts as read.
"""

from __future__ import annotations

import array
import fcntl
import os
import termios

from yourcall.links import processes
from yourcall.links.foreground import leader_in_front


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


def _waiting_bytes(pid: int) -> int:
    """How many bytes lie unread in the terminal of this process. Looking takes none of them."""
    terminal = processes.terminal_of(pid)
    if not terminal:
        return 0
    try:
        file = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        count = array.array("i", [0])
        fcntl.ioctl(file, termios.FIONREAD, count)
        return count[0]
    except OSError:
        return 0
    finally:
        os.close(file)
