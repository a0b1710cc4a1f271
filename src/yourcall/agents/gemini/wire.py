"""What Gemini CLI emits: hook payloads and the lines of its chat files. Seen on 0.61.0.

Rule: only the fields we rely on are named, all but the session id may be missing, and unknown ones are kept out.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field

from yourcall.agents.kit import hooks
from yourcall.agents.kit.wire import empty, null


class HookPayload(hooks.HookPayload, frozen=True):
    notification_type: str = ""
    message: str = ""
    details: Raw = field(default_factory=empty)
    prompt_response: str = ""


class Details(Struct, frozen=True):
    """What a ToolPermission notification says about the dialog. `type`: exec, edit, mcp, info, ask_user, …"""

    type: str = ""
    title: str = ""
    command: str = ""
    fileName: str = ""
    filePath: str = ""
    fileDiff: str = ""
    newContent: str = ""
    serverName: str = ""
    toolName: str = ""
    toolDisplayName: str = ""
    prompt: str = ""
    urls: list[str] | None = None


class AskOption(Struct, frozen=True):
    label: str = ""
    description: str = ""


class AskQuestion(Struct, frozen=True):
    """`type`: choice (the default), text, yesno."""

    question: str = ""
    header: str = ""
    type: str = "choice"
    options: list[AskOption] | None = None
    multiSelect: bool = False
    placeholder: str = ""


class AskInput(Struct, frozen=True):
    questions: list[AskQuestion] = []


class ToolCall(Struct, frozen=True):
    """A tool call in a chat file: written when it is over, and only then."""

    id: str = ""
    name: str = ""
    args: Raw = field(default_factory=empty)
    status: str = ""
    timestamp: str = ""
    result: Raw = field(default_factory=null)
    displayName: str = ""
    description: str = ""


class Thought(Struct, frozen=True):
    subject: str = ""
    description: str = ""


class Usage(Struct, frozen=True):
    input: int = 0
    output: int = 0
    cached: int = 0


class ChatLine(Struct, frozen=True):
    """One line: a message (`type` user, gemini, info, error …), or a patch, which says nothing new."""

    id: str = ""
    type: str = ""
    timestamp: str = ""
    content: Raw = field(default_factory=lambda: Raw(b'""'))
    thoughts: list[Thought] | None = None
    tokens: Usage | None = None
    model: str = ""
    toolCalls: list[ToolCall] | None = None
