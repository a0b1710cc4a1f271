"""The end of a turn of Copilot CLI: ready for the next instruction, or stopped by a problem.

Rule: raised for the person's own conversation, never for a sub-agent, and says what to do next.
"""

from __future__ import annotations

from yourcall.agents.copilot.requests import AGENT, LINK
from yourcall.agents.copilot.wire import Event, Failure, decoded, time_of
from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import derived_id
from yourcall.model.prompts import Kind, Prompt, Question
from yourcall.model.sessions import Session

NEXT = "next"
READY = "ready"
PROBLEM = "problem:error"


def ended(session: Session, idle: Event, at: float) -> Prompt:
    """What a session waits for once this turn is over."""
    kind: Kind = "ready"
    title, body, mark = "Ready for the next instruction", idle.last, READY
    failure = decoded(Failure, idle.failure.data) if idle.failure is not None else None
    if failure is not None:
        kind, mark = "problem", PROBLEM
        title = prompts.line(failure.message, "Copilot stopped: an error")
        body = prompts.paragraphs(failure.message, "Say `go on` to try again.")
    return Prompt(
        id=derived_id(AGENT, session.id, "pause", idle.id),
        kind=kind,
        agent=AGENT,
        session_id=session.id,
        cwd=session.cwd,
        title=title,
        opened_at=time_of(idle.timestamp) or at,
        body=prompts.cut(body),
        questions=(Question(NEXT, "What next?", free_text=True),),
        fingerprint=mark,
        turn_id=idle.id,
        link=LINK,
        answerable=True,
    )
