"""What Claude Code emits: hook payloads, transcript lines, session files. Seen on 2.0.76, 2.1.197 and 2.1.325.

Rule: only the fields we rely on are named, all but the session id may be missing, and unknown ones are kept out.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field

from yourcall.agents.kit import hooks
from yourcall.agents.kit.wire import empty


class HookPayload(hooks.HookPayload, frozen=True):
    prompt_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    tool_use_id: str = ""
    permission_suggestions: list[Raw] | None = None
    mcp_server_name: str = ""
    message: str = ""
    mode: str = ""
    url: str = ""
    requested_schema: Raw = field(default_factory=empty)
    action: str = ""
    notification_type: str = ""
    error: str = ""
    last_assistant_message: str = ""
    background_tasks: list[Raw] = field(default_factory=list[Raw])
    stop_hook_active: bool = False


class Rule(Struct, frozen=True):
    toolName: str
    ruleContent: str = ""


class Suggestion(Struct, frozen=True):
    """A permission Claude itself offers to remember, in its own words."""

    type: str
    destination: str = ""
    behavior: str = ""
    mode: str = ""
    rules: list[Rule] = []
    directories: list[str] = []


class Decision(Struct, frozen=True):
    decision: str = ""
    source: str = ""
    grantScope: str = ""


class Block(Struct, frozen=True):
    type: str = ""
    id: str = ""
    name: str = ""
    input: Raw = field(default_factory=empty)
    tool_use_id: str = ""
    is_error: bool = False
    content: Raw = field(default_factory=lambda: Raw(b'""'))


class Message(Struct, frozen=True):
    content: Raw = field(default_factory=lambda: Raw(b"[]"))


class TranscriptLine(Struct, frozen=True):
    type: str = ""
    timestamp: str = ""
    message: Message | None = None
    permissionDecision: Decision | None = None
    toolDenialKind: str = ""
    toolUseResult: Raw = field(default_factory=empty)


class SessionFile(Struct, frozen=True):
    sessionId: str
    status: str = ""
    statusUpdatedAt: float = 0.0
    updatedAt: float = 0.0  # before 2.1.197 the only time there is
    procStart: str = ""
    version: str = ""
    cwd: str = ""
    entrypoint: str = ""
