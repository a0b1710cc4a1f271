"""What Claude asks over its pipe, as prompts; and an answer, as the reply it waits for.

Rule: the same words, questions, options and decisions as through a hook; only the envelope is another one.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from yourcall.agents.claude import pauses
from yourcall.agents.claude.hooks import AGENT, read_hook
from yourcall.agents.claude.live.wire import Line, Request, Result, derived_id
from yourcall.agents.claude.reply import plan
from yourcall.agents.claude.wire import HookPayload
from yourcall.agents.kit import forms
from yourcall.agents.sightings import HookCall
from yourcall.core.safety import chosen
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Answer, Kind, Option, Outcome, Prompt, Question, Refused
from yourcall.model.sessions import Session

LINK = "stdio"

# There is no desk to send anybody to: what cannot be shown can at least be refused.
REFUSE = Question(
    "decision",
    "This cannot be shown as questions. What now?",
    (
        Option("deny", "Deny", "deny", "Refuses this call, with your reason if you give one; Claude goes on."),
        Option("stop", "Deny and stop", "stop", "Refuses this call and stops the turn; Claude waits for you."),
    ),
    free_text=True,
)


class Output(Struct, frozen=True):
    decision: Raw = Raw(b"")
    action: str = ""
    content: Raw = Raw(b"null")


class Printed(Struct, frozen=True):
    """What a hook would print for this answer."""

    hookSpecificOutput: Output


def raised(
    session: Session, request_id: str, request: Request, agent_type: str, at: float
) -> tuple[PromptRaised, dict[str, bytes]] | None:
    """The prompt of a request, told as a hook would have told it; None if it cannot be one."""
    prompt_id = derived_id(session.id, request_id)
    event = "Elicitation" if request.subtype == "elicitation" else "PermissionRequest"
    payload: dict[str, object] = {
        "session_id": session.id,
        "cwd": session.cwd,
        "permission_mode": session.permission_mode,
        "tool_name": request.tool_name,
        "tool_input": request.input,
        "permission_suggestions": request.permission_suggestions,
        "agent_id": request.agent_id or "",
        "agent_type": agent_type,
        "mcp_server_name": request.mcp_server_name,
        "message": request.message,
        "mode": request.mode or "",
        "url": request.url or "",
        "requested_schema": request.requested_schema,
    }
    result = read_hook(HookCall(at, event, msgspec.json.encode(payload), {}, prompt_id, prompt_id))
    told = next((each for each in result.events if isinstance(each, PromptRaised)), None)
    if told is None:
        return None
    prompt = replace(told.prompt, link=LINK, call_id=request.tool_use_id or "")
    if not prompt.questions:
        unfillable = replace(forms.action(False, "Claude"), options=forms.action(False, "Claude").options[1:])
        prompt = replace(prompt, questions=(unfillable if prompt.kind == "elicitation" else REFUSE,))
    return replace(told, prompt=prompt), result.bodies


def reply(prompt: Prompt, answer: Answer, request: bytes) -> object | Refused:
    """What the request is answered with."""
    planned = plan(prompt, answer, request)
    if isinstance(planned, Refused):
        return planned
    printed = msgspec.json.decode(planned.output, type=Printed).hookSpecificOutput
    if prompt.kind != "elicitation":
        return printed.decision
    accepted = {"content": printed.content} if printed.action == "accept" else {}
    return {"action": printed.action, **accepted}


def wanted(prompt: Prompt, answer: Answer) -> Outcome:
    effects = {option.effect for option in chosen(prompt, answer)}
    return "stopped" if "stop" in effects else "denied" if "deny" in effects else "allowed"


def in_words(kind: Kind, outcome: Outcome, failed: bool) -> str:
    """What became of a call, for the history."""
    if outcome == "denied":
        return "it was refused"
    if outcome == "stopped":
        return "refused, and the turn stopped"
    ran = {"question": "it was answered", "plan": "the plan was approved"}.get(kind, "it ran")
    return f"{ran}, and ended with an error" if failed else ran


def pause(
    session: Session, line: Line, result: Result, error: str, tasks: list[Raw], resets_at: float, at: float
) -> Prompt:
    """The turn is over: ready for the next instruction, or stopped by a problem. `is_error` decides, alone.
    `resets_at`: of the limit that was told of in this turn."""
    stopped = (result.terminal_reason or "").startswith("aborted") or (
        not result.is_error and line.subtype == "error_during_execution"  # how 2.0 tells of an interrupt
    )
    text = result.result or "\n".join(result.errors or [])
    payload = HookPayload(
        session.id,
        error=error.replace("unknown", "") or line.subtype or "",
        last_assistant_message="The turn was stopped." if stopped else text,
        background_tasks=[_task(raw) for raw in tasks],
    )
    # A person drives it, through us: for them it is ready like one in a terminal.
    now = pauses.ready(payload, replace(session, mode="terminal"))
    assert now is not None
    if result.is_error and not stopped:
        told = pauses.problem(payload, at)
        limited = payload.error == pauses.LIMIT
        now = replace(told, questions=now.questions, resets_at=(resets_at if limited else 0.0) or told.resets_at)
    return _prompt(session, ("pause", line.uuid or str(at)), now, at, answerable=True, stopped=stopped)


def trouble(session: Session, error: str, key: str, at: float) -> Prompt:
    """The service does not answer, and Claude tries again."""
    return _prompt(session, ("trouble", key), pauses.retrying(error), at, answerable=False)


def _prompt(
    session: Session,
    key: tuple[str, str],
    now: pauses.Pause,
    at: float,
    *,
    answerable: bool,
    stopped: bool = False,
) -> Prompt:
    return Prompt(
        id=derived_id(session.id, *key),
        kind=now.kind,
        agent=AGENT,
        session_id=session.id,
        cwd=session.cwd,
        title=now.title,
        opened_at=at,
        body=now.body,
        questions=now.questions,
        fingerprint=now.mark,
        permission_mode=session.permission_mode,
        link=LINK,
        answerable=answerable,
        stopped=stopped,
        resets_at=now.resets_at,
    )


def _task(raw: Raw) -> Raw:
    """A background task as the Stop hook would name it."""
    try:
        told = msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        told = {}
    kind = told.get("subagent_type") or told.get("task_type") or ""
    return Raw(msgspec.json.encode({"type": str(kind), "description": str(told.get("description", ""))}))
