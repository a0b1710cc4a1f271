"""What was said and done in a session of Gemini CLI, from its chat file.

Rule: a message is written again when more is known of it; each thing it says is told once, when it is whole.
"""

from __future__ import annotations

import msgspec

from yourcall.agents.gemini import tools
from yourcall.agents.gemini.hooks import chat_line
from yourcall.agents.gemini.wire import ChatLine, ToolCall
from yourcall.agents.kit.wire import fields_of, text_of, time_of
from yourcall.agents.sightings import TurnMark
from yourcall.model.conversation import (
    Action,
    ActionKind,
    AnyEntry,
    AssistantText,
    Notice,
    Thinking,
    Tokens,
    UserMessage,
)
from yourcall.model.sessions import Session

LONGEST = 20_000
# What the CLI itself puts in front of the first message.
CONTEXT = "<session_context>"

KINDS: dict[str, ActionKind] = {
    tools.SHELL: "command",
    "write_file": "file_change",
    "replace": "file_change",
    "web_fetch": "web",
    "google_web_search": "web",
}


class Part(msgspec.Struct, frozen=True):
    text: str = ""


_parts = msgspec.json.Decoder(str | list[Part])


def conversation_of(session: Session, subagent: str) -> str:
    return "" if subagent else session.transcript


def read_entry(line: bytes) -> list[AnyEntry]:
    """The entries of one line; most lines are patches and say nothing."""
    told = chat_line(line)
    if told is None or not told.type:
        return []
    at = time_of(told.timestamp)
    match told.type:
        case "user":
            said = [text for text in _texts(told) if not text.startswith(CONTEXT)]
            return [UserMessage(text="\n".join(said)[:LONGEST], at=at)] if any(said) else []
        case "gemini" if told.toolCalls is not None:
            return [entry for call in told.toolCalls for entry in _actions(call, told)]
        case "gemini":
            return _said(told, at)
        case "info" | "warning" | "error":
            said = "\n".join(_texts(told))[:LONGEST]
            return [Notice(text=said, level=told.type, at=at)] if said else []
        case _:
            return []


def read_turn(line: bytes) -> TurnMark | None:
    """What a line says of the turn. Words without a call may be its last, or those in front of a call: calls are
    written when they are over."""
    entry = chat_line(line)
    if entry is None or entry.type not in ("user", "gemini"):
        return None
    at = time_of(entry.timestamp)
    if entry.type == "user":
        context = all(text.startswith(CONTEXT) for text in _texts(entry)) and any(_texts(entry))
        return None if context else TurnMark("on", at)
    return TurnMark("said" if not entry.toolCalls and any(_texts(entry)) else "on", at)


def _texts(told: ChatLine) -> list[str]:
    try:
        content = _parts.decode(told.content)
    except (ValueError, RecursionError):
        return []
    return [content] if isinstance(content, str) else [part.text for part in content if part.text]


def _said(told: ChatLine, at: float) -> list[AnyEntry]:
    used = told.tokens
    tokens = Tokens(used.input, used.output, used.cached) if used else None
    entries: list[AnyEntry] = [
        Thinking(text=f"{thought.subject}\n{thought.description}".strip()[:LONGEST], at=at)
        for thought in told.thoughts or []
    ]
    text = "\n".join(_texts(told))[:LONGEST]
    return [*entries, AssistantText(text=text, model=told.model[:80], tokens=tokens, at=at)] if text else entries


def _actions(call: ToolCall, told: ChatLine) -> list[AnyEntry]:
    """A call is in the file only when it is over: both its entries come at once."""
    fields = fields_of(call.args)
    path = text_of(fields, "file_path")
    started = Action(
        kind=KINDS.get(call.name, "tool"),
        phase="started",
        call_id=call.id,
        tool=call.name[:200],
        title=tools.title_of(call.name, fields),
        detail=tools.body_of(call.name, fields),
        paths=(path,) if path else (),
        at=time_of(told.timestamp),
    )
    text = {"success": "", "cancelled": "refused or stopped"}.get(call.status, call.status)
    ended = Action(
        kind=started.kind,
        phase="completed",
        call_id=call.id,
        detail="\n".join(part for part in (text, _output(call)) if part)[:LONGEST],
        is_error=call.status != "success",
        at=time_of(call.timestamp),
    )
    return [started, ended]


def _output(call: ToolCall) -> str:
    """The tool's words to the model: `[{"functionResponse": {"response": {"output" | "error": …}}}]`."""
    try:
        told = msgspec.json.decode(call.result, type=list[dict[str, dict[str, object]]])
    except (ValueError, RecursionError):
        return ""
    answers = [each.get("functionResponse", {}).get("response") for each in told]
    texts = [
        text_of(fields, name)
        for answer in answers
        for fields in [fields_of(msgspec.json.encode(answer))]
        for name in ("output", "error")
    ]
    return "\n".join(text for text in texts if text)
