"""What Gemini CLI's hooks and chat file say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception. A hook of this
CLI cannot allow anything (the dialog comes all the same), so what it tells is for the dialog on the screen.
"""

from __future__ import annotations

import msgspec

from yourcall.agents.gemini import tools
from yourcall.agents.gemini.wire import ChatLine, HookPayload
from yourcall.agents.kit.hooks import CALL_OUTCOMES, instruction_given, prompt_of, read_with, ready_prompt
from yourcall.agents.kit.prompts import derived_id
from yourcall.agents.kit.wire import fields_of, line_of, time_of
from yourcall.agents.sightings import AnnouncedCall, CallResult, CallSeen, HookCall, HookResult
from yourcall.model.events import PromptRaised, SessionSeen
from yourcall.model.prompts import Outcome, Prompt, Tool
from yourcall.model.sessions import Session, SessionState

AGENT = "gemini"
NO_WORDS = "[no response text]"  # what the CLI says for nothing

STATE_AFTER: dict[str, SessionState] = {
    "SessionStart": "idle",
    "BeforeAgent": "working",
    "BeforeTool": "working",
    "AfterAgent": "idle",
}

# Sending a plan back is a success of its tool; the model is told in these words.
_SENT_BACK = b"Plan rejected"
REJECTED: tuple[Outcome, str] = ("denied", "it was sent back")

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(ChatLine)


def read_hook(call: HookCall) -> HookResult:
    return read_with(call, _payload, AGENT, STATE_AFTER, _own_event)


def _own_event(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult | None:
    match call.event:
        case "BeforeAgent":
            return HookResult((seen,), endings=(instruction_given(payload),), turn=_when(call, payload))
        case "AfterAgent" if call.new_id:
            # A stop that a hook of the person's own undoes looks like any other; the next one counts, and takes
            # the place of the first.
            return HookResult((seen, PromptRaised(call.at, _ready(call, payload))))
        case "BeforeTool" if payload.tool_name and call.new_id:
            return HookResult((seen,), told=_about_to_run(call, payload))
        case "Notification" if payload.notification_type == "ToolPermission" and call.new_id:
            return HookResult((seen,), told=_asks(call, payload))
        case _:
            return None


def _ready(call: HookCall, payload: HookPayload) -> Prompt:
    text = payload.prompt_response[: tools.LONGEST_BODY].strip().removeprefix(NO_WORDS)
    return ready_prompt(call, payload, AGENT, text)


def rested(session: Session, text: str, since: float, at: float) -> Prompt | None:
    """A session whose turn ended while nobody heard its hook."""
    call = HookCall(at, "AfterAgent", b"", {}, "", derived_id(session.id, "rested", str(since)))
    return _ready(call, HookPayload(session_id=session.id, cwd=session.cwd, prompt_response=text))


def _about_to_run(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    tool, fields = payload.tool_name[:200], fields_of(payload.tool_input)
    prompt = msgspec.structs.replace(
        prompt_of(call, payload, AGENT, tools.title_of(tool, fields), tools.kind_of(tool)),
        body=tools.body_of(tool, fields),
        tool=Tool(tool),
        fingerprint=tools.mark(tool, fields),
    )
    if tool == tools.ASK:
        prompt = msgspec.structs.replace(prompt, questions=tools.questions_of(payload.tool_input))
    return AnnouncedCall(call.new_id, _when(call, payload), False, tool, bytes(payload.tool_input), prompt)


def _asks(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    details = tools.details_of(payload.details)
    tool = tools.SHELL if details.type == "exec" else details.type or "tool"
    known = {"command": details.command} if details.type == "exec" else fields_of(payload.details)
    prompt = msgspec.structs.replace(
        prompt_of(call, payload, AGENT, tools.title_from(details), tools.kind_of(tool)),
        body=tools.body_from(details),
        tool=Tool(tool),
        fingerprint=tools.mark(tool, known),
    )
    return AnnouncedCall(call.new_id, _when(call, payload), True, details.type, bytes(payload.details), prompt)


def _when(call: HookCall, payload: HookPayload) -> float:
    """When the CLI began to tell it: the hooks run by themselves, and one may overtake another."""
    return time_of(payload.timestamp) or call.at


# --- the chat file: a call is written when it is over, with how it ended --------------------------------------


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """What one line says about tool calls; most lines say nothing."""
    entry = chat_line(line) if b'"toolCalls"' in line else None
    if entry is None or entry.type != "gemini":
        return []
    found: list[CallSeen | CallResult] = []
    for call in entry.toolCalls or []:
        sent_back = call.name == tools.PLAN and _SENT_BACK in bytes(call.result)
        outcome = REJECTED if sent_back else CALL_OUTCOMES.get(call.status)
        at = time_of(call.timestamp)
        if not call.id or outcome is None:
            continue
        found.append(CallSeen(call.id, tools.mark(call.name, fields_of(call.args)), at))
        found.append(CallResult(call.id, at, outcome[0], "unknown", outcome[1]))
    return found


def chat_line(line: bytes) -> ChatLine | None:
    return line_of(_line, line)


def transcript_of(session: Session, _prompt: Prompt) -> str:
    return session.transcript
