"""What droid's hooks and its record say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception. No hook of
ours answers: a PreToolUse hook that decides skips the dialog, and one that holds hides it. What it tells is for
the dialog on the screen.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from yourcall.agents.droid import tools
from yourcall.agents.droid.tools import AGENT
from yourcall.agents.droid.wire import HookPayload, RecordLine
from yourcall.agents.kit.hooks import instruction_given, prompt_of, read_with, ready_prompt
from yourcall.agents.kit.wire import call_fingerprint, fields_of, line_of, text_of, time_of
from yourcall.agents.sightings import AnnouncedCall, CallResult, CallSeen, HookCall, HookResult
from yourcall.model.events import PromptRaised, SessionSeen
from yourcall.model.prompts import Outcome, Prompt, Tool
from yourcall.model.sessions import Session, SessionState

STATE_AFTER: dict[str, SessionState] = {
    "SessionStart": "idle",
    "UserPromptSubmit": "working",
    "PreToolUse": "working",
    "Stop": "idle",
}
# What the record says in place of a result, where a person did not let the call run.
CANCELLED = "Tool execution cancelled by user"
SENT_BACK = "Plan not approved"

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(RecordLine)


def read_hook(call: HookCall) -> HookResult:
    return read_with(call, _payload, AGENT, STATE_AFTER, _own_event)


def _own_event(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult | None:
    match call.event:
        case "UserPromptSubmit":
            return HookResult((seen,), endings=(instruction_given(payload),), turn=call.at)
        case "Stop" if call.new_id:
            return HookResult((seen, PromptRaised(call.at, ready_prompt(call, payload, AGENT, ""))))
        case "PreToolUse" if payload.tool_name and call.new_id:
            return HookResult((seen,), told=_about_to_run(call, payload))
        case _:
            return None


def _about_to_run(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    tool, fields = payload.tool_name[:200], fields_of(payload.tool_input)
    prompt = replace(
        prompt_of(call, payload, AGENT, tools.title_of(tool, fields), tools.kind_of(tool)),
        body=tools.body_of(tool, fields),
        tool=Tool(tool),
        fingerprint=call_fingerprint(tool, fields),
    )
    if tool == tools.ASK:
        prompt = replace(prompt, questions=tools.questions_of(text_of(fields, "questionnaire")))
    return AnnouncedCall(call.new_id, call.at, False, tool, bytes(payload.tool_input), prompt)


# --- the record: a call is there when the model makes it, and its result when it is over ----------------------


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """What one line says about tool calls; most lines say nothing."""
    record = record_line(line) if b'"tool_' in line else None
    if record is None or record.message is None:
        return []
    at = time_of(record.timestamp)
    found: list[CallSeen | CallResult] = []
    for block in record.message.content:
        if block.type == "tool_use" and block.id:
            found.append(CallSeen(block.id, call_fingerprint(block.name, fields_of(block.input)), at))
        elif block.type == "tool_result" and block.tool_use_id:
            outcome, detail = _ended(block.is_error, result_text(block.content))
            found.append(CallResult(block.tool_use_id, at, outcome, "unknown", detail))
    return found


def _ended(failed: bool, text: str) -> tuple[Outcome, str]:
    wording = text.removeprefix("Error: ")
    if failed and wording.startswith(SENT_BACK):
        return "denied", "it was sent back"
    if failed and wording.startswith(CANCELLED):
        return "denied", "it was refused, and the turn stopped"
    return "allowed", "it ran, and failed" if failed else "it ran"


class _Part(msgspec.Struct, frozen=True):
    text: str = ""


_result: msgspec.json.Decoder[str | list[_Part] | None] = msgspec.json.Decoder(str | list[_Part] | None)


def result_text(raw: msgspec.Raw) -> str:
    """What a tool told the model: a text, or parts of one."""
    found = line_of(_result, bytes(raw))
    if isinstance(found, list):
        return "\n".join(part.text for part in found)
    return found or ""


def record_line(line: bytes) -> RecordLine | None:
    return line_of(_line, line)


def transcript_of(session: Session, _prompt: Prompt) -> str:
    return session.transcript
