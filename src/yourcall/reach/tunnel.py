"""The process of a tunnel: noted while it runs, so that one that outlived its daemon can be ended.

Rule: a process is ended only if it is the very one that was noted, by its id and the moment of its start.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from yourcall.system import private_files

PR_SET_PDEATHSIG = 1
KINDLY_S, FORCED_S = 4.0, 2.0  # to react to SIGTERM; to be gone after SIGKILL


class Noted(msgspec.Struct, frozen=True):
    pid: int
    started: str


def note(home: Path, pid: int) -> None:
    private_files.write(_file(home), msgspec.json.encode(Noted(pid, _started(pid))))


def forget(home: Path) -> None:
    _file(home).unlink(missing_ok=True)


def end_left_over(home: Path) -> bool:
    """End the tunnel that was noted, if it still runs. False if it is still there after all."""
    try:
        noted = msgspec.json.decode(_file(home).read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return True
    if noted.pid > 1 and noted.started:
        for number, patience in ((signal.SIGTERM, KINDLY_S), (signal.SIGKILL, FORCED_S)):
            if _runs(noted):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(noted.pid, number)
                _wait_for_end(noted, patience)
        if _runs(noted):
            return False
    forget(home)
    return True


def dying_with_us() -> Callable[[], None] | None:
    """To be called in the child before it becomes the tunnel: Linux ends it then when this process ends. Elsewhere
    there is no such thing, and the next start of the daemon ends what is left over."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)  # loaded here: nothing but the call is left to do between fork and exec

    def ask_the_kernel() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask_the_kernel


def _wait_for_end(noted: Noted, patience: float) -> None:
    deadline = time.monotonic() + patience
    while _runs(noted) and time.monotonic() < deadline:
        time.sleep(0.02)


def _runs(noted: Noted) -> bool:
    return _started(noted.pid) == noted.started


def _started(pid: int) -> str:
    """When this process began, as the system counts it; nothing if there is none, or only what a dead one left."""
    if sys.platform == "linux":  # in ticks since the machine started: a clock that is set anew doesn't change it
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return ""
        return "" if fields[0] in "ZX" else fields[19]
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except psutil.Error:
        return ""


def _file(home: Path) -> Path:
    return home / "reach.pid"
