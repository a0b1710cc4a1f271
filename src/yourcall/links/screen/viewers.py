"""Terminals that only show a session which is known by other means: clients of a shared server.

Rule: that session gets the terminal, and the terminal is no second session beside it. When the window closes, or
shows another session, the first one goes on without.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from yourcall.agents.sightings import Process
from yourcall.agents.spec import Finder
from yourcall.links import processes, session_ids
from yourcall.links.event_sink import EventSink
from yourcall.model.events import PromptWithdrawn, SessionSeen
from yourcall.model.sessions import TERMINALS, Session


async def join(
    teller: EventSink, finder: Finder, running: Sequence[Process], sessions: Sequence[Session]
) -> list[Session]:
    """Give each session the terminal in which it is shown. What is left: those that are sessions of their own."""
    if finder.shown is None:
        return list(sessions)
    living = [session for session in teller.state.sessions.values() if session.state != "ended"]
    shown = finder.shown(running, living)
    lent = {shown[session.pid]: session for session in sessions if session.pid in shown}
    for known in living:
        window = lent.get(known.id)
        if window is not None:
            await _lend(teller, finder, known, window)
        elif _behind_a_window(known) and (shown.get(known.pid, known.id) != known.id or _closed(known)):
            await _take_back(teller, known)
    return [session for session in sessions if session.pid not in shown]


def _behind_a_window(session: Session) -> bool:
    kinds = {link.kind for link in session.links}
    return "socket" in kinds and bool(kinds & set(TERMINALS))


def _closed(session: Session) -> bool:
    return processes.gone(session.pid, session.pid_started)


async def _lend(teller: EventSink, finder: Finder, known: Session, window: Session) -> None:
    links = (*(link for link in known.links if link.kind not in TERMINALS), *window.links)
    process = {"pid": window.pid, "pid_started": window.pid_started}
    new = replace(known, state="unknown", links=links, **process)
    if replace(new, state=known.state) != known:
        await teller.post(SessionSeen(time.time(), new))
    for other in session_ids.others(teller.state, new):
        if other.id.startswith(finder.unnamed):
            await session_ids.follow(teller, other, known.id)


async def _take_back(teller: EventSink, known: Session) -> None:
    now, links = time.time(), tuple(link for link in known.links if link.kind not in TERMINALS)
    await teller.post(SessionSeen(now, replace(known, state="unknown", links=links)))
    for prompt in teller.state.of_session(known.id):
        if prompt.link == "screen":
            await teller.post(PromptWithdrawn(now, prompt.id, "its terminal is gone"))
