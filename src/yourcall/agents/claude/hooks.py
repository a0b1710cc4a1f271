"""What Claude Code's hooks, transcript and session file say, as events.

Rule: reads, never decides; bad input is a `problem` in words or nothing at all, never an exception.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from yourcall.agents.claude import pauses, requests, wording
from yourcall.agents.claude.reply import DECLINED
from yourcall.agents.claude.transcript import conversation_of, mended
from yourcall.agents.claude.wire import (
    Block,
    HookPayload,
    SessionFile,
    TranscriptLine,
)
from yourcall.agents.kit import forms, hooks
from yourcall.agents.kit.hooks import LONGEST_PATH, SAFE_ID
from yourcall.agents.kit.prompts import derived_id
from yourcall.agents.kit.wire import text_of, time_of
from yourcall.agents.sightings import AgentStatus, CallResult, CallSeen, HookCall, HookResult
from yourcall.core.identity import handed
from yourcall.core.safety import chosen
from yourcall.model.events import CallSettled, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Outcome, Prompt, Tool
from yourcall.model.sessions import Session, SessionState

AGENT = "claude"
LONGEST_RESULT = 2000
OUR_WORDS = (DECLINED, requests.OUTLINE)

STATE_AFTER: dict[str, SessionState] = {
    "SessionStart": "idle",
    "UserPromptSubmit": "working",
    "Stop": "idle",
    "StopFailure": "idle",
}

_payload = msgspec.json.Decoder(HookPayload)
_line = msgspec.json.Decoder(TranscriptLine)
_blocks = msgspec.json.Decoder(list[Block])
_session_file = msgspec.json.Decoder(SessionFile)


def read_hook(call: HookCall) -> HookResult:
    """One hook call. A payload that makes no sense is told as a problem; the agent's dialog is untouched."""
    payload = _heard(call.payload)
    if isinstance(payload, str):
        return HookResult(problem=f"unreadable {call.event} payload: {payload}")
    if not SAFE_ID.fullmatch(payload.session_id):
        return hooks.impossible_id(call)
    seen = SessionSeen(call.at, _session(call, payload))
    match call.event:
        case "PermissionRequest":
            return _permission(call, payload, seen)
        case "Rules":
            return _before(call, payload, seen)
        case "Elicitation":
            return _elicitation(call, payload, seen)
        case "ElicitationResult":
            return HookResult((seen,), endings=(pauses.form_ending(payload),))
        case "UserPromptSubmit":
            return HookResult((seen,), endings=pauses.next_turn(payload))
        case "Stop":
            return HookResult((seen, *_pause(call, payload, pauses.ready(payload, seen.session))))
        case "StopFailure":
            return HookResult((seen, *_pause(call, payload, pauses.problem(payload, call.at))))
        case "Notification":
            return pauses.notified(seen, payload)
        case "SessionStart":
            return HookResult((seen,), begins=True, anew=pauses.ANEW.get(payload.source, ""))
        case "SessionEnd" if payload.reason in pauses.GOES_ON:
            return HookResult()  # only the conversation is over: its process tells under which id it goes on
        case "SessionEnd":
            return HookResult((SessionEnded(call.at, payload.session_id, payload.reason),))
        case "PostToolUse" | "PostToolUseFailure":
            return HookResult((seen,), finished=payload.tool_use_id)
        case _:
            return HookResult((seen,))


def _heard(told: bytes) -> HookPayload | str:
    """The payload, or why it cannot be read. Half a letter in it, which a model may write and strict readers
    refuse, must not hide a request: it is read without, and what is shown is then what an answer carries."""
    try:
        return _payload.decode(told)
    except (ValueError, RecursionError):
        try:
            return _payload.decode(mended(told))
        except (ValueError, RecursionError) as error:
            return str(error)


def _session(call: HookCall, payload: HookPayload) -> Session:
    env = call.env
    # AI_AGENT reads `claude-code_2-1-325_harness`
    version = re.search(r"_(\d+-\d+-\d+)(?:_|$)", env.get("AI_AGENT", ""))
    state = "unknown" if payload.agent_id else STATE_AFTER.get(call.event, "unknown")
    return replace(
        hooks.session_of(call, payload, AGENT, state, pid="CLAUDE_PID"),
        mode="headless" if env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk") else "terminal",
        version=version[1].replace("-", ".") if version else "",
    )


