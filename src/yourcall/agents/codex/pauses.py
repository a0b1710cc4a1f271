"""The end of a turn: ready for the next instruction, stopped by a problem, or with a plan that wants a word.

Rule: a pause is raised for a session with a person behind it, never for a sub-agent, and says what to do next.
"""

from __future__ import annotations

from yourcall.agents.codex.requests import AGENT
from yourcall.agents.codex.wire import Item, Thread, Turn, decoded
from yourcall.agents.kit import prompts
from yourcall.agents.kit.prompts import derived_id
from yourcall.model.prompts import Kind, Option, Prompt, Question

NEXT = "next"
READY = "ready"
PROBLEM = "problem:"
PLAN = "plan"
IMPLEMENT = "Implement the plan."  # what Codex's own dialog sends

# What the server calls the failure -> what happened, and what to do. Anything else is shown in its own words.
PROBLEMS = {
    "usageLimitExceeded": ("Codex's usage limit is reached", "Wait until the limit resets, then go on."),
    "contextWindowExceeded": ("The conversation is too long", "Say `/compact` in the session, then go on."),
    "unauthorized": ("Codex is not signed in, or the login has expired", "Run `codex login` at the machine."),
    "reauthenticationRequired": ("Codex's login has expired", "Run `codex login` at the machine."),
    "serverOverloaded": ("Codex's service is overloaded", "Say `go on` in a while."),
    "internalServerError": ("Codex's service failed", "Say `go on`; if it fails again, wait a while."),
}


def ended(thread: Thread, turn: Turn, last: Item, link: str, at: float) -> Prompt:
    """What a session waits for once this turn is over. `last`: the last thing that was said in it."""
    kind: Kind = "ready"
    title, body, mark = "Ready for the next instruction", last.text, READY
    questions = (Question(NEXT, "What next?", free_text=True),)
    if turn.status == "interrupted":
        body = "The turn was stopped."
    elif turn.status == "failed":
        kind = "problem"
        failure = turn.error
        name = decoded(str, failure.codexErrorInfo) or "" if failure else ""
        known = PROBLEMS.get(name)
        title = known[0] if known else prompts.line(failure.message if failure else "", "Codex stopped: an error")
        body = prompts.paragraphs(failure.message if failure else "", known[1] if known else "")
        mark = PROBLEM + name[:80]
    elif last.type == "plan" and link == "stdio":  # in a terminal Codex shows a dialog of its own
        kind, title, mark = "plan", "Approve the plan?", PLAN
        options = (
            Option("approve", "Approve", "allow_once", "Leaves plan mode; Codex carries the plan out."),
            Option("revise", "Keep planning", "deny", "Codex stays in plan mode and gets your feedback."),
        )
        questions = (Question(NEXT, "Approve this plan?", options, free_text=True),)
    return Prompt(
        id=derived_id(thread.id, "pause", turn.id),
        kind=kind,
        agent=AGENT,
        session_id=thread.sessionId or thread.id,
        cwd=thread.cwd,
        title=title,
        opened_at=at,
        body=prompts.cut(body),
        questions=questions,
        fingerprint=mark,
        turn_id=turn.id,
        link=link,
        answerable=True,
        stopped=turn.status == "interrupted",
    )
