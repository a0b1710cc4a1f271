"""Which tmux pane has which terminal, on the servers that the found processes name.

Rule: one short question to each server; a server that is not this user's, or does not answer, has no panes.
"""

from __future__ import annotations

import asyncio
import os
import stat
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable

from yourcall.agents.sightings import Pane

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
