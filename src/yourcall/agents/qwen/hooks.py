"""What Qwen Code's hooks and its record say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception. Our hooks only
inform: dialogs come by the channel, and where there is none, by the screen.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from yourcall.agents.kit import hooks
from yourcall.agents.kit.hooks import CALL_OUTCOMES, instruction_given, prompt_of, read_with, ready_prompt
from yourcall.agents.kit.prompts import LONGEST_BODY
from yourcall.agents.kit.wire import call_fingerprint, fields_of, line_of, time_of
from yourcall.agents.qwen import requests
from yourcall.agents.qwen.requests import AGENT
from yourcall.agents.qwen.wire import HookPayload, RecordLine
from yourcall.agents.sightings import AnnouncedCall, CallResult, CallSeen, HookCall, HookResult
from yourcall.model.events import CallSettled, PromptRaised, SessionSeen
from yourcall.model.prompts import Prompt, Tool
from yourcall.model.sessions import Session, SessionState

STATE_AFTER: dict[str, SessionState] = {"SessionStart": "idle", "UserPromptSubmit": "working", "Stop": "idle"}

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(RecordLine)


def read_hook(call: HookCall) -> HookResult:
    return read_with(call, _payload, AGENT, STATE_AFTER, _own_event)


def _own_event(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult | None:
    match call.event:
        case "SessionEnd" if payload.reason == "clear":
            return HookResult((seen,))  # its process goes on, and says so under its new id
        case "UserPromptSubmit" if payload.prompt:  # it comes empty after each round of tools
            return HookResult((seen,), endings=(instruction_given(payload),), turn=_when(call, payload))
        case "Stop" if call.new_id:
            return HookResult((seen, PromptRaised(call.at, _ready(call, payload))))
        case "PermissionRequest" if payload.tool_name and call.new_id and not call.env.get("TMUX_PANE"):
            return HookResult((seen,), told=_asks(call, payload))
        case _:
            return None


def _ready(call: HookCall, payload: HookPayload) -> Prompt:
    return ready_prompt(call, payload, AGENT, payload.last_assistant_message[:LONGEST_BODY].strip())


def _asks(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    """A dialog outside of tmux: it is shown, and answered at the desk."""
    tool, fields = payload.tool_name[:200], fields_of(payload.tool_input)
    prompt = replace(
        prompt_of(call, payload, AGENT, requests.title_of(tool, fields), requests.kind_of(tool)),
        body=requests.body_of(tool, fields),
        tool=Tool(tool),
        fingerprint=call_fingerprint(tool, fields),
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
        return [CallSeen(call.id, call_fingerprint(call.name, fields_of(call.args)), at) for call in calls]
    end = record.toolCallResult
    outcome = CALL_OUTCOMES.get(end.status) if record.type == "tool_result" and end is not None else None
    if end is None or outcome is None or not end.callId:
        return []
    return [CallResult(end.callId, at, outcome[0], "unknown", outcome[1])]


def record_line(line: bytes) -> RecordLine | None:
    return line_of(_line, line)


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """The record names nobody. While the channel has not said whose answer was used, the record must wait."""
    if prompt.link == requests.CHANNEL and prompt.state in ("answering", "sent"):
        return None
    return hooks.settled(prompt, result, at)


def transcript_of(session: Session, prompt: Prompt) -> str:
    return prompt.record or session.transcript
