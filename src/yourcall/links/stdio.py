"""A program that we started and speak with by lines, over plain pipes.

Rules
  * One task writes, one reads, and neither ever waits for the other: whatever the program does or does not do
    with its input, its output is read. So two full pipes never face each other (docs/explanation/why-no-pty.md).
  * A line is written whole or reported as not written. "Written" means that the system has taken every byte.
  * Nothing outlives us: the program leads a process group of its own, and a watcher in that group ends it as soon
    as our end of a pipe is closed, which the system does even if we are killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from yourcall.links import processes

log = logging.getLogger(__name__)

CHUNK = 1 << 16
LONGEST_LINE = 64 << 20  # a picture in a tool's result is some megabytes; beyond this nobody shows it
MOST_QUEUED = 32 << 20  # what waits for a program that does not read
LAST_WORDS = 4_000
ENDS_S = 3.0  # Claude is gone 0.2 s after SIGTERM, its commands with it

# `$$` is the program itself, after the `exec`. A trap set before it would hold in the program too.
GUARD = """(
    trap '' TERM HUP INT
    read -r _ < /dev/fd/{life}
    kill -TERM -$$
    sleep {ends}
    kill -KILL -$$
) < /dev/null > /dev/null 2>&1 &
exec "$@"
"""

Written = Callable[[str], Awaitable[None]]  # told with an empty string, or with why it was not written


class Piped:
    """One program. `lines()` gives its output until it ends; `send` never waits and never blocks anybody."""

    def __init__(self, process: asyncio.subprocess.Process, life: int, cwd: Path) -> None:
        self._process = process
        self._life = life
        self.pid, self.cwd = process.pid, cwd
        self.started = processes.started(process.pid)
        self._queue: asyncio.Queue[tuple[bytes, Written | None] | None] = asyncio.Queue()
        self._queued = 0
        self._words = bytearray()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._listen())]
        self._ended = asyncio.Event()

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> Piped:
        ours, life = os.pipe()
        try:
            guard = GUARD.format(life=ours, ends=int(ENDS_S))
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", guard, "yourcall", *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                pass_fds=(ours,),
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(life)
            raise
        finally:
            os.close(ours)
        return cls(process, life, cwd)

    def send(self, line: bytes, written: Written | None = None) -> bool:
        """Put a line in the queue; False if so much waits already that it is refused."""
        if self._ended.is_set() or self._queued + len(line) > MOST_QUEUED:
            return False
        self._queued += len(line)
        self._queue.put_nowait((line, written))
        return True

    async def lines(self) -> AsyncIterator[bytes]:
        """What it says, line by line. A line beyond all measure is left out."""
        assert self._process.stdout is not None
        rest, skipping = bytearray(), False
        while chunk := await self._process.stdout.read(CHUNK):
            *whole, last = chunk.split(b"\n")
            for part in whole:
                if not skipping:
                    yield bytes(rest) + part
                rest.clear()
                skipping = False
            rest += last
            if len(rest) > LONGEST_LINE:
                log.warning(
                    "process %d wrote a line of more than %d bytes; it is left out", self.pid, LONGEST_LINE
                )
                rest.clear()
                skipping = True

    async def ended(self) -> int:
        """Wait for its end; then nothing of its group is left, and nothing that was not written ever will be."""
        code = await self._process.wait()
        self._ended.set()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # its watcher, which holds the group's number for us until now
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        self._queue.put_nowait(None)
        await asyncio.wait(self._tasks)
        return code

    async def stop(self) -> None:
        """Ask it to go, and see to it. Whoever waits in `ended` learns of it."""
        for number, patience in ((signal.SIGTERM, ENDS_S), (signal.SIGKILL, ENDS_S)):
            if self._ended.is_set():
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._ended.wait()

    @property
    def last_words(self) -> str:
        """The last line it wrote to its error output."""
        said = self._words.decode("utf-8", "replace").strip().splitlines()
        return said[-1].strip() if said else ""

    async def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        # Without this, "drained" would mean that it lies in a buffer of ours.
        pipe.transport.set_write_buffer_limits(high=0)
        broken = ""
        while (entry := await self._queue.get()) is not None:
            line, written = entry
            if not broken:
                broken = await self._put(pipe, line)
            self._queued -= len(line)
            if written is not None:
                await written(broken)
        with contextlib.suppress(OSError):
            pipe.close()
            await pipe.wait_closed()

    async def _put(self, pipe: asyncio.StreamWriter, line: bytes) -> str:
        """Write it; what went wrong, if anything did."""
        gone = "the session has ended"
        if self._ended.is_set():
            return gone
        pipe.write(line)
        draining, end = asyncio.ensure_future(pipe.drain()), asyncio.ensure_future(self._ended.wait())
        await asyncio.wait((draining, end), return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        if not draining.done():
            draining.cancel()
            return gone
        return gone if draining.exception() is not None else ""

    async def _listen(self) -> None:
        """Its error output is read to the end, so that it can never block, and the last of it is kept."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(CHUNK):
            self._words += chunk
            del self._words[:-LAST_WORDS]
