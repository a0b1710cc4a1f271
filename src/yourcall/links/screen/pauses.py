"""What a screen shows while no dialog asks: at work, at rest, in trouble, or stopped at the desk.

Rule: a screen has the last word, never the first. What hooks told stands until a screen has contradicted it for a
while, and trouble is told once it lasts.
"""

from __future__ import annotations

import secrets
import time

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.screen_spec import Offer, ScreenSpec, Snapshot
from yourcall.links.event_sink import EventSink
from yourcall.model.events import PromptRaised, PromptWithdrawn, SessionSeen
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import TERMINALS, Session, SessionState

DOUBT_S = 1.0  # so long must a screen contradict what the hooks said last
TROUBLE = "problem:screen"
TROUBLE_S = 3.0  # a call that works at the second try is no news


class Rest(Struct):
    """What one pane was last seen to be at."""

    state: str = ""
    state_since: float = 0.0
    troubled_at: float = 0.0
    turn: bool = False  # a turn was seen to be under way


async def told(
    teller: EventSink, session_id: str, rest: Rest, screen: str, shot: Snapshot, on: ScreenSpec
) -> None:
    """A look at a pane in which no dialog waits."""
    if on.draft(screen) is not None:
        await _works(teller, session_id, rest, shot)
    await _troubled(teller, session_id, rest, shot, on)
    await _stopped(teller, session_id, rest, shot, on)


async def _works(teller: EventSink, session_id: str, rest: Rest, shot: Snapshot) -> None:
    """At work or at rest, as the input box shows. Hooks know sooner, but their words may come in any order."""
    session = teller.state.sessions.get(session_id)
    if session is None:
        return
    state: SessionState = "working" if shot.reading.state == "working" else "idle"
    now = time.monotonic()
    if rest.state != state:
        rest.state, rest.state_since = state, now
    hooked = any(link.kind not in TERMINALS for link in session.links)
    if session.state != state and now - rest.state_since >= (DOUBT_S if hooked else 0.0):
        await teller.post(SessionSeen(time.time(), replace(session, state=state, seen_at=time.time())))


async def _troubled(teller: EventSink, session_id: str, rest: Rest, shot: Snapshot, on: ScreenSpec) -> None:
    """What keeps the session from working, shown as long as the screen says it."""
    offer = on.trouble(shot) if on.trouble is not None else None
    session, now = teller.state.sessions.get(session_id), time.time()
    prompts = [p for p in teller.state.of_session(session_id) if p.fingerprint == TROUBLE]
    if offer is None or session is None:
        rest.troubled_at = 0.0
        for prompt in prompts:
            await teller.post(PromptWithdrawn(now, prompt.id, "it is over"))
        return
    rest.troubled_at = rest.troubled_at or now
    if not prompts and now - rest.troubled_at >= TROUBLE_S:
        await teller.post(PromptRaised(now, _pause(session, offer, TROUBLE, now)))


async def _stopped(teller: EventSink, session_id: str, rest: Rest, shot: Snapshot, on: ScreenSpec) -> None:
    """The turn was cancelled at the desk, and nothing but the screen tells that the session is ready."""
    offer = on.stopped(shot) if on.stopped is not None and rest.turn else None
    session, now = teller.state.sessions.get(session_id), time.time()
    if offer is None or session is None:
        return
    rest.turn = False
    known = (p for p in teller.state.of_session(session.id) if p.fingerprint == offer.kind)
    if any(p.state == "open" for p in known):
        return  # its hook has told of it after all, with more words
    # Named as the agent's own hook would, whose word ends it.
    prompt = replace(
        _pause(session, offer, offer.kind, now), questions=offer.questions, answerable=True, stopped=True
    )
    await teller.post(SessionSeen(now, replace(session, state="idle", seen_at=now)))
    await teller.post(PromptRaised(now, prompt))


def _pause(session: Session, offer: Offer, fingerprint: str, now: float) -> Prompt:
    """What only a screen tells of, and no dialog asks: the next word is the person's."""
    return Prompt(
        id=secrets.token_hex(8),
        kind=offer.kind,
        agent=session.agent,
        session_id=session.id,
        cwd=session.cwd,
        title=offer.title,
        opened_at=now,
        body=offer.body,
        fingerprint=fingerprint,
        permission_mode=session.permission_mode,
        link="speech",
    )
