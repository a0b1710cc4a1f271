"""The end of a turn of Copilot CLI: ready for the next instruction, or stopped by a problem.

Rule: raised for the person's own conversation, never for a sub-agent, and says what to do next.
"""

from __future__ import annotations

from yourcall.agents.copilot.requests import AGENT, LINK
from yourcall.agents.copilot.wire import Event, Failure, decoded
from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import PROBLEM, READY, READY_TITLE, derived_id, turn_ended
from yourcall.agents.kit.wire import time_of
from yourcall.model.prompts import Kind, Prompt
from yourcall.model.sessions import Session


def ended(session: Session, idle: Event, at: float) -> Prompt:
    """What a session waits for once this turn is over."""
    kind: Kind = "ready"
    title, body, mark = READY_TITLE, idle.last, READY
    failure = decoded(Failure, idle.failure.data) if idle.failure is not None else None
    if failure is not None:
        kind, mark = "problem", PROBLEM + "error"
        title = prompts.line(failure.message, "Copilot stopped: an error")
        body = prompts.paragraphs(failure.message, "Say `go on` to try again.")
    return turn_ended(
        session,
        id=derived_id(AGENT, session.id, "pause", idle.id),
        link=LINK,
        at=time_of(idle.timestamp) or at,
        body=body,
        kind=kind,
        title=title,
        mark=mark,
        turn_id=idle.id,
    )
