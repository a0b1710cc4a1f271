"""A conversation as whole messages with blocks, for clients that show an agent's own messages.

Rule: nothing here knows a particular agent. Where an agent's record holds such messages they are passed on as they
are; else they are made from the entries of the conversation, and say no more than those.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Raw, Struct

from yourcall.model.conversation import (
    Action,
    AnyEntry,
    AssistantText,
    Compaction,
    Notice,
    Result,
    Thinking,
    UserMessage,
)

Role = Literal["user", "assistant", "system"]


class Block(Struct, frozen=True, omit_defaults=True):
    """`text`, `thinking`, `tool_use` or `tool_result`; what is empty is left out."""

    type: str
    text: str | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    tool_input: Raw | None = None
    is_error: bool = False


class Message(Struct, frozen=True):
    """`stop_reason`: empty while the agent still works, `end_turn` when it is finished, `tool_use` for a call."""

    type: Role
    role: Role
    content: tuple[Block, ...]
    stop_reason: str = ""
    is_context_compaction: bool = False
    at: float = 0.0


def from_entries(entries: Iterable[AnyEntry]) -> list[Message]:
    """The messages that these entries are; an end of a turn is told by a message without a word."""
    return [message for entry in entries if (message := _message(entry)) is not None]


def _message(entry: AnyEntry) -> Message | None:
    at = entry.at
    match entry:
        case UserMessage(text=text):
            return Message("user", "user", (Block("text", text),), at=at)
        case AssistantText(text=text):
            return Message("assistant", "assistant", (Block("text", text),), at=at)
        case Thinking(text=text):
            return Message("assistant", "assistant", (Block("thinking", text),), at=at)
        case Action(phase="started"):
            call = Block("tool_use", entry.detail or entry.title, entry.tool or entry.kind, entry.call_id)
            return Message("assistant", "assistant", (call,), "tool_use", at=at)
        case Action():
            result = Block("tool_result", entry.detail, entry.tool or None, entry.call_id, is_error=entry.is_error)
            return Message("user", "user", (result,), at=at)
        case Compaction(summary=summary):
            return Message("system", "system", (Block("text", summary),), is_context_compaction=True, at=at)
        case Result(scope="turn"):
            return Message("assistant", "assistant", (), "end_turn", at=at)
        case Notice(text=text):
            return Message("system", "system", (Block("text", text),), at=at)
        case _:
            return None
