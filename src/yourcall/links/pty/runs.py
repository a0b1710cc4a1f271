"""The programs that `yourcall run` started in somebody's terminal, found by their doors in yourcall's home.

Rule: they need nothing from us and go on without us; we come and go, and find them again. Which session is theirs
is told by the terminal that the session's process has, never by a variable that anybody could have passed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from yourcall.agents.spec import Agent
from yourcall.links import processes
from yourcall.links.event_sink import EventSink
from yourcall.links.pty.control_socket import About
from yourcall.links.pty.pane import DOOR, PIPE, SHADOW, Pty, is_over
from yourcall.links.screen import viewers
from yourcall.links.screen.servers import Servers
from yourcall.links.screen.tmux import Gone
from yourcall.links.session_ids import STRANGER
from yourcall.links.terminals import same_terminal
from yourcall.model.events import SessionSeen
from yourcall.model.prompts import Verdict
from yourcall.model.sessions import TERMINALS, Link, Session

log = logging.getLogger(__name__)

PTY = "pty"  # the kind of their links
ENDS_S = 3.0  # an agent is gone a moment after it was asked to end
LOOK_S = 0.02
LEFT_S = 5.0  # the shadow is made before the door
EVERY_S = 0.5  # an agent takes longer than this to its first dialog


class Watching(Protocol):
    """Who looks after a screen from now on."""

    async def watch(self, server: str, pane: str, agent: str, /, *, ours: bool) -> Session | Gone: ...


class Runs:
    def __init__(
        self,
        teller: EventSink,
        servers: Servers,
        screens: Watching,
        folder: Path | None,
        agent_of: Callable[[str], Agent | None] = lambda name: None,
    ) -> None:
        self._teller, self._servers, self._screens = teller, servers, screens
        self._agent_of = agent_of
        self._folder = folder
        self._known: dict[str, About] = {}

    async def run(self) -> None:
        while self._folder is not None:
            try:
                await self.look(self._folder)
            except Exception:  # the rest of yourcall does without; the next look may go well
                log.exception("looking for runs failed")
            await asyncio.sleep(EVERY_S)

    async def look(self, folder: Path) -> None:
        there = {str(path) for path in _doors(folder)}
        _sweep(folder, there)
        for gone in self._known.keys() - there:
            del self._known[gone]
            await self._servers.forget(gone)
        for path in there - self._known.keys():
            await self._greet(path)
        await self._join()

    async def _join(self) -> None:
        """Those that only show a session of which their server tells are no sessions of their own."""
        for session in list(self._teller.state.sessions.values()):
            agent = self._agent_of(session.agent)
            mine = session.id.startswith(STRANGER) and any(link.kind == "pty" for link in session.links)
            if agent is None or agent.finder is None or agent.finder.shown is None or not mine:
                continue
            process = processes.one(session.pid)
            if process is not None and process.started == session.pid_started:
                held = processes.open_files(process.pid, agent.finder.holds)
                await viewers.join(self._teller, agent.finder, [replace(process, holds=held)], [session])

    async def _greet(self, path: str) -> None:
        server = self._servers.at(path)
        about = await server.about() if isinstance(server, Pty) else Gone("")
        if isinstance(about, Gone):
            await self._servers.forget(path)
            if _left_behind(Path(path)) and is_over(path):
                for ending in (DOOR, SHADOW, PIPE):
                    Path(path).with_suffix(ending).unlink(missing_ok=True)
            return
        if not about.pid:
            return  # it is just beginning
        self._known[path] = about
        for session in list(self._teller.state.sessions.values()):
            if (linked := self.linked(session)) != session:
                await self._teller.post(SessionSeen(time.time(), linked))
        seen = await self._screens.watch(path, about.name, about.agent, ours=False)
        if isinstance(seen, Gone) and about.seen:
            del self._known[path]  # its screen is not there yet: greeted again at the next look

    def linked(self, session: Session) -> Session:
        """The session with the terminal of ours that its process has, if it has one. What its environment says
        of a tmux is then of the one around it, or of another time."""
        if session.mode != "terminal" or not session.pid:
            return session
        for path, about in self._known.items():
            mine = session.pid == about.pid or same_terminal(session.pid, about.pid)
            if about.seen and mine:
                others = tuple(link for link in session.links if link.kind not in TERMINALS)
                return replace(session, links=(*others, Link("pty", about.name, path)), note="")
        return session


async def end(session: Session) -> Verdict:
    """End the program in its terminal, which goes back to the shell, and all that it runs."""
    if processes.gone(session.pid, session.pid_started):
        return Verdict("refused", "This session has already ended.")
    began = {pid: processes.started(pid) for pid in processes.descendants(session.pid)}
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in began:
            if not processes.gone(pid, began[pid]):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        deadline = time.monotonic() + ENDS_S
        while time.monotonic() < deadline:
            if all(processes.gone(pid, began[pid]) for pid in began):
                return Verdict("confirmed", "the session has ended")
            await asyncio.sleep(LOOK_S)
    return Verdict("unsure", "It was asked to end, and then killed, but it is still there.")


def _doors(folder: Path) -> list[Path]:
    return list(folder.glob(f"*{DOOR}"))


def _sweep(folder: Path, doors: set[str]) -> None:
    """Shadows without a door: of a run that was over before its shadow had begun."""
    for ending in (SHADOW, PIPE):
        for left in folder.glob(f"*{ending}"):
            with contextlib.suppress(OSError):
                if str(left.with_suffix(DOOR)) not in doors and _left_behind(left):
                    left.unlink()


def _left_behind(path: Path) -> bool:
    """Is it there for longer than a run takes to begin? A door is made a moment before it opens."""
    try:
        return time.time() - path.stat().st_mtime > LEFT_S
    except OSError:
        return False
