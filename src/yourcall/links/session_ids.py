"""The ids one run goes by: `/clear`, a resume or a fork gives it another one, and prompts go with the run.

Rule: the process decides. What a late word says under an id that the process has laid down changes nothing; what
the run waits for is never ended because its name changed.
"""

from __future__ import annotations

import time
from pathlib import Path

from yourcall.agents.spec import Agent
from yourcall.core.state import State
from yourcall.links.event_sink import EventSink
from yourcall.model.events import PromptFollowed, SessionEnded
from yourcall.model.sessions import Session

STRANGER = "pid-"  # how the id of a session begins that has not told its own; discovery gives the same ones


def others(state: State, session: Session) -> list[Session]:
    """The other ids under which this very process is known."""
    if not session.pid or not session.pid_started:
        return []
    return [
        each
        for each in state.sessions.values()
        if each.id != session.id and _run(each) == _run(session) and each.agent == session.agent
    ]


def current(agent: Agent, state: State, session: Session, *, begins: bool) -> str:
    """The id this process goes by now: what was just said, or what has been said since.

    `begins`: the session says that it begins under this id, which is always news. Anything else may be a word from
    before that comes late; then the file that the process keeps about itself tells.
    """
    rivals = [each for each in others(state, session) if not each.id.startswith(STRANGER)]
    if begins or not rivals:
        return session.id
    named = _named(agent, session)
    return next((each.id for each in rivals if each.id == named), session.id)


def latest(state: State, session: Session) -> str:
    """The id under which this run goes on, if it was cleared, resumed or forked since it had this one."""
    if session.id in state.sessions:
        return session.id
    return next((each.id for each in others(state, session)), session.id)


async def follow(teller: EventSink, old: Session, new_id: str, body: str = "") -> None:
    """Tell that `old` goes on under this id. `body`: what a pause says now, if its conversation is another one."""
    now = time.time()
    for prompt in teller.state.of_session(old.id):
        text = body if prompt.kind == "ready" else ""
        await teller.post(PromptFollowed(now, prompt.id, new_id, old.transcript, text))
    await teller.post(SessionEnded(now, old.id, f"it goes on as {new_id}", new_id))


def _run(session: Session) -> tuple[int, str]:
    return session.pid, session.pid_started


def _named(agent: Agent, session: Session) -> str:
    path = agent.status_file_of(session)
    try:
        status = agent.read_status(Path(path).read_bytes()) if path else None
    except (OSError, ValueError):
        return ""
    fits = status is not None and status.pid_started in ("", session.pid_started)
    return status.session_id if status is not None and fits else ""
