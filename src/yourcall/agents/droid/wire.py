"""What droid emits: hook payloads and the lines of its record. Seen on 0.225.2.

Rule: only the fields we rely on are named, all but the session id may be missing, and unknown ones are kept out.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field

from yourcall.agents.kit import hooks
from yourcall.agents.kit.wire import empty, null


class HookPayload(hooks.HookPayload, frozen=True):
    message_id: str = ""
    message: str = ""
    notification_type: str = ""


class Block(Struct, frozen=True):
    """A part of a message: `text`, `thinking`, `tool_use`, `tool_result`."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = field(default_factory=empty)
    tool_use_id: str = ""
    is_error: bool = False
    content: Raw = field(default_factory=null)


class Message(Struct, frozen=True):
    """`visibility`: `user_only` is what the CLI shows and the model never sees, such as its hooks."""

    role: str = ""
    content: list[Block] = []
    visibility: str = ""
    modelId: str = ""


class RecordLine(Struct, frozen=True):
    type: str = ""
    timestamp: str = ""
    message: Message | None = None
    reason: str = ""
