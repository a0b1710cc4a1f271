"""Finding sessions that run already and that no hook told of: by process, terminal and the agent's own files.

Rule: only looks. What a hook reported is never overwritten; with a root only that process and what it started are
looked at, and no other process at all. Whatever cannot be read is passed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from yourcall.agents.sightings import Pane, Process
from yourcall.agents.spec import Agent, Finder
from yourcall.links import processes, session_ids
from yourcall.links.event_sink import EventSink
from yourcall.links.screen import viewers
from yourcall.links.screen.servers import panes_of
from yourcall.model.events import AnyEvent, SessionEnded, SessionSeen
from yourcall.model.sessions import TERMINALS, Session

log = logging.getLogger(__name__)

Mode = Literal["off", "tmux", "all"]

# A session that was there before us can wait a moment; the look costs a few milliseconds.
EVERY_S = 3.0
# A session with our hooks speaks up within a second; until then it is not called out of reach.
GRACE_S = 5.0
LARGEST_FILE = 1024 * 1024


class Discovery:
    """`mode`: nothing, sessions in tmux, or all of this user's. `root_pid`: only below that process. `linked`: the
    same session with a terminal of ours, if it runs in one."""

    def __init__(
        self,
        teller: EventSink,
        agents: Mapping[str, Agent],
        mode: Mode,
        root_pid: int = 0,
        linked: Callable[[Session], Session] = lambda session: session,
    ) -> None:
        self._teller = teller
        self._finders = [agent.finder for agent in agents.values() if agent.finder is not None]
        self._mode = mode
        self._root = root_pid
        self._wake = asyncio.Event()
        self._linked = linked

    async def run(self) -> None:
        while self._mode != "off":
            try:
                await self.look()
            except Exception:  # the rest of yourcall does without; the next look may go well
                log.exception("looking for sessions failed")
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await self._wake.wait()

    def hurry(self) -> None:
        """Something is asked in a session of which little may be known yet, such as where its record is."""
        self._wake.set()

    async def look(self) -> None:
        """One look at what runs now."""
        for finder in self._finders:
            mine = await asyncio.to_thread(_running, finder, self._root)
            panes = await panes_of({process.env.get("TMUX", "") for process in mine})
            sessions = await asyncio.to_thread(_sessions, finder, mine, panes)
            sessions = await viewers.join(self._teller, finder, mine, [*map(self._linked, sessions)])
            for session in self._news(finder, sessions, time.time()):
                await self._tell(session)
            for event in self._ends(list(self._teller.state.sessions.values()), time.time()):
                await self._teller.post(event)

    async def _tell(self, session: Session) -> None:
        """Under another name than before it was cleared, resumed or forked, or it has a name by now."""
        before = session_ids.others(self._teller.state, session)
        kinds = {link.kind for link in session.links}
        links = tuple(link for each in before for link in each.links if link.kind not in kinds)
        await self._teller.post(SessionSeen(time.time(), replace(session, links=(*session.links, *links))))
        for other in before:
            await session_ids.follow(self._teller, other, session.id)

    def _news(self, finder: Finder, sessions: list[Session], now: float) -> list[Session]:
        told: list[Session] = []
        known = list(self._teller.state.sessions.values())
        for session in sessions:
            shown = session.links or (self._mode == "all" and now - session.started_at > GRACE_S)
            same = [k for k in known if (k.pid, k.pid_started) == (session.pid, session.pid_started)]
            if session.id.startswith(finder.unnamed) and any(k.id != session.id for k in same):
                continue  # its name is known by other means
            old = self._teller.state.sessions.get(session.id)
            if shown and may_tell(old, session):
                told.append(replace(session, seen_at=now))
        return told

    def _ends(self, known: list[Session], now: float) -> list[AnyEvent]:
        """Sessions that only a look told of and whose process is gone; where a prompt is open, its watch tells."""
        return [
            SessionEnded(now, session.id, "its process is gone")
            for session in known
            if only_found(session)
            and session.pid_started
            and not self._teller.state.of_session(session.id)
            and processes.gone(session.pid, session.pid_started)
        ]


def only_found(session: Session) -> bool:
    """Nothing but a look told of it: no hook, no program of ours."""
    return all(link.kind in TERMINALS for link in session.links)


def may_tell(old: Session | None, new: Session) -> bool:
    """A session that speaks for itself is believed; and of two processes with one id, the one that lives."""
    if old is None:
        return True
    if not only_found(old):
        return False
    same = old.pid_started == new.pid_started and old.pid == new.pid
    return same or processes.gone(old.pid, old.pid_started)


def _running(finder: Finder, root: int) -> list[Process]:
    mine = processes.running(finder.runs, root)
    if not finder.holds:
        return mine
    return [replace(process, holds=processes.open_files(process.pid, finder.holds)) for process in mine]


def _sessions(finder: Finder, running: list[Process], panes: list[Pane]) -> list[Session]:
    sessions = [finder.found(process, _file(Path(finder.session_file(process))), panes) for process in running]
    told = [replace(session, transcript=_there(session.transcript)) for session in sessions if session is not None]
    return [session for session in told if _sayable(session)]


def _sayable(session: Session) -> bool:
    """A socket or a transcript whose path is no text can be neither recorded nor told: passed over."""
    try:
        return bool(msgspec.json.encode(session))
    except UnicodeEncodeError:
        return False


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE)
    except OSError:
        return b""


def _there(transcript: str) -> str:
    """Where the transcript is, if it is not where the folder's name says: long names are cut."""
    path = Path(transcript)
    if not transcript or os.path.exists(transcript):  # which also says no to a name that is too long for one
        return transcript
    with contextlib.suppress(OSError):
        elsewhere: Iterable[Path] = path.parent.parent.glob(f"*/{path.name}")
        return next((str(each) for each in elsewhere), transcript)
    return transcript
