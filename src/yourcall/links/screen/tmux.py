"""One tmux server of the user's: look at a pane, write into a pane.

Rule: decides nothing, and leaves no trace on the person's own clients: no resize, no focus, no key bindings, no
copy of a key to other panes. What is written goes to the program in that one pane as bytes, or not at all.

Each question is one short-lived tmux. A client in control mode would answer five times as fast, but attaching one
can crash the server, and with it every session that the person has: tmux 3.3a announces a session that is created
or closed meanwhile to a client that is not ready for it (seen within 300 attempts; tmux pull request 4980).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

PANE_ID = re.compile(r"%\d{1,9}")
PATIENCE_S = 3.0  # a tmux server answers in a millisecond; one that does not is stopped or gone

# The height comes first: it tells how many lines the screen behind it has.
_ABOUT = "#{pane_height} #{pane_dead} #{pane_pid} #{pane_title}"
_DRAWN = "#{pane_height} #{pane_dead} #{pane_pid} #{pane_width} #{cursor_x} #{cursor_y} #{cursor_flag}"
_PANES = "#{pane_id} #{window_activity} #{pane_dead} #{pane_pid}"


class Failed(Exception):
    """tmux said no."""


class Silent(Failed):
    """tmux said nothing: it may have done what was asked."""


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
    """One server, by its socket."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    async def look(self, pane: str) -> Look | Gone:
        commands = [["display-message", "-p", "-t", pane, _ABOUT], ["capture-pane", "-e", "-p", "-t", pane]]
        try:
            lines = await self._ask(commands, pane)
            height, dead, pid, title = lines[0].split(" ", 3)
            tall, first = int(height), int(pid)
        except (Failed, ValueError, IndexError) as error:
            return Gone(str(error) if isinstance(error, Failed) else "tmux says nothing about this pane")
        named = "".join(char for char in title if char.isprintable())
        return Look(f"\x1b]2;{named}\x07" + "\n".join(lines[1 : 1 + tall]), first, dead == "1")

    async def picture(self, pane: str) -> Picture | Gone:
        commands = [["display-message", "-p", "-t", pane, _DRAWN], ["capture-pane", "-e", "-p", "-t", pane]]
        try:
            lines = await self._ask(commands, pane)
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
            # From its input, which has no limit; an argument of a program has one.
            await self._ask([["load-buffer", "-b", buffer, "-"], paste], pane, data.encode())
        except Failed as error:
            unsure = isinstance(error, Silent)
            if not unsure:
                with contextlib.suppress(Failed):
                    await self._ask([["delete-buffer", "-b", buffer]])
            return Gone(str(error), unsure)
        return None

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _ask(self, commands: list[list[str]], pane: str = "%0", typed: bytes | None = None) -> list[str]:
        """All lines that the commands print, in order."""
        if not PANE_ID.fullmatch(pane):
            raise Failed(f"{pane!r} is no pane")
        if wrong := distrusted(self.socket):
            raise Failed(wrong)
        return await run(self.socket, [word for command in commands for word in (*command, ";")][:-1], typed)


def distrusted(socket: str) -> str:
    """Why not to talk to this socket: a tmux server can make its client run anything, so it must be our own."""
    path = Path(socket)
    if not path.is_absolute() or "\0" in socket or len(socket) > 4096:
        return "that is no socket of a tmux server"
    try:
        status, folder = path.stat(), path.parent.stat()
    except OSError:
        return "its tmux server is gone"
    mine = (os.getuid(), 0)
    movable = folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid() or folder.st_uid not in mine or movable:
        return "its tmux socket does not belong to you alone"
    return ""


async def run(socket: str, words: list[str], typed: bytes | None = None) -> list[str]:
    """What one short-lived tmux prints for these commands."""
    pipe = asyncio.subprocess.PIPE
    stdin = asyncio.subprocess.DEVNULL if typed is None else pipe
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *_tmux(socket), *words, stdin=stdin, stdout=pipe, stderr=pipe, env=_environment()
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _ended(await starting)  # else it would go on, and nobody would wait for it
        raise
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
            await _ended(process)
    if process.returncode:
        raise Failed(err.decode("utf-8", "replace").strip()[:200] or "tmux refused")
    return out.decode("utf-8", "replace").removesuffix("\n").split("\n")


def _tmux(socket: str) -> list[str]:
    return ["tmux", "-u", "-S", socket]


def _environment() -> dict[str, str]:
    """Nothing of ours, above all not the TMUX of a pane that the daemon may have been started in."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | {"TERM": "dumb"}


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End it, and close our ends of its pipes. It gave the others to its server: while that one is stopped they
    would stay open, one more file handle for each question."""
    cast("Any", process)._transport.close()  # there is no other way to say it
    await process.wait()
