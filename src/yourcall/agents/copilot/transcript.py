"""What one line of Copilot's own record (`events.jsonl`) says: how a permission ended, and the conversation.

Rule: pure and forgiving; a line that we do not know says nothing. Whether the desk or we answered is not written
there, so the record proves what became of a request, never who decided.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.copilot.wire import Completed, Event, Failure, Permission, Said, decoded
from yourcall.agents.kit.prompts import cut, line
from yourcall.agents.kit.wire import null, text_of, time_of
from yourcall.agents.sightings import CallResult, CallSeen
from yourcall.model.conversation import (
    Action,
    ActionKind,
    AnyEntry,
    AssistantText,
    Notice,
    Result,
    Thinking,
    UserMessage,
)
from yourcall.model.events import CallSettled
from yourcall.model.prompts import Outcome, Prompt
from yourcall.model.sessions import Session

KINDS: Mapping[str, ActionKind] = {
    "bash": "command",
    "read_bash": "command",
    "stop_bash": "command",
    "create": "file_change",
    "edit": "file_change",
    "apply_patch": "file_change",
    "web_fetch": "web",
    "ask_user": "question",
    "exit_plan_mode": "note",
    "report_intent": "note",
}


class Spoke(Struct, frozen=True):
    """Of the model. `reasoningText`: its thoughts, where they are told."""

    content: str = ""
    model: str | None = ""
    reasoningText: str | None = ""


class Started(Struct, frozen=True):
    toolCallId: str = ""
    toolName: str = ""
    arguments: Raw = field(default_factory=null)


class Text(Struct, frozen=True):
    content: str | None = ""
    detailedContent: str | None = ""


class Problem(Struct, frozen=True):
    message: str | None = ""


class Ended(Struct, frozen=True):
    toolCallId: str = ""
    success: bool = True
    result: Text | None = None
    error: Problem | None = None


# --- how a permission ended -----------------------------------------------------------------------------------


def read_line(data: bytes) -> list[CallSeen | CallResult]:
    event = _event(data, b'"permission.')
    if event is None:
        return []
    at = time_of(event.timestamp)
    if event.type == "permission.requested":
        permission = decoded(Permission, event.data)
        return [CallSeen(permission.requestId, f"request:{permission.requestId}", at)] if permission else []
    ended = decoded(Completed, event.data) if event.type == "permission.completed" else None
    if ended is None:
        return []
    kind = ended.result.kind
    outcome: Outcome = "allowed" if kind.startswith("approved") else "stopped" if kind == "cancelled" else "denied"
    return [CallResult(ended.requestId, at, outcome, "unknown", kind)]


def settled(prompt: Prompt, result: CallResult, at: float) -> CallSettled | None:
    return CallSettled(at, prompt.id, result.outcome, result.source, result.detail)


def transcript_of(session: Session, _prompt: Prompt) -> str:
    return session.transcript


# --- the conversation -----------------------------------------------------------------------------------------


def conversation_of(session: Session, subagent: str) -> str:
    """Sub-agents are told of in the same record, and shown there."""
    return "" if subagent else session.transcript


def read_entry(data: bytes) -> list[AnyEntry]:
    """The entries of one line; most lines have none."""
    event = _event(data, b'"type"')
    if event is None:
        return []
    at, child = time_of(event.timestamp), event.agentId or ""
    match event.type:
        case "user.message":
            said = decoded(Said, event.data)
            return [UserMessage(text=cut(said.content), at=at, subagent=child)] if said and said.content else []
        case "assistant.message":
            return _spoke(event, at, child)
        case "tool.execution_start":
            call = decoded(Started, event.data)
            return [_started(call, at, child)] if call and call.toolCallId else []
        case "tool.execution_complete":
            ended = decoded(Ended, event.data)
            return [_completed(ended, at, child)] if ended and ended.toolCallId else []
        case "session.error":
            failure = decoded(Failure, event.data)
            return [Notice(text=cut(failure.message), level="error", at=at)] if failure and failure.message else []
        case "abort":
            return [Notice(text="The turn was stopped.", at=at)]
        case "session.shutdown":
            return [Result(scope="session", at=at)]
        case _:
            return []


def _event(data: bytes, mark: bytes) -> Event | None:
    return decoded(Event, data) if mark in data else None


def _spoke(event: Event, at: float, child: str) -> list[AnyEntry]:
    message = decoded(Spoke, event.data)
    if message is None:
        return []
    entries: list[AnyEntry] = []
    if message.reasoningText:
        entries.append(Thinking(text=cut(message.reasoningText), at=at, subagent=child))
    if message.content.strip():
        text = cut(message.content)
        entries.append(AssistantText(text=text, model=(message.model or "")[:80], at=at, subagent=child))
    return entries


def _started(call: Started, at: float, child: str) -> Action:
    fields = decoded(dict[str, object], call.arguments) or {}
    command, path = text_of(fields, "command"), text_of(fields, "path", "file_path")
    diff = _diff(call.toolName, fields, path)
    title = command or (f"{call.toolName} {path}" if path else text_of(fields, "message") or call.toolName)
    detail = command or "\n".join(f"{name}: {_plain(value)}" for name, value in fields.items())
    return Action(
        kind=KINDS.get(call.toolName, "tool"),
        phase="started",
        call_id=call.toolCallId,
        tool=call.toolName[:200],
        title=line(title, call.toolName),
        detail=cut(detail),
        diff=cut(diff) if diff else "",
        paths=(path,) if path else (),
        at=at,
        subagent=child,
    )


def _diff(tool: str, fields: Mapping[str, object], path: str) -> str:
    """What a call would change: `create` has the whole text, `edit` the part and what takes its place."""
    match tool:
        case "create":
            text = text_of(fields, "file_text", "content")
            return f"--- /dev/null\n+++ {path}\n{_marked('+', text)}" if text else ""
        case "edit":
            old, new = (
                text_of(fields, "old_str", "old_string"),
                text_of(fields, "new_str", "new_string"),
            )
            rows = [part for part in (_marked("-", old), _marked("+", new)) if part]
            return "\n".join([f"--- {path}", f"+++ {path}", *rows]) if rows else ""
        case "apply_patch":
            return text_of(fields, "patch", "input")
        case _:
            return ""


def _marked(sign: str, text: str) -> str:
    return "\n".join(sign + each for each in text.splitlines())


def _completed(ended: Ended, at: float, child: str) -> Action:
    text = (ended.result.detailedContent or ended.result.content or "") if ended.result else ""
    problem = (ended.error.message or "") if ended.error else ""
    return Action(
        kind="tool",
        phase="completed",
        call_id=ended.toolCallId,
        detail=cut("\n".join(part for part in (problem, text) if part.strip()).strip()),
        is_error=not ended.success,
        at=at,
        subagent=child,
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
