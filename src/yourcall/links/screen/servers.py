"""Where screens are looked at and keys are pressed: tmux servers, and pseudo-terminals of ours, by their sockets.

Rule: whoever looks or presses does not know which of the two it is; both keep the same promises.
"""

from __future__ import annotations

import asyncio
import os
import stat
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable
from typing import Protocol

from yourcall.agents.sightings import Pane
from yourcall.links.pty.pane import DOOR, Pty
from yourcall.links.screen.tmux import Gone, Look, Picture, Row, Tmux
from yourcall.model.sessions import TERMINALS, Link, Session


class Server(Protocol):
    """What both offer; a pane is named as its server names it."""

    async def look(self, pane: str, /) -> Look | Gone: ...
    async def picture(self, pane: str, /) -> Picture | Gone: ...
    async def panes(self) -> dict[str, Row] | Gone: ...
    async def last_typed(self, pane: str, /) -> int | Gone: ...
    async def write(self, pane: str, data: str, /, *, bracketed: bool = False) -> Gone | None: ...
    async def close(self) -> None: ...


class Servers:
    """Every server that was ever asked for, by its socket; and one lock for each pane.

    Whoever looks at a pane in order to write into it takes its lock: nobody of ours writes in between.
    """

    def __init__(self) -> None:
        self._servers: dict[str, Server] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    def at(self, socket: str) -> Server:
        if socket not in self._servers:
            self._servers[socket] = Pty(socket) if socket.endswith(DOOR) else Tmux(socket)
        return self._servers[socket]

    def lock(self, socket: str, pane: str) -> asyncio.Lock:
        return self._locks.setdefault((socket, pane), asyncio.Lock())

    async def forget(self, socket: str) -> None:
        """One that will not come back: each run has a socket of its own."""
        server = self._servers.pop(socket, None)
        if server is not None:
            await server.close()

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()


def pane_of(session: Session) -> Link | None:
    """The terminal in which this session can be looked at and typed to: its own, before one around that."""
    links = [link for link in session.links if link.kind in TERMINALS]
    return min(links, key=lambda link: link.kind != "pty", default=None)


PATIENCE_S = 3.0


async def panes_of(tmux: Iterable[str]) -> list[Pane]:
    """The panes of these servers, each named as the variable TMUX does: socket, pid, session."""
    sockets = {value.rsplit(",", 2)[0] for value in tmux if value}
    return [pane for socket in sorted(sockets) if _is_mine(socket) for pane in await _panes(socket)]


async def _panes(socket: str) -> list[Pane]:
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    try:
        asking = await asyncio.create_subprocess_exec(
            "tmux", "-S", socket, "list-panes", "-a", "-F", "#{pane_id} #{pane_tty}",
            env=env, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL,
        )  # fmt: skip
    except OSError:
        return []
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, _ = await asking.communicate()
    except TimeoutError:
        asking.kill()
        await asking.wait()
        return []
    rows = [row.split(" ") for row in out.decode("utf-8", "replace").splitlines()]
    return [Pane(row[0], row[1], socket) for row in rows if len(row) == 2 and row[0].startswith("%")]


def _is_mine(socket: str) -> bool:
    try:
        about = os.stat(socket)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(about.st_mode) and about.st_uid == os.getuid()
