"""One program in a pseudo-terminal of ours (`yourcall run`): looked at in its shadow, typed to through its door.

Rule: as with tmux: decides nothing, leaves no trace; what is written goes to that program as bytes, or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

import msgspec
from msgspec.structs import replace

from yourcall.links.pty.control_socket import About, Ask, Written
from yourcall.links.screen.tmux import Gone, Look, Picture, Row, Tmux, distrusted

DOOR, SHADOW, PIPE = ".pty", ".tmux", ".fifo"
PANE = "%0"  # the only one that a shadow has
PATIENCE_S = 3.0  # its door answers in a tenth of a millisecond, unless its terminal is stopped

_about = msgspec.json.Decoder(About)
_written = msgspec.json.Decoder(Written)


class Pty:
    """One program, by the socket of its door."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._shadow = Tmux(socket.removesuffix(DOOR) + SHADOW)
        self._asking = asyncio.Lock()
        self._line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._known: About | None = None

    async def about(self) -> About | Gone:
        line = await self._ask(Ask("about"))
        if isinstance(line, Gone):
            return line
        try:
            self._known = _about.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Gone("it is no program of ours")
        return self._known

    async def look(self, pane: str) -> Look | Gone:
        pid = await self._pid()
        found = await self._shadow.look(PANE) if isinstance(pid, int) else pid
        return found if isinstance(found, Gone) else replace(found, pid=pid)

    async def picture(self, pane: str) -> Picture | Gone:
        pid = await self._pid()
        found = await self._shadow.picture(PANE) if isinstance(pid, int) else pid
        return found if isinstance(found, Gone) else replace(found, pid=pid)

    async def panes(self) -> dict[str, Row] | Gone:
        pid = await self._pid()  # not asked again: one that was stopped with Ctrl-Z does not answer, and is there
        rows = await self._shadow.panes() if isinstance(pid, int) else pid
        if isinstance(rows, Gone) or not isinstance(pid, int) or self._known is None:
            return rows if isinstance(rows, Gone) else Gone("it has ended")
        return {self._known.name: replace(rows[PANE], pid=pid)} if PANE in rows else {}

    async def last_typed(self, pane: str) -> int | Gone:
        about = await self.about()
        return about if isinstance(about, Gone) else int(about.typed_at)

    async def write(self, pane: str, data: str, *, bracketed: bool = False) -> Gone | None:
        """Hand these characters to the program, all at once, between what is typed at its own terminal."""
        if bracketed and "\x1b" in data:
            return Gone("an escape cannot be pasted")
        line = await self._ask(Ask("paste" if bracketed else "keys", data, time.monotonic() + PATIENCE_S))
        if isinstance(line, Gone):
            return line
        try:
            why = _written.decode(line).why
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Gone("its terminal answers strangely", unsure=True)
        return Gone(why) if why else None

    async def close(self) -> None:
        self._hang_up()
        await self._shadow.close()

    async def _pid(self) -> int | Gone:
        """Its program stays the same for all its life."""
        about = self._known if self._known is not None and self._known.pid else await self.about()
        if isinstance(about, Gone):
            return about
        return about.pid or Gone("it has not begun yet")

    async def _ask(self, ask: Ask) -> bytes | Gone:
        async with self._asking:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    reader, writer = self._line or await self._reached()
            except (OSError, TimeoutError) as error:
                return Gone(str(error) if isinstance(error, PermissionError) else "its terminal is gone")
            try:
                async with asyncio.timeout(PATIENCE_S):
                    writer.write(msgspec.json.encode(ask) + b"\n")
                    line = await reader.readline()
            except (OSError, TimeoutError, ValueError):
                line = b""
            except asyncio.CancelledError:
                self._hang_up()  # who asked has left, and the answer is still to come
                raise
            if not line.endswith(b"\n"):
                self._hang_up()  # what it says later would be taken for the answer to another question
                return Gone("its terminal does not answer", unsure=ask.do != "about")
            return line

    async def _reached(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        wrong = distrusted(self.socket)
        if wrong:
            raise PermissionError(wrong.replace("tmux ", ""))
        self._line = await asyncio.open_unix_connection(self.socket)
        return self._line

    def _hang_up(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line[1].close()
            self._line = None


def is_over(socket: str) -> bool:
    """Nobody is behind this door: a run that was killed leaves it behind."""
    import socket as sockets

    with sockets.socket(sockets.AF_UNIX) as probe:
        try:
            probe.settimeout(0.1)
            probe.connect(os.fspath(socket))
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False
