"""What Gemini CLI's hooks and chat file say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception. A hook of this
CLI cannot allow anything (the dialog comes all the same), so what it tells is for the dialog on the screen.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from yourcall.agents.gemini import tools
from yourcall.agents.gemini.wire import ChatLine, HookPayload
from yourcall.agents.kit.prompts import derived_id
from yourcall.agents.sightings import (
    AgentStatus,
    AnnouncedCall,
    CallResult,
    CallSeen,
    Ending,
    HookCall,
    HookResult,
)
from yourcall.model.events import CallSettled, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Outcome, Prompt, Question, Tool
from yourcall.model.sessions import Link, Session, SessionState

AGENT = "gemini"
SAFE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
LONGEST_PATH = 4096
READY = "ready"
NEXT = "next"
NO_WORDS = "[no response text]"  # what the CLI says for nothing

STATE_AFTER: dict[str, SessionState] = {
    "SessionStart": "idle",
    "BeforeAgent": "working",
    "BeforeTool": "working",
    "AfterAgent": "idle",
}

OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "success": ("allowed", "it ran"),
    "error": ("allowed", "it ran, and failed"),
    "cancelled": ("denied", "it was refused"),
}

# Sending a plan back is a success of its tool; the model is told in these words.
_SENT_BACK = b"Plan rejected"
REJECTED: tuple[Outcome, str] = ("denied", "it was sent back")

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(ChatLine)


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
            return HookResult((SessionEnded(call.at, payload.session_id, payload.reason[:80]),))
        case "BeforeAgent":
            given = Ending(payload.session_id, READY, "allowed", payload.prompt, "the next instruction was given")
            return HookResult((seen,), endings=(given,), turn=_when(call, payload))
        case "AfterAgent" if call.new_id:
            # A stop that a hook of the person's own undoes looks like any other; the next one counts, and takes
            # the place of the first.
            return HookResult((seen, PromptRaised(call.at, _ready(call, payload))))
        case "BeforeTool" if payload.tool_name and call.new_id:
            return HookResult((seen,), told=_about_to_run(call, payload))
        case "Notification" if payload.notification_type == "ToolPermission" and call.new_id:
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
        body=payload.prompt_response[: tools.LONGEST_BODY].strip().removeprefix(NO_WORDS),
        questions=(Question(NEXT, "What next?", free_text=True),),
        fingerprint=READY,
        link="speech",
    )


def rested(session: Session, said: str, since: float, at: float) -> Prompt | None:
    """A session whose turn ended while nobody heard its hook."""
    call = HookCall(at, "AfterAgent", b"", {}, "", derived_id(session.id, "rested", str(since)))
    return _ready(call, HookPayload(session_id=session.id, cwd=session.cwd, prompt_response=said))


def _about_to_run(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    tool, fields = payload.tool_name[:200], tools.fields_of(payload.tool_input)
    prompt = _prompt(call, payload, tool, tools.title_of(tool, fields), tools.body_of(tool, fields))
    prompt = msgspec.structs.replace(prompt, kind=tools.kind_of(tool), fingerprint=tools.mark(tool, fields))
    if tool == tools.ASK:
        prompt = msgspec.structs.replace(prompt, questions=tools.questions_of(payload.tool_input))
    return AnnouncedCall(call.new_id, _when(call, payload), False, tool, bytes(payload.tool_input), prompt)


def _asks(call: HookCall, payload: HookPayload) -> AnnouncedCall:
    details = tools.details_of(payload.details)
    tool = tools.SHELL if details.type == "exec" else details.type or "tool"
    prompt = _prompt(call, payload, tool, tools.title_from(details), tools.body_from(details))
    known = {"command": details.command} if details.type == "exec" else tools.fields_of(payload.details)
    prompt = msgspec.structs.replace(prompt, kind=tools.kind_of(tool), fingerprint=tools.mark(tool, known))
    return AnnouncedCall(call.new_id, _when(call, payload), True, details.type, bytes(payload.details), prompt)


def _when(call: HookCall, payload: HookPayload) -> float:
    """When the CLI began to tell it: the hooks run by themselves, and one may overtake another."""
    return time_of(payload.timestamp) or call.at


def _prompt(call: HookCall, payload: HookPayload, tool: str, title: str, body: str) -> Prompt:
    return Prompt(
        id=call.new_id,
        kind="permission",
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=title,
        opened_at=call.at,
        body=body,
        tool=Tool(tool),
    )


# --- the chat file: a call is written when it is over, with how it ended --------------------------------------


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """What one line says about tool calls; most lines say nothing."""
    told = chat_line(line) if b'"toolCalls"' in line else None
    if told is None or told.type != "gemini":
        return []
    found: list[CallSeen | CallResult] = []
    for call in told.toolCalls or []:
        outcome = (
            REJECTED if call.name == tools.PLAN and _SENT_BACK in bytes(call.result) else OUTCOMES.get(call.status)
        )
        at = time_of(call.timestamp)
        if not call.id or outcome is None:
            continue
        found.append(CallSeen(call.id, tools.mark(call.name, tools.fields_of(call.args)), at))
        found.append(CallResult(call.id, at, outcome[0], "unknown", outcome[1]))
    return found


def chat_line(line: bytes) -> ChatLine | None:
    try:
        line.decode()
        return _line.decode(line)
    except (ValueError, RecursionError):
        return None


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """The file names nobody: it tells what became of the call, not who decided."""
    return CallSettled(at, prompt.id, result.outcome, result.source, result.detail)


def time_of(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def transcript_of(session: Session, _prompt: Prompt) -> str:
    return session.transcript


def status_file_of(_session: Session) -> str:
    """This CLI keeps no file that says what it is doing: the title of its terminal does."""
    return ""


def read_status(_text: bytes) -> AgentStatus | None:
    return None
