"""The end of a turn over ACP: ready for the next instruction, or stopped by a problem.

Rule: says what to do next; an error is shown in the agent's own words.
"""

from __future__ import annotations

from yourcall.agents.acp.requests import LINK
from yourcall.agents.acp.table import Row
from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import PROBLEM, READY, READY_TITLE, STOPPED, derived_id, turn_ended
from yourcall.model.prompts import Kind, Prompt
from yourcall.model.sessions import Session

# Why a turn ended that was not finished -> what happened, and what to do.
PROBLEMS = {
    "max_tokens": ("The model's answer was cut off: it was too long", "Say `go on`."),
    "max_turn_requests": (
        "It asked the model as often as one turn allows, or went round in circles",
        "Look at what it did, then say how to go on.",
    ),
    "refusal": ("The model refused to go on", "Say it in other words, or begin a new session."),
}


def pause(session: Session, row: Row, key: str, reason: str, last: str, error: str, at: float) -> Prompt:
    """What a session waits for now. `reason`: why its turn ended; empty: it has not had one yet."""
    kind: Kind = "ready"
    title, body, mark = READY_TITLE, last, READY
    if not reason and not error:
        title = "Ready for the first instruction"
    elif error:
        kind, mark = "problem", PROBLEM + "error"
        title = prompts.line(error, f"{row.title} stopped: an error")
        body = prompts.paragraphs(error, "Say `go on` to try again.")
    elif reason == "cancelled":
        body = STOPPED
    elif reason in PROBLEMS:
        kind, mark = "problem", PROBLEM + reason
        title, next_step = PROBLEMS[reason]
        body = prompts.paragraphs(last, next_step)
    return turn_ended(
        session,
        id=derived_id(session.id, "pause", key),
        link=LINK,
        at=at,
        body=body,
        kind=kind,
        title=title,
        mark=mark,
        stopped=reason == "cancelled",
    )
