"""What was said and done in a session of Qwen Code, from its record.

Rule: one line of the record is one thing that was said or done, in the order in which it happened.
"""

from __future__ import annotations

import msgspec

from yourcall.agents.kit.wire import fields_of, text_of, time_of
from yourcall.agents.qwen import requests
from yourcall.agents.qwen.hooks import record_line
from yourcall.agents.qwen.wire import CallEnd, FunctionCall, RecordLine
from yourcall.model.conversation import (
    Action,
    ActionKind,
    AnyEntry,
    AssistantText,
    Thinking,
    Tokens,
    UserMessage,
)
from yourcall.model.sessions import Session

LONGEST = 20_000

KINDS: dict[str, ActionKind] = {
    requests.SHELL: "command",
    requests.WRITE: "file_change",
    requests.EDIT: "file_change",
    requests.ASK: "question",
    "web_fetch": "web",
    "web_search": "web",
}


class _Diff(msgspec.Struct, frozen=True):
    """What the CLI shows of a change to a file."""

    fileDiff: str = ""


_diff = msgspec.json.Decoder(_Diff)


def conversation_of(session: Session, subagent: str) -> str:
    return "" if subagent else session.transcript


def read_entry(line: bytes) -> list[AnyEntry]:
    """The entries of one line; what the CLI notes for itself says nothing."""
    record = record_line(line)
    if record is None or record.message is None:
        return []
    at = time_of(record.timestamp)
    match record.type:
        case "user":
            literal_string = "\n".join(part.text for part in record.message.parts if part.text)[:LONGEST]
            return [UserMessage(text=literal_string, at=at)] if literal_string else []
        case "assistant":
            return _assistant(record, at)
        case "tool_result" if record.toolCallResult is not None:
            return [_ended(record, record.toolCallResult, at)]
        case _:
            return []


def _assistant(record: RecordLine, at: float) -> list[AnyEntry]:
    used = record.usageMetadata
    tokens = None
    if used is not None:
        tokens = Tokens(used.promptTokenCount, used.candidatesTokenCount, used.cachedContentTokenCount)
    entries: list[AnyEntry] = []
    for part in record.message.parts if record.message else []:
        if part.functionCall is not None:
            entries.append(_started(part.functionCall, at))
        elif part.text and part.thought:
            entries.append(Thinking(text=part.text[:LONGEST], at=at))
        elif part.text:
            entries.append(AssistantText(text=part.text[:LONGEST], model=record.model[:80], tokens=tokens, at=at))
            tokens = None
    return entries


def _started(call: FunctionCall, at: float) -> Action:
    tool, fields = call.name[:200], fields_of(call.args)
    path = text_of(fields, "file_path")
    diff = requests.diff_of(tool, fields)
    return Action(
        kind=KINDS.get(tool, "tool"),
        phase="started",
        call_id=call.id[:200],
        tool=tool,
        title=requests.title_of(tool, fields),
        detail="" if diff else requests.body_of(tool, fields)[:LONGEST],
        diff=diff[:LONGEST],
        paths=(path,) if path else (),
        at=at,
    )


def _ended(record: RecordLine, end: CallEnd, at: float) -> Action:
    text = {"success": "", "cancelled": "refused or stopped"}.get(end.status, end.status)
    return Action(
        kind="tool",
        phase="completed",
        call_id=end.callId[:200],
        detail="\n".join(part for part in (text, _output(record)) if part)[:LONGEST],
        diff=_shown_diff(end),
        is_error=end.status != "success",
        at=at,
    )


def _shown_diff(end: CallEnd) -> str:
    try:
        return _diff.decode(end.resultDisplay).fileDiff[:LONGEST]
    except (ValueError, RecursionError):
        return ""


def _output(record: RecordLine) -> str:
    """The tool's words to the model."""
    parts = record.message.parts if record.message else []
    answers = [fields_of(part.functionResponse.response) for part in parts if part.functionResponse is not None]
    return "\n".join(text for fields in answers for name in ("output", "error") if (text := text_of(fields, name)))
