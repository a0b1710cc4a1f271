"""One tmux server of the user's: look at a pane, write into a pane; over one control-mode connection if possible.

Rule: decides nothing, and leaves no trace on the person's own clients: no resize, no focus, no key bindings, no
copy of a key to other panes. What is written goes to the program in that one pane as bytes, or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import stat
import time
from pathlib import Path

from msgspec import Struct

from yourcall.links.screen.tmux_control import Control, Failed, Silent, run

PANE_ID = re.compile(r"%\d{1,9}")
TRY_AGAIN_S = 5.0  # between two attempts to attach

# The height comes first: it tells how many lines the screen behind it has.
_ABOUT = "#{pane_height} #{pane_dead} #{pane_pid} #{pane_title}"
_DRAWN = "#{pane_height} #{pane_dead} #{pane_pid} #{pane_width} #{cursor_x} #{cursor_y} #{cursor_flag}"
_SESSIONS = "#{session_id} #{destroy-unattached} #{exit-unattached} #{focus-events}"
_PANES = "#{pane_id} #{window_activity} #{pane_dead} #{pane_pid}"
_OFF = ("0", "off", "")


class Gone(Struct, frozen=True):
    """There is no such pane, or no server at that socket. `unsure`: it may have done what was asked, though."""

    why: str
    unsure: bool = False


class Look(Struct, frozen=True):
    """What a pane shows at one moment, colours and all (as escapes); `pid` is the pane's first program.

    The title that the program has set comes first, as the escape that sets one (`agents.screens.titled` reads it):
    nothing on the screen itself can look like that, for tmux takes such escapes out.
    """

    screen: str
    pid: int
    dead: bool = False


class Picture(Struct, frozen=True):
    """The same for somebody who looks from afar: colours (as escapes), the size, and where the cursor is."""

    screen: str
    pid: int
    dead: bool
    columns: int
    rows: int
    cursor_x: int
    cursor_y: int
    cursor_shown: bool


class Row(Struct, frozen=True):
    """A pane in the list of all panes; `active_at` is when its window last printed something, in whole seconds."""

    active_at: int
    dead: bool
    pid: int


class Tmux:
    """One server, by its socket. Attaches when first used and again after an end; works without, but slower."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._control: Control | None = None
        self._attaching = asyncio.Lock()
        self._tried_at = -TRY_AGAIN_S

    @property
    def attached(self) -> bool:
        return self._control is not None and self._control.open

    async def look(self, pane: str) -> Look | Gone:
        commands = [["display-message", "-p", "-t", pane, _ABOUT], ["capture-pane", "-e", "-p", "-t", pane]]
        try:
            lines = await self._ask(commands, pane, sized=True)
            height, dead, pid, title = lines[0].split(" ", 3)
            tall, first = int(height), int(pid)
        except (Failed, ValueError, IndexError) as error:
            return Gone(str(error) if isinstance(error, Failed) else "tmux says nothing about this pane")
        named = "".join(char for char in title if char.isprintable())
        return Look(f"\x1b]2;{named}\x07" + "\n".join(lines[1 : 1 + tall]), first, dead == "1")

    async def picture(self, pane: str) -> Picture | Gone:
        commands = [["display-message", "-p", "-t", pane, _DRAWN], ["capture-pane", "-e", "-p", "-t", pane]]
        try:
            lines = await self._ask(commands, pane, sized=True)
            tall, dead, pid, wide, x, y, shown = (int(word or 0) for word in lines[0].split(" "))
        except (Failed, ValueError, IndexError) as error:
            return Gone(str(error) if isinstance(error, Failed) else "tmux says nothing about this pane")
        return Picture("\n".join(lines[1 : 1 + tall]), pid, dead == 1, wide, tall, x, y, shown == 1)

    async def panes(self) -> dict[str, Row] | Gone:
        """Every pane of the server."""
        try:
            lines = await self._ask([["list-panes", "-a", "-F", _PANES]])
            rows = [line.split(" ") for line in lines if line]
            return {name: Row(int(at or 0), dead == "1", int(pid or 0)) for name, at, dead, pid in rows}
        except (Failed, ValueError) as error:
            return Gone(str(error))

    async def last_typed(self, pane: str) -> int | Gone:
        """When somebody last typed who has this pane in front of them, in whole seconds."""
        wanted = "#{pane_id} #{client_control_mode} #{client_activity}"
        try:
            rows = [line.split(" ") for line in await self._ask([["list-clients", "-F", wanted]])]
        except Failed as error:
            return Gone(str(error))
        return max((int(row[2]) for row in rows if row[:2] == [pane, "0"] and row[2].isdecimal()), default=0)

    async def write(self, pane: str, data: str, *, bracketed: bool = False) -> Gone | None:
        """Hand these characters to the program in the pane, all at once.

        As a paste, not as keys: keys would go through key tables, to copy mode if somebody scrolls, and to every
        other pane of the window if panes are synchronised.
        """
        buffer = f"yourcall-{secrets.token_hex(8)}"
        paste = ["paste-buffer", "-d", "-r", *(["-p"] if bracketed else []), "-b", buffer, "-t", pane]
        try:
            await self._ask([["set-buffer", "-b", buffer, "--", data], paste], pane, typed=(buffer, data, paste))
        except Failed as error:
            unsure = isinstance(error, Silent)
            if not unsure:
                with contextlib.suppress(Failed):
                    await self._ask([["delete-buffer", "-b", buffer]])
            return Gone(str(error), unsure)
        return None

    async def close(self) -> None:
        if self._control is not None:
            await self._control.close()
            self._control = None

    async def _ask(
        self,
        commands: list[list[str]],
        pane: str = "%0",
        *,
        sized: bool = False,
        typed: tuple[str, str, list[str]] | None = None,
    ) -> list[str]:
        """All lines that the commands say, in order."""
        if not PANE_ID.fullmatch(pane):
            raise Failed(f"{pane!r} is no pane")
        control = await self._connected()
        if control is not None:
            return await control.ask(commands, sized)
        if typed is None:
            words = [word for command in commands for word in (*command, ";")][:-1]
            return await run(self.socket, words)
        # An argument of a program has a limit that its input does not have.
        buffer, data, paste = typed
        words = ["load-buffer", "-b", buffer, "-", ";", *paste]
        return await run(self.socket, words, data.encode())

    async def _connected(self) -> Control | None:
        wrong = distrusted(self.socket)
        if wrong:
            await self.close()
            raise Failed(wrong)
        if self.attached:
            return self._control
        async with self._attaching:
            if self.attached:
                return self._control
            if time.monotonic() - self._tried_at < TRY_AGAIN_S:
                return None
            await self.close()
            self._tried_at = time.monotonic()
            session = _harmless(await run(self.socket, ["list-sessions", "-F", _SESSIONS]))
            self._control = await Control.attach(self.socket, session) if session else None
            return self._control


def distrusted(socket: str) -> str:
    """Why not to talk to this socket: a tmux server can make its client run anything, so it must be our own."""
    path = Path(socket)
    if not path.is_absolute() or "\0" in socket or len(socket) > 4096:
        return "that is no socket of a tmux server"
    try:
        found, folder = path.stat(), path.parent.stat()
    except OSError:
        return "its tmux server is gone"
    mine = (os.getuid(), 0)
    movable = folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid() or folder.st_uid not in mine or movable:
        return "its tmux socket does not belong to you alone"
    return ""


def _harmless(sessions: list[str]) -> str:
    """A session that a further client can join and leave unnoticed, or nothing.

    One that is destroyed when its last client leaves would end with us. With focus events, tmux would tell the
    program in the current pane that somebody looks at it for as long as we are there.
    """
    for line in sessions:
        name, _, settings = line.partition(" ")
        if all(value in _OFF for value in settings.split(" ")):
            return name
    return ""
