"""The process of a tunnel: noted while it runs, so that one that outlived its daemon can be ended.

Rule: a process is ended only if it is the very one that was noted, by its id and the moment of its start.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from yourcall.system.noted_process import KINDLY_S, NotedProcess

PR_SET_PDEATHSIG = 1

__all__ = ["KINDLY_S", "dying_with_us", "end_left_over", "forget", "note"]


def note(home: Path, pid: int) -> None:
    _noted(home).note(pid)


def forget(home: Path) -> None:
    _noted(home).forget()


def end_left_over(home: Path) -> bool:
    """End the tunnel that was noted, if it still runs. False if it is still there after all."""
    return _noted(home).end()


def dying_with_us() -> Callable[[], None] | None:
    """To be called in the child before it becomes the tunnel: Linux ends it then when this process ends. Elsewhere
    there is no such thing, and the next start of the daemon ends what is left over."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)  # loaded here: nothing but the call is left to do between fork and exec

    def ask_the_kernel() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask_the_kernel


def _noted(home: Path) -> NotedProcess:
    return NotedProcess(home / "reach.pid")
