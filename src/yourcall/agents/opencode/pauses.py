"""The end of a turn: ready for the next instruction, or stopped by a problem.

Rule: a pause is raised for a session with a person behind it, never for a sub-agent, and says what to do next.
"""

from __future__ import annotations

from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import PROBLEM, READY, READY_TITLE, STOPPED, derived_id, turn_ended
from yourcall.agents.opencode.app import App
from yourcall.agents.opencode.requests import LINK
from yourcall.agents.opencode.wire import Idle
from yourcall.model.prompts import Kind, Prompt
from yourcall.model.sessions import Session

# What opencode calls the failure -> what to do. Anything else is shown in its own words.
HELP = {
    "ProviderAuthError": "Sign in at the machine: run `{program} auth login`.",
    "ContextOverflowError": "The conversation is too long: say `/compact` at its terminal, then go on.",
    "MessageOutputLengthError": "The model's answer was cut off. Say `go on`.",
}
ABORTED = "MessageAbortedError"


def pause_id(app: App, session_id: str, turn: str) -> str:
    return derived_id(app.name, session_id, "pause", turn)


def paused(app: App, session: Session, idle: Idle, at: float) -> Prompt:
    error = idle.error
    kind: Kind = "ready"
    title, body, mark = READY_TITLE, idle.text, READY
    if error is not None and error.name == ABORTED:
        body = STOPPED
    elif error is not None:
        kind, mark = "problem", f"{PROBLEM}{error.name[:80]}"
        title = prompts.line(error.message, f"{app.title} stopped: an error")
        body = prompts.paragraphs(error.message, HELP.get(error.name, "").format(program=app.name))
    return turn_ended(
        session,
        id=pause_id(app, session.id, idle.turn),
        link=LINK,
        at=at,
        body=body,
        kind=kind,
        title=title,
        mark=mark,
        turn_id=idle.turn[:200],
        stopped=error is not None and error.name == ABORTED,
    )
