"""A program of ours that may outlive us: noted in a file while it runs, so that a later run finds it, or ends
it.

Rule: a process is the one that was noted only by its id and the moment of its start.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from yourcall.system import private_files

KINDLY_S, FORCED_S = 4.0, 2.0  # to react to SIGTERM; to be gone after SIGKILL


class Noted(msgspec.Struct, frozen=True):
    pid: int
    started: str


class NotedProcess:
    """The process that this file names, if it still runs."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def note(self, pid: int) -> None:
        private_files.write(self._file, msgspec.json.encode(Noted(pid, _started(pid))))

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    @property
    def pid(self) -> int:
        """0 if it does not run."""
        noted = self._read()
        return noted.pid if noted is not None and noted.pid > 1 and noted.started and _runs(noted) else 0

    def signal(self, number: int) -> bool:
        pid = self.pid
        if not pid:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            return True
        return False

    def end(self) -> bool:
        """End it. False if it is still there after all."""
        noted = self._read()
        if noted is None:
            return True
        for number, patience in ((signal.SIGTERM, KINDLY_S), (signal.SIGKILL, FORCED_S)):
            if self.signal(number):
                _wait_for_end(noted, patience)
        if self.pid:
            return False
        self.forget()
        return True

    def _read(self) -> Noted | None:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Noted)
        except (OSError, msgspec.MsgspecError):
            return None


def _wait_for_end(noted: Noted, patience: float) -> None:
    deadline = time.monotonic() + patience
    while _runs(noted) and time.monotonic() < deadline:
        time.sleep(0.02)


def _runs(noted: Noted) -> bool:
    return _started(noted.pid) == noted.started


def _started(pid: int) -> str:
    """When this process began, as the system counts it; nothing if there is none, or only what a dead one
    left."""
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
