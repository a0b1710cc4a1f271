"""What one line of Codex's rollout adds to the conversation.

Rule: pure and forgiving. A line we do not know says nothing, and nothing that an agent, a model or a disk could
write raises. Who said what stands in `item_completed`; the lines for the model repeat it: only its calls count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from yourcall.agents.codex.wire import Part
from yourcall.agents.kit.prompts import cut, line
from yourcall.agents.kit.wire import decoded, null, time_of
from yourcall.agents.sightings import TurnMark
from yourcall.model.conversation import (
    Action,
    ActionKind,
    AnyEntry,
    AssistantText,
    Compaction,
    Notice,
    Result,
    Thinking,
    UserMessage,
)
from yourcall.model.sessions import Session

ASKS = "request_user_input"
KINDS: Mapping[str, ActionKind] = {
    "exec_command": "command",
    "shell": "command",
    "write_stdin": "command",
    "exec": "command",
    "apply_patch": "file_change",
    "web_search": "web",
    "update_plan": "note",
    ASKS: "note",
}
_EXIT = re.compile(r"^Process exited with code (\d+)$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_REFUSED = ("rejected by user", "user rejected MCP tool call", "aborted by user")
_THREAD = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SPECIAL = re.compile(r"([*?[])")
_NOT_MADE = re.compile(r"apply_patch verification failed|Exit code: [1-9]")


class Item(Struct, frozen=True):
    """A thing that is done, as the rollout keeps it: other names than on the wire."""

    type: str = ""
    text: str = ""
    content: list[Raw] = []
    summary_text: list[str] = []
    raw_content: list[str] = []


class Spawned(Struct, frozen=True):
    """What the model is told of a sub-agent that it has started."""

    agent_id: str


class Choice(Struct, frozen=True):
    label: str = ""


class Question(Struct, frozen=True):
    question: str = ""
    options: list[Choice] | None = None


class Asking(Struct, frozen=True):
    """What the model asks a person."""

    questions: list[Question]


class Given(Struct, frozen=True):
    answers: list[str]


class Answers(Struct, frozen=True):
    """What it was told; a note that was written has `user_note: ` in front."""

    answers: dict[str, Given]


class Payload(Struct, frozen=True):
    type: str = ""
    item: Item | None = None
    message: str | None = ""
    text: str | None = ""
    name: str = ""
    namespace: str | None = ""
    call_id: str = ""
    arguments: str | None = ""
    input: str | None = ""
    output: Raw = field(default_factory=null)
    duration_ms: float | None = None
    reason: str | None = ""


class Line(Struct, frozen=True):
    timestamp: str = ""
    type: str = ""
    payload: Raw = field(default_factory=null)


def read_entry(data: bytes) -> list[AnyEntry]:
    """The entries of one line, oldest first; most lines have none."""
    parsed = decoded(Line, data)
    if parsed is None or parsed.type not in ("event_msg", "response_item", "compacted"):
        return []
    payload = decoded(Payload, parsed.payload)
    if payload is None:
        return []
    match parsed.type:
        case "event_msg":
            entries = _event(payload)
        case "response_item":
            entries = _call(payload)
        case _:
            entries = [Compaction(summary=cut(payload.message or ""))]
    return [replace(entry, at=time_of(parsed.timestamp)) for entry in entries]


TURNS: Mapping[str, Literal["on", "over", "stopped"]] = {
    "task_started": "on",
    "task_complete": "over",
    "turn_aborted": "stopped",
}


def read_turn(data: bytes) -> TurnMark | None:
    """What a line says of the turn: that it began, came to its end, or was stopped."""
    if b'"task_' not in data and b'"turn_aborted"' not in data:
        return None
    parsed = decoded(Line, data)
    payload = decoded(Payload, parsed.payload) if parsed is not None and parsed.type == "event_msg" else None
    state = TURNS.get(payload.type) if payload is not None else None
    return TurnMark(state, time_of(parsed.timestamp)) if parsed is not None and state is not None else None


def conversation_of(session: Session, subagent: str) -> str:
    """The rollout of a session. A sub-agent's has the moment of its start in its name, which only a look tells:
    the place of that is left open, with a `*`."""
    if not session.transcript.endswith(".jsonl"):
        return ""
    if not subagent:
        return session.transcript
    thread = subagent.rsplit(" ", 1)[-1]  # also as a prompt names it
    home, records, _ = session.transcript.rpartition("/sessions/")
    # The id becomes a part of a path: it holds nothing that could lead elsewhere.
    if not records or not _THREAD.fullmatch(thread):
        return ""
    below = _SPECIAL.sub(r"[\1]", home) + records
    return f"{below}*/*/*/rollout-*-{thread}.jsonl"


def _event(payload: Payload) -> list[AnyEntry]:
    match payload.type:
        case "item_completed" if payload.item is not None:
            return _item(payload.item)
        case "user_message":  # how older versions tell it
            return _said(UserMessage(text=cut(payload.message or "")))
        case "agent_message":
            return _said(AssistantText(text=cut(payload.message or "")))
        case "agent_reasoning":
            return _said(Thinking(text=cut(payload.text or "")))
        case "task_complete" | "turn_complete":
            seconds = payload.duration_ms / 1000 if payload.duration_ms is not None else None
            return [Result(scope="turn", seconds=seconds)]
        case "turn_aborted":
            return [Notice(text=f"The turn was stopped ({payload.reason or 'no reason is given'}).")]
        case "error" | "stream_error":
            return [Notice(text=cut(payload.message or "An error."), level="error")]
        case "warning":
            return [Notice(text=cut(payload.message or ""), level="warning")]
        case _:
            return []


def _item(item: Item) -> list[AnyEntry]:
    text = "\n".join(part.text for raw in item.content if (part := decoded(Part, raw)) is not None and part.text)
    match item.type:
        case "UserMessage":
            return _said(UserMessage(text=cut(text)))
        case "AgentMessage":
            return _said(AssistantText(text=cut(text)))
        case "Plan":
            return _said(AssistantText(text=cut(item.text or text)))
        case "Reasoning":
            return _said(Thinking(text=cut("\n".join(item.summary_text or item.raw_content))))
        case "ContextCompaction":
            return [Compaction()]
        case _:
            return []


def _said(entry: UserMessage | AssistantText | Thinking) -> list[AnyEntry]:
    return [entry] if entry.text.strip() else []


def _call(payload: Payload) -> list[AnyEntry]:
    match payload.type:
        case "function_call" | "custom_tool_call":
            return [_started(payload)]
        case "function_call_output" | "custom_tool_call_output":
            return [_completed(payload)]
        case _:
            return []


def _started(payload: Payload) -> Action:
    name = payload.name
    fields = decoded(dict[str, object], (payload.arguments or "").encode("utf-8", "replace")) or {}
    command = fields.get("cmd") or fields.get("command")
    patch = payload.input or "" if name == "apply_patch" else ""
    paths = tuple(_PATCHED.findall(patch))
    title = f"{name} ({payload.namespace.removeprefix('mcp__')})" if payload.namespace else name
    if isinstance(command, str):
        title = line(command)
    elif paths:
        title = line(f"Edit {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""))
    asking = decoded(Asking, (payload.arguments or "").encode("utf-8", "replace")) if name == ASKS else None
    if asking is not None and asking.questions:
        title = line(asking.questions[0].question, name)
        return Action(
            kind="note",
            phase="started",
            call_id=payload.call_id,
            tool=name,
            title=title,
            detail=_questions(asking),
        )
    detail = patch or payload.input or "\n".join(f"{key}: {_plain(value)}" for key, value in fields.items())
    return Action(
        kind=KINDS.get(name, "tool"),
        phase="started",
        call_id=payload.call_id,
        tool=f"{payload.namespace}__{name}" if payload.namespace else name,
        title=title,
        detail=cut(command if isinstance(command, str) else detail),
        diff=cut(patch),
        paths=paths,
    )


def _questions(asking: Asking) -> str:
    rows: list[str] = []
    for each in asking.questions:
        rows.append(each.question)
        rows += [f"- {option.label}" for option in each.options or []]
    return cut("\n".join(rows))


def _completed(payload: Payload) -> Action:
    text = decoded(str, payload.output)
    if text is None:
        parts = decoded(list[Part], payload.output) or []
        text = "\n".join(part.text for part in parts)
    code = _EXIT.search(text)
    failed = (code is not None and code[1] != "0") or any(words in text for words in _REFUSED)
    failed = failed or _NOT_MADE.match(text) is not None
    answered = decoded(Answers, text.encode("utf-8", "replace"))
    if answered is not None:
        text = "\n".join(f"{name}: {', '.join(given.answers)}" for name, given in answered.answers.items())
        text = text or "No answer."
    begun = decoded(Spawned, text.encode("utf-8", "replace"))
    child = begun.agent_id if begun is not None and _THREAD.fullmatch(begun.agent_id) else ""
    return Action(
        kind="tool", phase="completed", call_id=payload.call_id, detail=cut(text), is_error=failed, child=child
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
