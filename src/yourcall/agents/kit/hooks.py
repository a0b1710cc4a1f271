"""What the hooks of several agents have in common: the payload, its session, and the prompts it raises.

Rule: a payload that makes no sense is a `problem` in words; the agent's own dialog is untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.kit.prompts import READY, READY_TITLE, WHAT_NEXT
from yourcall.agents.kit.wire import empty
from yourcall.agents.sightings import CallResult, Ending, HookCall, HookResult
from yourcall.model.events import CallSettled, SessionEnded, SessionSeen
from yourcall.model.prompts import Kind, Outcome, Prompt
from yourcall.model.sessions import Link, Session, SessionState

SAFE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
LONGEST_PATH = 4096

# How a record tells the end of a call, in agents of one family.
CALL_OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "success": ("allowed", "it ran"),
    "error": ("allowed", "it ran, and failed"),
    "cancelled": ("denied", "it was refused"),
}


class HookPayload(Struct, frozen=True):
    """The fields that the hooks of several agents share; each agent's own payload adds to them."""

    session_id: str = ""
    hook_event_name: str = ""
    timestamp: str = ""
    transcript_path: str | None = ""
    cwd: str = ""
    permission_mode: str = ""
    tool_name: str = ""
    tool_input: Raw = field(default_factory=empty)
    prompt: str = ""
    reason: str = ""
    source: str = ""


P = TypeVar("P", bound=HookPayload)


def read_with(
    call: HookCall,
    decoder: msgspec.json.Decoder[P],
    agent: str,
    states: Mapping[str, SessionState],
    own_event: Callable[[HookCall, P, SessionSeen], HookResult | None],
) -> HookResult:
    """One hook call. `own_event` says what an event means in this agent; None: the same as in any other.

    A payload that makes no sense is told as a problem; the agent's dialog is untouched.
    """
    payload = payload_of(call, decoder)
    if isinstance(payload, HookResult):
        return payload
    seen = SessionSeen(call.at, session_of(call, payload, agent, states.get(call.event, "unknown")))
    result = own_event(call, payload, seen)
    if result is not None:
        return result
    if call.event == "SessionEnd":
        return HookResult((SessionEnded(call.at, payload.session_id, payload.reason[:80]),))
    return HookResult((seen,), begins=call.event == "SessionStart")


def instruction_given(payload: HookPayload) -> Ending:
    """What waited for the next instruction ends: here it is."""
    return Ending(payload.session_id, READY, "allowed", payload.prompt, "the next instruction was given")


def payload_of(call: HookCall, decoder: msgspec.json.Decoder[P]) -> P | HookResult:
    """The payload, or the problem with it."""
    try:
        payload = decoder.decode(call.payload)
        call.payload.decode()  # msgspec doesn't look into a Raw, so bad UTF-8 is noticed here
    except (ValueError, RecursionError) as error:
        return HookResult(problem=f"unreadable {call.event} payload: {error}")
    return payload if SAFE_ID.fullmatch(payload.session_id) else impossible_id(call)


def impossible_id(call: HookCall) -> HookResult:
    return HookResult(problem=f"{call.event} payload with an impossible session id")


def session_of(call: HookCall, payload: HookPayload, agent: str, state: SessionState, pid: str = "pid") -> Session:
    """The session as this call shows it. `pid`: the variable that holds the agent's process."""
    env = call.env
    links = [Link("hook")]
    if env.get("TMUX_PANE") and env.get("TMUX"):
        links.append(Link("tmux", env["TMUX_PANE"], env["TMUX"].split(",")[0]))
    number = env.get(pid, "")
    return Session(
        id=payload.session_id,
        agent=agent,
        cwd=payload.cwd[:LONGEST_PATH],
        state=state,
        permission_mode=payload.permission_mode[:40],
        links=tuple(links),
        pid=int(number) if number.isdecimal() and len(number) < 10 else 0,
        transcript=(payload.transcript_path or "")[:LONGEST_PATH],
        started_at=call.at if call.event == "SessionStart" else 0.0,
        seen_at=call.at,
    )


def prompt_of(call: HookCall, payload: HookPayload, agent: str, title: str, kind: Kind = "permission") -> Prompt:
    """The prompt that this call is about, as far as every agent tells it alike."""
    return Prompt(
        id=call.new_id,
        kind=kind,
        agent=agent,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=title,
        opened_at=call.at,
        permission_mode=payload.permission_mode[:40],
    )


def ready_prompt(call: HookCall, payload: HookPayload, agent: str, text: str) -> Prompt:
    """The end of a turn. `text`: what the agent said last."""
    prompt = prompt_of(call, payload, agent, READY_TITLE, "ready")
    return msgspec.structs.replace(prompt, body=text, questions=WHAT_NEXT, fingerprint=READY, link="speech")


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """For a record that names nobody: it tells what became of the call, not who decided."""
    return CallSettled(at, prompt.id, result.outcome, result.source, result.detail)
