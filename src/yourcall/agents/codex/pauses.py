"""The end of a turn: ready for the next instruction, stopped by a problem, or with a plan that wants a word.

Rule: a pause is raised for a session with a person behind it, never for a sub-agent, and says what to do next.
"""

from __future__ import annotations

from yourcall.agents.codex.requests import AGENT
from yourcall.agents.codex.wire import Item, Thread, Turn
from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import (
    NEXT,
    PROBLEM,
    READY,
    READY_TITLE,
    STOPPED,
    WHAT_NEXT,
    derived_id,
    turn_ended,
)
from yourcall.agents.kit.resets import reset_in
from yourcall.agents.kit.wire import decoded
from yourcall.model.prompts import Kind, Option, Prompt, Question
from yourcall.model.sessions import Session

PLAN = "plan"
IMPLEMENT = "Implement the plan."  # what Codex's own dialog sends

LIMIT = "usageLimitExceeded"
# What the server calls the failure -> what happened, and what to do. Anything else is shown in its own words.
PROBLEMS = {
    LIMIT: ("Codex's usage limit is reached", "Wait until the limit resets, then go on."),
    "contextWindowExceeded": ("The conversation is too long", "Say `/compact` in the session, then go on."),
    "unauthorized": ("Codex is not signed in, or the login has expired", "Run `codex login` at the machine."),
    "reauthenticationRequired": ("Codex's login has expired", "Run `codex login` at the machine."),
    "serverOverloaded": ("Codex's service is overloaded", "Say `go on` in a while."),
    "internalServerError": ("Codex's service failed", "Say `go on`; if it fails again, wait a while."),
}


def ended(thread: Thread, turn: Turn, last: Item, link: str, at: float) -> Prompt:
    """What a session waits for once this turn is over. `last`: the last thing that was said in it."""
    kind: Kind = "ready"
    title, body, mark = READY_TITLE, last.text, READY
    questions = WHAT_NEXT
    resets_at = 0.0
    if turn.status == "interrupted":
        body = STOPPED
    elif turn.status == "failed":
        kind = "problem"
        failure = turn.error
        name = decoded(str, failure.codexErrorInfo) or "" if failure else ""
        known = PROBLEMS.get(name)
        title = known[0] if known else prompts.line(failure.message if failure else "", "Codex stopped: an error")
        body = prompts.paragraphs(failure.message if failure else "", known[1] if known else "")
        mark = PROBLEM + name[:80]
        if name == LIMIT and failure is not None:
            resets_at = reset_in(failure.message, at)
    elif last.type == "plan" and link == "stdio":  # in a terminal Codex shows a dialog of its own
        kind, title, mark = "plan", "Approve the plan?", PLAN
        options = (
            Option("approve", "Approve", "allow_once", "Leaves plan mode; Codex carries the plan out."),
            Option("revise", "Keep planning", "deny", "Codex stays in plan mode and gets your feedback."),
        )
        questions = (Question(NEXT, "Approve this plan?", options, free_text=True),)
    return turn_ended(
        Session(thread.sessionId or thread.id, AGENT, thread.cwd),
        id=derived_id(thread.id, "pause", turn.id),
        link=link,
        at=at,
        body=body,
        kind=kind,
        title=title,
        mark=mark,
        turn_id=turn.id,
        questions=questions,
        stopped=turn.status == "interrupted",
        resets_at=resets_at,
    )