def _permission(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult:
    if not payload.tool_name or not call.request_id:
        return HookResult((seen,), problem="a permission request that names no tool")
    if payload.agent_id and not SAFE_ID.fullmatch(payload.agent_id):
        return HookResult((seen,), problem="a permission request with an impossible subagent id")
    fields = wording.input_of(payload.tool_input)
    asked = {
        "tool_name": payload.tool_name,
        "tool_input": payload.tool_input,
        "permission_suggestions": payload.permission_suggestions or [],
    }
    kind, questions = requests.questions(payload, fields)
    prompt = Prompt(
        id=call.request_id,
        kind=kind,
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=requests.title(payload.tool_name, fields),
        opened_at=call.at,
        body=requests.body(payload.tool_name, fields) if fields else wording.unread(payload.tool_input),
        tool=Tool(payload.tool_name),
        questions=questions,
        fingerprint=fingerprint(payload.tool_name, fields),
        turn_id=payload.prompt_id[:128],
        subagent=f"{payload.agent_type or 'subagent'} {payload.agent_id}" if payload.agent_id else "",
        permission_mode=payload.permission_mode[:40],
        answerable=True,
    )
    return _held(seen, prompt, asked)


def _before(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult:
    """Before a tool runs, whether Claude would ask or not: for the rules alone. In plan mode nothing may run."""
    if payload.permission_mode == "plan":
        return HookResult((seen,))
    result = _permission(call, payload, seen)
    raised = next((event for event in result.events if isinstance(event, PromptRaised)), None)
    if raised is None or raised.prompt.kind != "permission":
        return HookResult((seen,), problem=result.problem)
    asked = {"tool_name": payload.tool_name, "tool_input": payload.tool_input, "hook": "PreToolUse"}
    return _held(seen, replace(raised.prompt, call_id=payload.tool_use_id[:128]), asked)


def _held(seen: SessionSeen, prompt: Prompt, asked: Mapping[str, object]) -> HookResult:
    """A held request; what was asked is kept verbatim, to be answered from."""
    request = msgspec.json.encode(asked)
    body_id = hashlib.sha256(request).hexdigest()
    raised = PromptRaised(seen.at, replace(prompt, request=body_id))
    return HookResult((seen, raised), {body_id: request}, held=True)


def _elicitation(call: HookCall, payload: HookPayload, seen: SessionSeen) -> HookResult:
    if not call.request_id:
        return HookResult((seen,), problem="a form that nobody holds")
    url = payload.mode == "url"
    fields = () if url else forms.questions(bytes(payload.requested_schema))
    prompt = Prompt(
        id=call.request_id,
        kind="elicitation",
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=f"{payload.mcp_server_name or 'An MCP server'} asks: {payload.message}"[: wording.LONGEST_TITLE],
        opened_at=call.at,
        body=f"{payload.message}\n\n{payload.url}" if url else payload.message,
        # A form with a field we cannot ask for is shown, and filled in at the desk.
        questions=() if fields is None else (*fields, forms.action(url, "Claude")),
        fingerprint=pauses.form_mark(payload),
        turn_id=payload.prompt_id[:128],
        permission_mode=payload.permission_mode[:40],
        answerable=True,
    )
    return _held(seen, prompt, {"elicitation": payload.requested_schema})


def _pause(call: HookCall, payload: HookPayload, pause: pauses.Pause | None) -> tuple[PromptRaised, ...]:
    """A pause that nobody holds: it is answered by speaking to the session, or at the desk."""
    if pause is None or not call.new_id:
        return ()
    prompt = Prompt(
        id=call.new_id,
        kind=pause.kind,
        agent=AGENT,
        session_id=payload.session_id,
        cwd=payload.cwd[:LONGEST_PATH],
        title=pause.title,
        opened_at=call.at,
        body=pause.body,
        questions=pause.questions,
        resets_at=pause.resets_at,
        fingerprint=pause.mark,
        turn_id=payload.prompt_id[:128],
        permission_mode=payload.permission_mode[:40],
        link="speech",
    )
    return (PromptRaised(call.at, prompt),)


def rested(session: Session, text: str, since: float, at: float) -> Prompt | None:
    """A session whose turn ended while nobody heard its hook."""
    payload = HookPayload(session.id, cwd=session.cwd, last_assistant_message=text)
    payload = replace(payload, permission_mode=session.permission_mode)
    call = HookCall(at, "Stop", b"", {}, "", derived_id(session.id, "rested", str(since)))
    raised = _pause(call, payload, pauses.ready(payload, session))
    return raised[0].prompt if raised else None


def fingerprint(tool: str, fields: dict[str, object]) -> str:
    """The same for the same call, however its JSON was spelt. Hooks get a plan with the text of its file, and the
    record has it as the model sent it; a session asks for one plan at a time, so the tool's name is enough."""
    fields = {} if tool == "ExitPlanMode" else fields
    canonical = msgspec.json.encode([tool, fields], order="sorted")
    return hashlib.sha256(canonical).hexdigest()


def read_line(line: bytes) -> list[CallSeen | CallResult]:
    """What one line of a transcript says about tool calls; most lines say nothing."""
    if b'"tool_use"' not in line and b'"tool_result"' not in line:
        return []
    try:
        entry, blocks = _told(line)
    except ValueError:
        try:
            entry, blocks = _told(mended(line))
        except (ValueError, RecursionError):
            return []
    except RecursionError:
        return []
    at = time_of(entry.timestamp)
    found: list[CallSeen | CallResult] = []
    for block in blocks:
        if block.type == "tool_use" and entry.type == "assistant" and block.id:
            fields = wording.input_of(block.input)
            found.append(CallSeen(block.id, fingerprint(block.name, fields), at, pauses.forms_of(block.name)))
        elif block.type == "tool_result" and entry.type == "user" and block.tool_use_id:
            outcome, source, detail = _decided(entry, block.is_error)
            found.append(CallResult(block.tool_use_id, at, outcome, source, detail, _text(block.content)))
    return found


def _told(line: bytes) -> tuple[TranscriptLine, list[Block]]:
    line.decode()  # a Raw is not looked into when it is decoded: what is no text must be noticed here
    told = _line.decode(line)
    return told, _blocks.decode(told.message.content) if told.message else []


def _text(content: msgspec.Raw) -> str:
    """A result's text, as far as it may help to tell a refusal of ours from a failure."""
    try:
        told = msgspec.json.decode(content, type=str | list[dict[str, object]])
    except (ValueError, RecursionError):
        return ""
    parts = [told] if isinstance(told, str) else [text_of(part, "text") for part in told]
    return "\n".join(parts)[:LONGEST_RESULT]


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    """What the record of a call means for the prompt that is bound to it; None if it says nothing about it."""
    answer = prompt.answer
    effects = {option.effect for option in chosen(prompt, answer)} if answer else set[str]()
    if prompt.kind == "elicitation":
        # The call that asked is over, so its form was answered: by us if our answer was written, for while it was
        # held nobody else could. An answer that may never have got there proves nothing; and what the desk told
        # the server is in ElicitationResult alone.
        if answer is None:
            return None
        outcome: Outcome = "stopped" if "stop" in effects else "denied" if "deny" in effects else "allowed"
        source = "held" if handed(prompt) else "unknown"
        return CallSettled(at, prompt.id, outcome, source, "the server was answered")
    if result.source == "unknown" and result.outcome == "unknown" and "deny" in effects and answer:
        # Older versions name nobody; our own words in the refusal do.
        said = [text for text in answer.texts.values() if text] or list(OUR_WORDS)
        if any(text in result.text for text in said):
            return CallSettled(at, prompt.id, "denied", "held", "it was refused, in our words")
    return CallSettled(at, prompt.id, result.outcome, result.source, result.detail)


# What stands beside the result of a refused call where no key names its kind: 2.1.197, and 2.1.144.
REJECTED = (
    b'"User rejected tool use"',
    b"\"Error: The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if",
)


def _rejected(told: TranscriptLine, *, failed: bool) -> bool:
    """A call that ended so was refused at the dialog, and the turn stopped."""
    return failed and told.message is not None and bytes(told.toolUseResult).startswith(REJECTED)


def _decided(told: TranscriptLine, failed: bool) -> tuple[Outcome, Literal["held", "desk", "unknown"], str]:
    decision = told.permissionDecision
    if decision is None:
        # A refusal that stops the turn (Esc, a plain No, our own deny-and-stop) names nobody.
        if told.toolDenialKind == "user-rejected" or _rejected(told, failed=failed):
            return "stopped", "unknown", "refused, and the turn stopped"
        if told.toolDenialKind:
            return "denied", "unknown", "it was refused"
        # Versions that write neither key: an error may be a refusal or a program that failed.
        return ("unknown", "unknown", "it ended with an error") if failed else ("allowed", "unknown", "it ran")
    outcome: Outcome = "allowed" if decision.decision == "accept" else "denied"
    done = "it ran" if outcome == "allowed" else "it was refused"
    match decision.source:
        case "hook":
            return outcome, "held", f"{done}, decided by a hook"
        case "user_temporary" | "user_reject":
            return outcome, "desk", f"{done}, decided at the desk"
        case "user_permanent":
            return outcome, "desk", f"{done}, decided at the desk for good"
        case other:
            return outcome, "desk", f"{done}, decided by {other[:40] or 'the agent itself'}"


def read_status(text: bytes) -> AgentStatus | None:
    """The per-process session file; None if it is half written or not what we know."""
    try:
        told = _session_file.decode(text)
    except (ValueError, RecursionError):
        return None
    since = told.statusUpdatedAt or told.updatedAt
    return AgentStatus(told.sessionId, told.status, since / 1000, told.procStart, told.version)


def transcript_of(session: Session, prompt: Prompt) -> str:
    """Where the call behind a prompt is written: a subagent has a transcript of its own."""
    asked_in = replace(session, transcript=prompt.record or session.transcript)
    return conversation_of(asked_in, prompt.subagent.rsplit(" ", 1)[-1])


def status_file_of(session: Session) -> str:
    """The session file of the process: `<config>/sessions/<pid>.json`, beside `<config>/projects/…`."""
    config, _, rest = session.transcript.rpartition("/projects/")
    return f"{config}/sessions/{session.pid}.json" if config and rest and session.pid else ""
