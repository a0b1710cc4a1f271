"""Lines of Claude's stream-json protocol, both ways. Seen on 2.0.76 and 2.1.325.

Rule: every line that we write is made by `encode`, which makes one whole line of JSON or none: a malformed line
ends the process that reads it. A line that we read may hold anything; what does not fit means nothing.
"""

from __future__ import annotations

import hashlib
import json
from typing import cast

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents.claude.wire import Decision, Message
from yourcall.agents.kit.prompts import derived_id as derived_id


class Unsendable(ValueError):
    """It cannot be put into one line of JSON."""


def _nothing() -> Raw:
    return Raw(b"{}")


class Line(Struct, frozen=True):
    """What every line has, and what tells one kind from another."""

    type: str = ""
    subtype: str | None = ""
    session_id: str | None = ""
    uuid: str | None = ""


class Request(Struct, frozen=True):
    """What the agent asks of us: `can_use_tool`, `elicitation`, `hook_callback`, and what later versions add."""

    subtype: str
    tool_name: str = ""
    input: Raw = field(default_factory=_nothing)
    permission_suggestions: list[Raw] | None = None
    tool_use_id: str | None = ""
    agent_id: str | None = ""
    mcp_server_name: str = ""
    message: str = ""
    mode: str | None = ""
    url: str | None = ""
    requested_schema: Raw = field(default_factory=_nothing)


class Requested(Struct, frozen=True):
    request_id: str
    request: Raw = field(default_factory=_nothing)


class Response(Struct, frozen=True):
    request_id: str
    subtype: str = ""
    error: str | None = ""
    response: Raw = field(default_factory=_nothing)


class Responded(Struct, frozen=True):
    response: Response


class System(Struct, frozen=True):
    cwd: str | None = ""
    permissionMode: str | None = ""
    claude_code_version: str | None = ""
    task_id: str | None = ""
    subagent_type: str | None = ""
    tasks: list[Raw] | None = None
    attempt: int | None = None
    error_status: int | None = None
    error: str | None = ""


class ToolMeta(Struct, frozen=True):
    """How a call was decided; older versions do not tell."""

    id: str = ""
    permission_decision: Decision | None = None


class Spoken(Struct, frozen=True):
    """A message of the model's, or what it was told."""

    message: Message | None = None
    parent_tool_use_id: str | None = ""
    agent_id: str | None = ""
    subagent_type: str | None = ""
    isReplay: bool = False
    error: str | None = ""
    tool_result_meta: list[ToolMeta] | None = None


class Result(Struct, frozen=True):
    is_error: bool = False
    result: str | None = ""
    errors: list[str] | None = None
    terminal_reason: str | None = ""
    total_cost_usd: float | None = None
    queued_turn_count: int | None = 0


class LimitInfo(Struct, frozen=True):
    status: str = ""
    resetsAt: float | None = None


class Limited(Struct, frozen=True):
    rate_limit_info: LimitInfo = LimitInfo()


class Delta(Struct, frozen=True):
    text: str = ""
    thinking: str = ""


class Event(Struct, frozen=True):
    type: str = ""
    delta: Delta = Delta()


class Streamed(Struct, frozen=True):
    event: Event = Event()
    parent_tool_use_id: str | None = ""


def encode(message: dict[str, object]) -> bytes:
    """One line of JSON, whatever is in the message; what the agent wrote itself keeps its spelling."""
    try:
        data = msgspec.json.encode(message)
        # What came through unread (a Raw) is looked at here, and loses any line break between its parts.
        line = msgspec.json.format(data, indent=-1)
        line.decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError, ValueError) as error:
        raise Unsendable(str(error)) from error
    return line + b"\n"


def plain(text: str) -> str:
    """Text that can be encoded: half a letter (a lone surrogate) becomes the sign for one that is missing."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended(line: bytes) -> bytes:
    """The same line without half letters, which JavaScript writes and strict readers refuse; empty if no JSON."""
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


def control_request(request_id: str, request: dict[str, object]) -> bytes:
    return encode({"type": "control_request", "request_id": request_id, "request": request})


def control_response(request_id: str, response: object) -> bytes:
    told = {"subtype": "success", "request_id": request_id, "response": response}
    return encode({"type": "control_response", "response": told})


def control_error(request_id: str, why: str) -> bytes:
    told = {"subtype": "error", "request_id": request_id, "error": plain(why)}
    return encode({"type": "control_response", "response": told})


def user_message(text: str, uuid: str) -> bytes:
    message = {"role": "user", "content": plain(text)}
    said = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", "uuid": uuid}
    return encode(cast("dict[str, object]", said))


def derived_uuid(*parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
