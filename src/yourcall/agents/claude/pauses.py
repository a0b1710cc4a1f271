"""The pauses that no request stands behind: ready for the next instruction, and problems; and how each one ends.

Rule: a pause is raised only for a session with a person behind it, and says what to do next.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from yourcall.agents.claude import wording
from yourcall.agents.claude.wire import HookPayload
from yourcall.agents.kit.resets import reset_in
from yourcall.agents.sightings import Ending, HookResult
from yourcall.model.events import SessionSeen
from yourcall.model.prompts import Kind, Outcome, Question
from yourcall.model.sessions import Session

READY = "ready"
READY_AGAIN = "ready:again"  # after a stop that another hook undid
PROBLEM = "problem:"
LOGIN = "problem:authentication_failed"
FORM = "elicitation:"
NEXT = "next"

# Why a session begins -> what its input box is ready for then. After a fork the conversation is the same one.
ANEW = {
    "clear": "The conversation was cleared; what you say next begins a new one.",
    "resume": "Another conversation was taken up again in this session.",
}
GOES_ON = frozenset({"clear", "resume"})  # reasons of SessionEnd after which the process goes on, under another id

LIMIT = "rate_limit"
# What the CLI calls the failure -> what happened, and what to do. Anything else is shown in its own words.
PROBLEMS = {
    "authentication_failed": (
        "Claude is not logged in, or the login has expired",
        "Run /login in the session; for a machine without a browser: claude setup-token.",
    ),
    "oauth_org_not_allowed": ("This account may not use Claude Code", "Log in with another account: /login."),
    "billing_error": ("Claude's account has no credit left", "See to the account's plan or credit, then go on."),
    LIMIT: (
        "Claude's usage limit is reached",
        "Wait until the limit resets, or switch the model, then go on.",
    ),
    "overloaded": ("Claude's service is overloaded", "Say `go on` in a while."),
    "server_error": ("Claude's service failed", "Say `go on`; if it fails again, wait a while."),
    "invalid_request": (
        "Claude's service refused the request",
        "Read the message; /compact helps if it is too long.",
    ),
    "unknown": ("Claude stopped with an error", "Read the message; say `go on` to try again."),
    "max_output_tokens": ("The reply was too long and was cut", "Say `go on`."),
}


# What a failed call to the service says beside its name. Claude calls both a server error.
OVERLOADED = re.compile(r"\b529\b|\boverloaded\b", re.I)
RETRYING = "problem:retrying"


class Pause(Struct, frozen=True):
    kind: Kind
    title: str
    body: str
    mark: str
    questions: tuple[Question, ...] = ()
    resets_at: float = 0.0


class Task(Struct, frozen=True):
    type: str = ""
    description: str = ""
    command: str = ""
    status: str = ""


def ready(payload: HookPayload, session: Session) -> Pause | None:
    """The turn is over. `claude -p` has nobody to ask.

    A stop that another hook undoes looks like any other. The next one has `stop_hook_active`: it is the one that
    counts, and its prompt takes the place of the first, also if the first one's hook comes in late.
    """
    if session.mode == "headless" or payload.agent_id:
        return None
    running = [f"Still running: {task}" for task in map(_task, payload.background_tasks) if task]
    body = "\n\n".join([payload.last_assistant_message[: wording.LONGEST_BODY], *running]).strip()
    question = Question(NEXT, "What next?", free_text=True)
    mark = READY_AGAIN if payload.stop_hook_active else READY
    return Pause("ready", "Ready for the next instruction", body, mark, (question,))


def problem(payload: HookPayload, at: float) -> Pause:
    """One that names when its limit resets can be told to go on then."""
    full = payload.error == "server_error" and OVERLOADED.search(payload.last_assistant_message)
    known = PROBLEMS.get("overloaded" if full else payload.error)
    title, advice = known or (f"Claude stopped: {payload.error or 'an error'}"[: wording.LONGEST_TITLE], "")
    text = payload.last_assistant_message[: wording.LONGEST_BODY]
    resets_at = reset_in(text, at) if payload.error == LIMIT else 0.0
    questions = (Question(NEXT, "What next?", free_text=True),) if resets_at else ()
    body = "\n\n".join(part for part in (text, advice) if part)
    return Pause("problem", title, body, PROBLEM + payload.error[:80], questions, resets_at)


def retrying(text: str) -> Pause:
    """It has not given up: nothing need be done yet, but a person should know why nothing happens."""
    advice = "Claude tries again by itself; nothing need be done. If it lasts: stop it, and go on later."
    return Pause("problem", "Claude's service does not answer as it should", f"{text}\n\n{advice}", RETRYING)


def next_turn(payload: HookPayload) -> tuple[Ending, ...]:
    """The next instruction came: what waited for it is over, wherever it was given."""
    turn = payload.prompt_id[:128]
    given = Ending(payload.session_id, READY, "allowed", payload.prompt, "the next instruction was given", turn)
    over = Ending(payload.session_id, PROBLEM, None, payload.prompt, "the session went on", turn)
    return given, over


def notified(seen: SessionSeen, payload: HookPayload) -> HookResult:
    """What Claude tells the person besides: a login that worked, or a reminder of what it waits for."""
    session_id = payload.session_id
    match payload.notification_type:
        case "auth_success":
            return HookResult((seen,), endings=(Ending(session_id, LOGIN, None, detail="logged in"),))
        case "idle_prompt":
            return HookResult((seen,), nudged="ready")
        case "elicitation_dialog":
            return HookResult((seen,), nudged="elicitation")
        case "permission_prompt":
            return HookResult((seen,), nudged="permission")
        case _:
            return HookResult((seen,))


def form_mark(payload: HookPayload) -> str:
    return f"{FORM}{payload.mcp_server_name[:200]}:{payload.mode or 'form'}"


def forms_of(tool: str) -> str:
    """How the forms begin that an MCP server may raise while this tool of its runs."""
    server = tool.removeprefix("mcp__").partition("__")[0] if tool.startswith("mcp__") else ""
    return f"{FORM}{server}:" if server else ""


def form_ending(payload: HookPayload) -> Ending:
    outcomes: dict[str, Outcome] = {"accept": "allowed", "decline": "denied", "cancel": "stopped"}
    outcome = outcomes.get(payload.action, "unknown")
    return Ending(payload.session_id, form_mark(payload), outcome, detail=f"the server was told: {payload.action}")


def _task(raw: msgspec.Raw) -> str:
    try:
        task = msgspec.json.decode(raw, type=Task)
    except (ValueError, RecursionError):
        return ""
    return " ".join(part for part in (task.type, task.description or task.command) if part)[
        : wording.LONGEST_TITLE
    ]
