"""The daemon's end of a keeper: a program that outlives us, spoken with as over plain pipes.

Rule: what was dealt with, the state after it and what is written to the program go to the keeper together, so that
the next daemon goes on exactly where this one was. "Written" means that the program's pipe has taken every byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from yourcall.links import processes
from yourcall.links.stdio import keeper
from yourcall.links.stdio.process import ENDS_S, MOST_QUEUED, LineSplitter, Written, worst_words
from yourcall.system.sockets import made_private, reach_unix

log = logging.getLogger(__name__)

PROGRAM = Path(keeper.__file__)
BEGINS_S = 20.0  # a Python that starts on a busy machine
MEETS_S = 2.0
UNHEARD = 1 << 18  # so much that means nothing is dealt with unsaid; it is heard again after a kill


class KeptProcess:
    """One program behind its keeper. `taken_over`: what was under way before us, by tag (see `keeper`)."""

    def __init__(
        self, hello: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cwd: Path
    ) -> None:
        self.pid, self._dealt, about, state, tags = keeper.HELLO.unpack_from(hello)
        rest = hello[keeper.HELLO.size :]
        self.about, self.state = rest[:about], rest[about : about + state]
        rows = rest[about + state :][:tags].decode().splitlines()
        self.taken_over = {bytes.fromhex(row[2:]).decode(): row[0] for row in rows}
        self.started = processes.started(self.pid)
        self.cwd = cwd
        self._reader, self._writer = reader, writer
        # Offsets: the end of the line that was handed out last; of what was dealt with; of what the keeper knows.
        self._heard = self._known = self._dealt
        self._waiting: dict[str, tuple[int, Written | None]] = {}
        self._queued = 0
        self._output: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self.last_words = ""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls, home: Path, folder: Path, about: bytes, argv: Sequence[str], env: Mapping[str, str], cwd: Path
    ) -> KeptProcess:
        if wrong := made_private(folder):
            raise PermissionError(1, wrong)
        name = f"{secrets.token_hex(6)}.sock"
        command = [sys.executable, "-I", "-S", str(PROGRAM), str(home), str(folder), name, "--", *argv]
        await asyncio.to_thread(_begin, command, about, env, cwd)
        return await cls.meet(folder, name, cwd)

    @classmethod
    async def meet(cls, folder: Path, name: str, cwd: Path | None = None) -> KeptProcess:
        """Take up a keeper that runs. OSError: there is none, or it does not take us for its daemon."""
        sock = reach_unix(folder, name, MEETS_S)
        sock.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=keeper.LARGEST_FRAME)
        try:
            async with asyncio.timeout(MEETS_S):
                letter, hello = await _frame(reader)
        except (TimeoutError, asyncio.IncompleteReadError) as error:
            writer.close()
            raise ConnectionRefusedError(111, "its keeper did not answer") from error
        if letter != b"H":
            writer.close()
            raise ConnectionRefusedError(111, "that is no keeper")
        return cls(hello, reader, writer, cwd or Path("/"))

    # --- what we tell it --------------------------------------------------------------------------------------

    def send(self, line: bytes, written: Written | None = None, *, tag: str = "", state: bytes = b"") -> bool:
        """Put a line in the queue; False if so much waits already that it is refused. `tag`: by which the next
        daemon learns what became of it. `state`: how the conversation stands with this line."""
        if self._over.is_set() or self._ended.done() or self._queued + len(line) > MOST_QUEUED:
            return False
        tag = tag or f"#{secrets.token_hex(8)}"
        self._queued += len(line)
        self._waiting[tag] = (len(line), written)
        self._update(state, tag, line)
        return True

    def dealt_with(self, state: bytes, *, news: bool) -> None:
        """Everything up to the last line was dealt with; `news`: it meant something."""
        self._dealt = self._heard
        if news or self._dealt - self._known > UNHEARD:
            self._update(state)

    def await_written(self, tag: str, written: Written) -> None:
        """Learn what becomes of a line that an earlier daemon sent."""
        self._waiting[tag] = (0, written)

    def _update(self, state: bytes, tag: str = "", line: bytes = b"") -> None:
        self._known = self._dealt
        spelt = tag.encode().hex().encode()
        head = keeper.UPDATE.pack(self._dealt, len(state), len(spelt))
        self._say(b"U", head + state + spelt + line)

    def _say(self, letter: bytes, payload: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(keeper.HEAD.pack(letter, len(payload)) + payload)

    async def stop(self) -> None:
        """Ask it to go, and see to it. Whoever waits in `ended` learns of it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._ended.done():
                return
            self._say(b"K", bytes([number]))
            await asyncio.wait([self._ended], timeout=ENDS_S)

    # --- what it tells ----------------------------------------------------------------------------------------

    async def lines(self) -> AsyncIterator[bytes]:
        """What it says, line by line. A line beyond all measure is left out."""
        lines, at = LineSplitter(self.pid), self._dealt
        while (chunk := await self._output.get()) is not None:
            end = at + len(chunk)
            for line, length in lines.of(chunk):
                at += length
                self._heard = at  # the line is dealt with once its reader says so
                if line is not None:
                    yield line
            at = end

    async def ended(self) -> int:
        """Wait for its end; then nothing that was not written ever will be."""
        code = await asyncio.shield(self._ended)
        await self._listening
        return code

    async def _listen(self) -> None:
        code = -signal.SIGKILL
        try:
            while True:
                letter, payload = await _frame(self._reader)
                match letter:
                    case b"O":
                        self._output.put_nowait(payload)
                    case b"W":
                        await self._settled(bytes.fromhex(payload[1:].decode()).decode(), payload[:1] == b"w")
                    case b"X":
                        code = int.from_bytes(payload[:4], "big", signed=True)
                        self.last_words = worst_words(payload[4:])
                        self._say(b"D", b"")
                        break
                    case _:
                        pass
        except (OSError, asyncio.IncompleteReadError, ValueError):
            self.last_words = "its keeper was ended"
        finally:
            self._over.set()
            for tag in list(self._waiting):
                await self._settled(tag, False)
            self._output.put_nowait(None)
            if not self._ended.done():
                self._ended.set_result(code)
            self._writer.close()

    async def _settled(self, tag: str, taken: bool) -> None:
        size, written = self._waiting.pop(tag, (0, None))
        self._queued -= size
        if written is not None:
            await written("" if taken else "the session has ended")


def kept(folder: Path) -> list[str]:
    """The sockets of the keepers that run, or ran."""
    return [path.name for path in folder.glob("*.sock")]


def forget(folder: Path, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(folder / name)


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    letter, length = keeper.HEAD.unpack(await reader.readexactly(keeper.HEAD.size))
    if length > keeper.LARGEST_FRAME:
        raise ValueError("a frame beyond all measure")
    return letter, await reader.readexactly(length)


def _begin(command: list[str], about: bytes, env: Mapping[str, str], cwd: Path) -> None:
    """Tell a new keeper about its session, and wait until it listens."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    with process:
        try:
            line, _ = process.communicate(about, timeout=BEGINS_S)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise TimeoutError(110, "its keeper did not begin") from error
    if not line.strip().isdigit():
        raise OSError(5, "its keeper could not begin")
