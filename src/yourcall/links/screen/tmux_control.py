"""How tmux is talked to: a client in control mode, or one short-lived tmux for each question.

Rule: what a pane shows is never taken for what tmux says. Whatever fails is `Failed`; if it may have been carried
out all the same, `Silent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from typing import Any, cast

from msgspec import Struct

PATIENCE_S = 3.0  # a tmux server answers in a millisecond; one that does not is stopped or gone
LARGEST_REPLY = 8 * 1024 * 1024


class Failed(Exception):
    """tmux said no."""


class Silent(Failed):
    """tmux said nothing: it may have done what was asked."""


class _Request(Struct):
    done: asyncio.Future[list[str]]
    blocks: int
    sized: bool
    lines: list[str] = []
    finished: int = 0


class Control:
    """A client in control mode: commands in, numbered blocks of lines out."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._waiting: deque[_Request] = deque()
        self._block = ""
        self._lines: list[str] = []
        self._reading = asyncio.create_task(self._read())
        self.open = True

    @classmethod
    async def attach(cls, socket: str, session: str) -> Control | None:
        # -E: the session keeps its own environment; ignore-size: no window takes our size.
        words = ["-C", "attach-session", "-E", "-f", "no-output,ignore-size", "-t", session]
        try:
            pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
            process = await asyncio.create_subprocess_exec(
                *_tmux(socket), *words, stdin=pipe, stdout=pipe, stderr=null, env=_environment()
            )
        except OSError:
            return None
        control = cls(process)
        try:
            await control.ask([["display-message", "-p", "here"]], sized=False)
        except Failed:
            await control.close()
            return None
        except BaseException:
            control.leave()  # nobody would know of it any more
            raise
        return control

    async def ask(self, commands: list[list[str]], sized: bool) -> list[str]:
        line = " ; ".join(" ".join(_quoted(word) for word in command) for command in commands)
        request = _Request(asyncio.get_running_loop().create_future(), len(commands), sized, [])
        stdin = self._process.stdin
        if not self.open or stdin is None:
            raise Failed("its tmux server is gone")
        self._waiting.append(request)
        try:
            stdin.write(line.encode() + b"\n")
            async with asyncio.timeout(PATIENCE_S):
                await stdin.drain()
                return await request.done
        except (OSError, TimeoutError, RuntimeError) as error:  # the last is uvloop's, for a pipe that is closed
            self._end()  # the rest of what it says could no longer be told apart
            raise Silent("its tmux server does not answer") from error

    def leave(self) -> None:
        """At once, and without a word."""
        self._end()
        self._reading.cancel()
        _let_go(self._process)

    async def close(self) -> None:
        self._end()
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(1.0):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            _let_go(self._process)
        await self._process.wait()

    def _end(self) -> None:
        self.open = False
        while self._waiting:
            request = self._waiting.popleft()
            if not request.done.done():
                request.done.set_exception(Silent("its tmux server is gone"))
                request.done.exception()  # whoever asked may have left already

    async def _read(self) -> None:
        stdout = self._process.stdout
        rest = b""
        while stdout is not None and (data := await stdout.read(1 << 16)):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(line.decode("utf-8", "replace"))
            if len(rest) > LARGEST_REPLY or len(self._lines) > 100_000:
                break
        self._end()

    def _take(self, line: str) -> None:
        word, _, number = line.partition(" ")
        if not self._block:
            # Only blocks with the flag 1 answer our own commands; the rest is news that nobody here needs.
            if word == "%begin" and number.endswith(" 1"):
                self._block, self._lines = number, []
            elif word == "%exit":
                self._end()
            return
        request = self._waiting[0] if self._waiting else None
        if word in ("%end", "%error") and number == self._block and self._whole(request, word):
            self._block = ""
            if request is not None:
                self._answer(request, word)
        else:
            self._lines.append(line)

    def _whole(self, request: _Request | None, word: str) -> bool:
        """A pane may show a line that looks like the end of its own screen: its height tells."""
        if request is None or not request.sized or not request.lines or word == "%error":
            return True
        height = request.lines[0].split(" ", 1)[0]
        return not height.isdecimal() or len(self._lines) >= int(height)

    def _answer(self, request: _Request, word: str) -> None:
        request.lines.extend(self._lines)
        request.finished += 1
        if word == "%end" and request.finished < request.blocks:
            return
        self._waiting.popleft()
        if request.done.done():
            return
        if word == "%error":
            request.done.set_exception(Failed(self._lines[0] if self._lines else "tmux refused"))
            request.done.exception()
        else:
            request.done.set_result(request.lines)


def _quoted(word: str) -> str:
    """A word as tmux's own parser reads it back, whatever it holds."""
    plain = " -_./:@%+,=#{}"
    escaped = (c if c.isalnum() or c in plain else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in word)
    return f'"{"".join(escaped)}"'


def _tmux(socket: str) -> list[str]:
    return ["tmux", "-u", "-S", socket]


def _environment() -> dict[str, str]:
    """Nothing of ours, above all not the TMUX of a pane that the daemon may have been started in."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | {"TERM": "dumb"}


def _let_go(process: asyncio.subprocess.Process) -> None:
    """End it, and close our ends of its pipes. It gave the others to its server: while that one is stopped they
    would stay open, one more file handle for each question."""
    cast("Any", process)._transport.close()  # there is no other way to say it


async def run(socket: str, words: list[str], typed: bytes | None = None) -> list[str]:
    """The same without a connection: one short-lived tmux."""
    pipe = asyncio.subprocess.PIPE
    stdin = asyncio.subprocess.DEVNULL if typed is None else pipe
    try:
        process = await asyncio.create_subprocess_exec(
            *_tmux(socket), *words, stdin=stdin, stdout=pipe, stderr=pipe, env=_environment()
        )
    except OSError as error:
        raise Failed("tmux is not installed, or cannot be started") from error
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate(typed)
    except TimeoutError as error:
        raise Silent("its tmux server does not answer") from error
    except RuntimeError as error:  # uvloop's, for an input that was closed before anything was written to it
        raise Failed("its tmux server is gone") from error
    finally:
        if process.returncode is None:
            _let_go(process)
            await process.wait()
    if process.returncode:
        raise Failed(err.decode("utf-8", "replace").strip()[:200] or "tmux refused")
    return out.decode("utf-8", "replace").removesuffix("\n").split("\n")
