"""What was said and done in a session of droid, from its record.

Rule: what the CLI writes for itself (hooks, reminders to the model) was said by nobody and is left out.
"""

from __future__ import annotations

from yourcall.agents.droid import tools
from yourcall.agents.droid.hooks import record_line, result_text
from yourcall.agents.droid.wire import Block, Message
from yourcall.agents.kit.wire import fields_of, text_of, time_of
from yourcall.model.conversation import Action, ActionKind, AnyEntry, AssistantText, Thinking, UserMessage
from yourcall.model.sessions import Session

LONGEST = 20_000
REMINDER = "<system-reminder>"

KINDS: dict[str, ActionKind] = {
    tools.SHELL: "command",
    **dict.fromkeys(tools.WRITES, "file_change"),
    tools.ASK: "question",
    "FetchUrl": "web",
    "WebSearch": "web",
}


def conversation_of(session: Session, subagent: str) -> str:
    return "" if subagent else session.transcript


def read_entry(line: bytes) -> list[AnyEntry]:
    """The entries of one line."""
    record = record_line(line)
    if record is None or record.type != "message" or record.message is None:
        return []
    if record.message.visibility == "user_only":
        return []
    at = time_of(record.timestamp)
    entries: list[AnyEntry] = []
    for block in record.message.content:
        entries += _entry(record.message, block, at)
    return entries


def _entry(message: Message, block: Block, at: float) -> list[AnyEntry]:
    match block.type:
        case "text" if block.text and not block.text.startswith(REMINDER):
            if message.role == "user":
                return [UserMessage(text=block.text[:LONGEST], at=at)]
            return [AssistantText(text=block.text[:LONGEST], model=message.modelId[:80], at=at)]
        case "thinking" if block.thinking:
            return [Thinking(text=block.thinking[:LONGEST], at=at)]
        case "tool_use" if block.id:
            return [_started(block, at)]
        case "tool_result" if block.tool_use_id:
            text = result_text(block.content)[:LONGEST]
            ended = Action(
                kind="tool",
                phase="completed",
                call_id=block.tool_use_id[:200],
                detail=text,
                is_error=block.is_error,
                at=at,
            )
            return [ended]
        case _:
            return []


def _started(block: Block, at: float) -> Action:
    tool, fields = block.name[:200], fields_of(block.input)
    path = text_of(fields, "file_path")
    diff = tools.diff_of(tool, fields)
    return Action(
        kind=KINDS.get(tool, "tool"),
        phase="started",
        call_id=block.id[:200],
        tool=tool,
        title=tools.title_of(tool, fields),
        detail="" if diff else tools.body_of(tool, fields)[:LONGEST],
        diff=diff[:LONGEST],
        paths=(path,) if path else (),
        at=at,
    )
