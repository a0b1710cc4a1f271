"""The heartbeat: a file whose time says that the daemon is awake. Hooks do not wait for one that hangs.

Rules
  * It beats in the event loop, which is what hangs if anything does.
  * It says only whether to wait. A hook that finds it stopped looks at the rules by itself, and allows nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

NAME = "heartbeat"
BEAT_S = 0.5  # a quarter of what hooks take for hung (`HUNG_S` in hook/hook.py)


class Heartbeat:
    def __init__(self, home: Path) -> None:
        # Kept open: in a home that was made anew, the file of this name is another daemon's.
        self._file = os.open(home / NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.beat()

    def beat(self) -> None:
        now = time.time_ns()  # not the file system's clock: it may be another machine's
        with contextlib.suppress(OSError):  # then hooks take us for hung, and go on by themselves
            os.utime(self._file, ns=(now, now))

    async def run(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(BEAT_S)

    def close(self) -> None:
        os.close(self._file)
