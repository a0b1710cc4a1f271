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
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from yourcall.links import processes

log = logging.getLogger(__name__)

CHUNK = 1 << 16
LONGEST_LINE = 64 << 20  # a picture in a tool's result is some megabytes; beyond this nobody shows it
MOST_QUEUED = 32 << 20  # what waits for a program that does not read
LAST_WORDS = 4_000
LOOK_S = 0.1
DRAINED_S = 1.0
ENDS_S = 3.0  # Claude is gone 0.2 s after SIGTERM, its commands with it

# Waits for the end of whoever keeps the other end of this pipe.
CLOSED = "read -r _ < /dev/fd/{life}"

# `$$` is the program itself, after the `exec`. A trap set before it would hold in the program too.
GUARD = """(
    trap '' TERM HUP INT
    {waits}
    kill -TERM -$$
    sleep {ends}
    kill -KILL -$$
) < /dev/null > /dev/null 2>&1 &
exec "$@"
"""


def worst_words(words: bytes | bytearray) -> str:
    """Why it ended, as far as its error output tells: the last line about an error, or simply the last."""
    texts = [line.strip() for line in words.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in texts if "error" in line.lower()]
    return (errors or texts or [""])[-1]


Written = Callable[[str], Awaitable[None]]  # told with an empty string, or with why it was not written


class LineSplitter:
    """Cuts what a process writes into lines. A line that is too long is left out, whole."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._rest = bytearray()
        self._skipping = False

    def of(self, chunk: bytes) -> Iterator[tuple[bytes | None, int]]:
        """Each line that ends in this chunk (None: it was too long), and how much of the chunk it took."""
        *whole, last = chunk.split(b"\n")
        for part in whole:
            line = None if self._skipping else bytes(self._rest) + part
            self._rest.clear()
            self._skipping = False
            yield line, len(part) + 1
        self._rest += last
        if len(self._rest) > LONGEST_LINE:
            log.warning("process %d wrote a line of more than %d bytes; it is left out", self._pid, LONGEST_LINE)
            self._rest.clear()
            self._skipping = True


class PipedProcess:
    """One program. `lines()` gives its output until it ends; `send` never waits and never blocks anybody."""

    def __init__(self, process: subprocess.Popen[bytes], life: int, cwd: Path) -> None:
        self._process = process
        self._life = life
        self.pid, self.cwd = process.pid, cwd
        self.started = processes.started(process.pid)
        self._queue: asyncio.Queue[tuple[bytes, Written | None] | None] = asyncio.Queue()
        self._queued = 0
        self._read = False
        self._words = bytearray()
        self._ended = asyncio.Event()
        self._outputs: list[asyncio.ReadTransport] = []
        self._tasks = [asyncio.create_task(work) for work in (self._write(), self._listen())]
        self._reaped = asyncio.create_task(self._reap())

    @classmethod
    def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> PipedProcess:
        # Not by the event loop: uvloop lets a child inherit both ends of its pipes, and then no end is ever seen.
        ours, life = os.pipe()
        try:
            guard = GUARD.format(waits=CLOSED.format(life=ours), ends=int(ENDS_S))
            process = subprocess.Popen(
                ["/bin/sh", "-c", guard, "yourcall", *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                pass_fds=(ours,),
                start_new_session=True,
            )
        except BaseException:
            os.close(life)
            raise
        finally:
            os.close(ours)
        return cls(process, life, cwd)

    def send(self, line: bytes, written: Written | None = None, *, tag: str = "", state: bytes = b"") -> bool:
        """Put a line in the queue; False if so much waits already that it is refused. `tag` and `state` are for
        one that outlives us (`KeptProcess`)."""
        if self._ended.is_set() or self._queued + len(line) > MOST_QUEUED:
            return False
        self._queued += len(line)
        self._queue.put_nowait((line, written))
        return True

    def dealt_with(self, state: bytes, *, news: bool) -> None:
        """For one that outlives us; nothing is kept of this one."""

    async def lines(self) -> AsyncIterator[bytes]:
        """What it says, line by line. A line beyond all measure is left out."""
        assert self._process.stdout is not None
        self._read = True
        lines = LineSplitter(self.pid)
        async for chunk in self._chunks(self._process.stdout):
            for line, _ in lines.of(chunk):
                if line is not None:
                    yield line

    async def ended(self) -> int:
        """Wait for its end; then nothing of its group is left, and nothing that was not written ever will be."""
        code = await asyncio.shield(self._reaped)
        await asyncio.wait(self._tasks)
        if not self._read and self._process.stdout is not None:
            self._process.stdout.close()
        return code

    async def _reap(self) -> int:
        code = await self._code()
        self._ended.set()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # its watcher, which has held the group's number for us
        os.close(self._life)
        self._queue.put_nowait(None)
        # Something it left running may hold its output open; what it said itself is read by then.
        for output in self._outputs:
            asyncio.get_running_loop().call_later(DRAINED_S, output.close)
        return code

    async def _code(self) -> int:
        """Its exit code, as soon as it has one."""
        exits = asyncio.Event()
        try:
            handle = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1
        except OSError:
            handle = -1
        if handle >= 0:
            asyncio.get_running_loop().add_reader(handle, exits.set)
        try:
            while (code := self._process.poll()) is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if handle >= 0 else LOOK_S):
                        await exits.wait()
        finally:
            if handle >= 0:
                asyncio.get_running_loop().remove_reader(handle)
                os.close(handle)
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
        return worst_words(self._words)

    async def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        broken = ""
        while (entry := await self._queue.get()) is not None:
            line, written = entry
            if not broken and not await self._put(pipe.fileno(), line):
                broken = "the session has ended"
            self._queued -= len(line)
            if written is not None:
                await written(broken)
        with contextlib.suppress(OSError):
            pipe.close()

    async def _put(self, pipe: int, line: bytes) -> bool:
        """Write the whole line; False if it can no longer be written whole."""
        loop, rest = asyncio.get_running_loop(), memoryview(line)
        while rest and not self._ended.is_set():
            try:
                rest = rest[os.write(pipe, rest) :]
            except BlockingIOError:
                room = asyncio.ensure_future(self._ended.wait())
                loop.add_writer(pipe, room.cancel)
                await asyncio.wait((room,))
                loop.remove_writer(pipe)
            except OSError:
                return False
        return not rest

    async def _listen(self) -> None:
        """Its error output is read to the end, so that it can never block, and the last of it is kept."""
        assert self._process.stderr is not None
        async for chunk in self._chunks(self._process.stderr):
            self._words += chunk
            del self._words[:-LAST_WORDS]

    async def _chunks(self, pipe: IO[bytes]) -> AsyncIterator[bytes]:
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(CHUNK)
        output, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._outputs.append(output)
        if self._ended.is_set():  # before anybody could read: who has looked after the others did not see this one
            loop.call_later(DRAINED_S, output.close)
        try:
            while chunk := await reader.read(CHUNK):
                yield chunk
        finally:
            output.close()
