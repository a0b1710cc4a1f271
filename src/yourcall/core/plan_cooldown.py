"""After "outline first", a plan that comes again too soon is refused without asking the person again.

Rule: 30 s for each time it was said, two minutes at most; an explicit yes or no starts over; nothing else does.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.core.state import State
from yourcall.model.prompts import Answer, Prompt
from yourcall.model.sessions import Session

OPTION = "outline"
EACH_S = 30.0
MOST_S = 120.0
VIA = "rule"


def too_soon(state: State, prompt: Prompt, at: float) -> bool:
    session = state.sessions.get(prompt.session_id)
    if session is None or prompt.kind != "plan" or not session.outlines or not prompt.answerable:
        return False
    return at < session.outlined_at + min(EACH_S * session.outlines, MOST_S)


def refusal(prompt: Prompt) -> Answer:
    choices = {question.id: (OPTION,) for question in prompt.questions}
    return Answer(f"{prompt.id}-outline", "outline first", VIA, choices, author_certainty="yourcall")


def counted(state: State, prompt: Prompt, answer: Answer, at: float) -> tuple[Session, ...]:
    """The session's row after a person answered its plan."""
    session = state.sessions.get(prompt.session_id)
    if session is None or prompt.kind != "plan" or answer.via == VIA:
        return ()
    again = any(OPTION in picked for picked in answer.choices.values())
    if again:
        return (replace(session, outlines=session.outlines + 1, outlined_at=at),)
    return (replace(session, outlines=0, outlined_at=0.0),) if session.outlines else ()
