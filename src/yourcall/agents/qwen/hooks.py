"""What Qwen Code's hooks and its record say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception. Our hooks only
inform: dialogs come by the channel, and where there is none, by the screen.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from yourcall.agents.qwen import requests
from yourcall.agents.qwen.requests import AGENT, fields_of
from yourcall.agents.qwen.wire import HookPayload, RecordLine
from yourcall.agents.sightings import AnnouncedCall, CallResult, CallSeen, Ending, HookCall, HookResult
from yourcall.model.events import CallSettled, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Outcome, Prompt, Question, Tool
from yourcall.model.sessions import Link, Session, SessionState

SAFE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
LONGEST_PATH = 4096
READY = "ready"
NEXT = "next"

STATE_AFTER: dict[str, SessionState] = {"SessionStart": "idle", "UserPromptSubmit": "working", "Stop": "idle"}

OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "success": ("allowed", "it ran"),
    "error": ("allowed", "it ran, and failed"),
    "cancelled": ("denied", "it was refused"),
}

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(RecordLine)


def read_hook(call: HookCall) -> HookResult:
    """One hook call. A payload that makes no sense is told as a problem; the agent's dialog is untouched."""
    try:
        payload = _payload.decode(call.payload)
        call.payload.decode()  # a Raw is not looked into when it is decoded: what is no text is noticed here
    except (ValueError, RecursionError) as error:
        return HookResult(problem=f"unreadable {call.event} payload: {error}")
    if not SAFE_ID.fullmatch(payload.session_id):
        return HookResult(problem=f"{call.event} payload with an impossible session id")
    seen = SessionSeen(call.at, _session(call, payload))
    match call.event:
        case "SessionStart":
            return HookResult((seen,), begins=True)
        case "SessionEnd":
            if payload.reason == "clear":
                return HookResult((seen,))  # its process goes on, and says so under its new id
            return HookResult((SessionEnded(call.at, payload.session_id, payload.reason[:80]),))
        case "UserPromptSubmit" if payload.prompt:  # it comes empty after each round of tools
            given = Ending(payload.session_id, READY, "allowed", payload.prompt, "the next instruction was given")
            return HookResult((seen,), endings=(given,), turn=_when(call, payload))
        case "Stop" if call.new_id:
            return HookResult((seen, PromptRaised(call.at, _ready(call, payload))))
        case "PermissionRequest" if payload.tool_name and call.new_id and not call.env.get("TMUX_PANE"):
            return HookResult((seen,), told=_asks(call, payload))
        case _:
            return HookResult((seen,))


def _session(call: HookCall, payload: HookPayload) -> Session:
    env = call.env
    links = [Link("hook")]
    if env.get("TMUX_PANE") and env.get("TMUX"):
        links.append(Link("tmux", env["TMUX_PANE"], env["TMUX"].split(",")[0]))
    pid = env.get("pid", "")
    return Session(
        id=payload.session_id,
        agent=AGENT,
        cwd=payload.cwd[:LONGEST_PATH],
        state=STATE_AFTER.get(call.event, "unknown"),
        permission_mode=payload.permission_mode[:40],
        links=tuple(links),
        pid=int(pid) if pid.isdecimal() and len(pid) < 10 else 0,
        transcript=payload.transcript_path[:LONGEST_PATH],
        started_at=call.at if call.event == "SessionStart" else 0.0,
        seen_at=call.at,
    )


def _ready(call: HookCall, payload: HookPayload) -> Prompt:
    return Prompt(
        id=call.new_id,
        kind="ready",
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title="Ready for the next instruction",
        opened_at=call.at,
        body=payload.last_assistant_message[:20_000].strip(),
        questions=(Question(NEXT, "What next?", free_text=True),),
        fingerprint=READY,
        link="speech",
    )


def _asks(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    """A dialog outside of tmux: it is shown, and answered at the desk."""
    tool, fields = payload.tool_name[:200], fields_of(payload.tool_input)
    prompt = Prompt(
        id=call.new_id,
        kind=requests.kind_of(tool),
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=requests.title_of(tool, fields),
        opened_at=call.at,
        body=requests.body_of(tool, fields),
        tool=Tool(tool),
        fingerprint=requests.fingerprint(tool, fields),
    )
    return AnnouncedCall(call.new_id, _when(call, payload), True, tool, bytes(payload.tool_input), prompt)


def _when(call: HookCall, payload: HookPayload) -> float:
    """When the CLI began to tell it: the hooks run by themselves, and one may overtake another."""
    return time_of(payload.timestamp) or call.at


# --- the record: a call is there when the model makes it, and again when it is over ---------------------------


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """What one line says about tool calls; most lines say nothing."""
    record = record_line(line)
    if record is None:
        return []
    at = time_of(record.timestamp)
    if record.type == "assistant" and record.message is not None:
        calls = [part.functionCall for part in record.message.parts if part.functionCall is not None]
        return [CallSeen(call.id, requests.fingerprint(call.name, fields_of(call.args)), at) for call in calls]
    end = record.toolCallResult
    outcome = OUTCOMES.get(end.status) if record.type == "tool_result" and end is not None else None
    if end is None or outcome is None or not end.callId:
        return []
    return [CallResult(end.callId, at, outcome[0], "unknown", outcome[1])]


def record_line(line: bytes) -> RecordLine | None:
    try:
        line.decode()
        return _line.decode(line)
    except (ValueError, RecursionError):
        return None


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """The record names nobody. While the channel has not said whose answer was used, the record must wait."""
    if prompt.link == requests.CHANNEL and prompt.state in ("answering", "sent"):
        return None
    return CallSettled(at, prompt.id, result.outcome, result.source, result.detail)


def time_of(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def transcript_of(session: Session, prompt: Prompt) -> str:
    return prompt.record or session.transcript
