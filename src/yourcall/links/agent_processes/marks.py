"""The mark of an agent's process: a limit that its children inherit, whatever they do (`setsid`, two forks,
`nohup`, `env -i`, another group), and that only root can raise again.

Rule: this is the one thing yourcall changes in a process that is not its own. It lowers the limit for POSIX
message queues by one percent at most (8 of 800 kB), never raises one, and touches none if the person says so.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from zlib import crc32

from yourcall.links import processes
from yourcall.links.agent_processes.process import Process
from yourcall.links.processes import PROC

# A limit is this much lower than ours at least, and by one of so many steps more: the step tells which agent.
MARK_FROM = 4096
MARK_STEPS = 4096

_UNLIMITED = 1 << 60


class Marks:
    """The marks of one daemon. What is as low as a mark, or lower, is marked: anybody may lower it more."""

    def __init__(self, top: int | None = None) -> None:
        """`top`: the limit of processes that are nobody's; 0: no process is marked, and no mark is read. That is
        so where there are no such limits (macOS), and where the person turned it off."""
        self._top = top or 0
        if top is not None:
            return
        with suppress(AttributeError, OSError, ValueError):
            _, hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
            top = 1 << 40 if hard == resource.RLIM_INFINITY else hard
            self._top = top if top >= 4 * (MARK_FROM + MARK_STEPS) else 0

    def of(self, process: Process) -> int:
        """The mark of an agent's process: the same after a restart of ours."""
        return self._top - MARK_FROM - crc32(f"{process[0]} {process[1]}".encode()) % MARK_STEPS

    def put(self, pid: int, mark: int) -> None:
        """A process that has a mark keeps it: it is that of the agent which started this one."""
        if not self._top or self.read(pid):
            return
        with suppress(OSError, ValueError):
            soft, hard = resource.prlimit(pid, resource.RLIMIT_MSGQUEUE)
            if _bytes(hard) > mark:
                resource.prlimit(pid, resource.RLIMIT_MSGQUEUE, (min(_bytes(soft), mark), mark))

    def read(self, pid: int) -> int:
        """The mark of this process; 0: it has none, or is gone. A limit that cannot be read counts as a mark."""
        if not self._top:
            return 0
        try:
            hard = _hard_limit(pid)
        except (FileNotFoundError, ProcessLookupError):
            return 0
        except (OSError, ValueError):
            return 1
        return max(hard, 1) if hard <= self._top - MARK_FROM else 0

    def all(self) -> Iterator[int]:
        """All processes that carry a mark."""
        if not self._top:
            return
        with suppress(OSError):
            for name in os.listdir(PROC):
                if name.isdecimal() and self.read(int(name)):
                    yield int(name)


def _hard_limit(pid: int) -> int:
    """From `/proc`, which shows it to everybody. `prlimit` refuses where the process changed its group (`sg`)."""
    for line in processes.read(f"{PROC}/{pid}/limits").splitlines():
        if line.startswith(b"Max msgqueue size"):
            hard = line.split()[4]
            return _UNLIMITED if hard == b"unlimited" else int(hard)
    raise ProcessLookupError(pid)  # a zombie has no limits


def _bytes(limit: int) -> int:
    return _UNLIMITED if limit == resource.RLIM_INFINITY else limit
