"""What goes over the JSON-RPC WebSocket, as structs; the OpenRPC document is made of them.

Rule: every name is the contract's own (docs/reference/json-rpc.md); results may get more fields, events never.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from yourcall.model.messages import Block, Role
from yourcall.server.wire import ReviewView

Text = Annotated[str, Meta(max_length=100_000)]
Id = Annotated[str, Meta(max_length=200)]
Word = Annotated[str, Meta(max_length=40)]
Mode = Literal["interactive", "default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto", "manual"]
PtyState = Literal["idle", "thinking", "permission", "question", "error"]
PromptType = Literal[
    "write_file", "edit_file", "delete_file", "bash_command", "trust_folder", "mcp_tool", "unknown", ""
]


class SendParams(Struct, frozen=True):
    """`interactive` always starts a new session; the others prefer one that lives."""

    prompt: Annotated[str, Meta(min_length=1, max_length=100_000)]
    workspace_id: Id = ""
    session_id: Id = ""
    permission_mode: Mode = "default"
    agent_type: Word = ""


class InputParams(Struct, frozen=True):
    """`input`: a text, or an option's key such as "1". `key`: a named key. Give one of them."""

    session_id: Id
    input: Text = ""
    key: Word = ""
    agent_type: Word = ""


class SessionParams(Struct, frozen=True):
    session_id: Id
    agent_type: Word = ""


class StartParams(Struct, frozen=True):
    """`session_id`: an earlier session that is to go on."""

    prompt: Text = ""
    workspace_id: Id = ""
    session_id: Id = ""
    permission_mode: Mode = "default"
    agent_type: Word = ""
    model: Annotated[str, Meta(max_length=200)] = ""


class ListParams(Struct, frozen=True):
    workspace_id: Id = ""
    agent_type: Word = ""


class AddParams(Struct, frozen=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    name: Annotated[str, Meta(max_length=100)] = ""


class RemoveParams(Struct, frozen=True):
    workspace_id: Id


class WatchParams(Struct, frozen=True):
    """`unwatch` without a session: all of them."""

    session_id: Id = ""
    workspace_id: Id = ""
    agent_type: Word = ""


class QueueAddParams(Struct, frozen=True):
    """`at`: with the trigger `time`, in seconds since 1970."""

    session_id: Id
    prompt: Annotated[str, Meta(min_length=1, max_length=100_000)]
    trigger: Literal["turn", "time", "limit"] = "turn"
    at: float = 0.0


class OrderParams(Struct, frozen=True):
    """One of: a new text, a new place among those that wait, counted from 1, or that it is removed."""

    session_id: Id
    order_id: Id
    prompt: Text = ""
    place: Annotated[int, Meta(ge=0, le=1000)] = 0
    remove: bool = False


class HoldParams(Struct, frozen=True):
    session_id: Id
    held: bool


class ReviewParams(Struct, frozen=True):
    """`agent_type`: who reviews. `prompt`: the question; without one, what is wrong, missing or risky."""

    session_id: Id
    agent_type: Word
    prompt: Annotated[str, Meta(max_length=4_000)] = ""


class ReviewChangeParams(Struct, frozen=True):
    """`send`: back to the session, as `prompt`, or quoted as a whole. `end`: nobody wants to hear more of it."""

    review_id: Id
    send: bool = False
    end: bool = False
    prompt: Text = ""


class ReviewList(Struct, frozen=True):
    reviews: tuple[ReviewView, ...]


class NoParams(Struct, frozen=True):
    pass


class SendResult(Struct, frozen=True):
    status: Literal["sent"]
    session_id: str


class Status(Struct, frozen=True):
    status: str


class SessionResult(Struct, frozen=True):
    status: str
    session_id: str


class StateResult(Struct, frozen=True):
    """`is_live`: it was not started by us. `is_pty_mode`: it has a terminal."""

    session_id: str
    workspace_id: str
    status: Literal["running", "stopped"]
    is_pty_mode: bool
    pty_state: PtyState
    pty_waiting_for_input: bool
    pty_prompt_type: PromptType
    is_live: bool
    agent_type: str


class ActiveSession(Struct, frozen=True):
    session_id: str
    status: Literal["running", "stopped"]
    is_live: bool
    terminal_app: str


class ListedSession(Struct, frozen=True):
    session_id: str
    workspace_id: str
    agent_type: str
    status: Literal["running", "stopped"]
    is_live: bool
    terminal_app: str
    permission_mode: str
    pty_state: PtyState


class WorkspaceView(Struct, frozen=True):
    """`active_session`: the one that spoke last, if any lives there."""

    id: str
    name: str
    path: str
    active_session: ActiveSession | None


class WorkspaceList(Struct, frozen=True):
    workspaces: tuple[WorkspaceView, ...]


class SessionList(Struct, frozen=True):
    sessions: tuple[ListedSession, ...]


class PtyOutput(Struct, frozen=True):
    clean_text: str
    raw_text: str
    state: PtyState
    session_id: str


class PtyOption(Struct, frozen=True):
    """`selected`: the highlight is here; `enter` takes it."""

    key: str
    label: str
    description: str | None
    selected: bool


class PtyPermission(Struct, frozen=True):
    type: PromptType
    target: str
    description: str
    preview: str | None
    options: tuple[PtyOption, ...]
    session_id: str


class PtyStateChange(Struct, frozen=True):
    state: PtyState
    waiting_for_input: bool
    prompt_type: PromptType
    session_id: str


class ClaudeMessage(Struct, frozen=True):
    session_id: str
    type: Role
    role: Role
    content: tuple[Block, ...]
    stop_reason: str
    is_context_compaction: bool


class ClaudeLog(Struct, frozen=True):
    """One line of a started session's own output, as it is; `parsed` is the same as JSON, or null."""

    session_id: str
    line: str
    stream: Literal["stdout"]
    parsed: Raw | None


Payload = PtyOutput | PtyPermission | PtyStateChange | ClaudeMessage | ClaudeLog

EVENTS: dict[type[Struct], str] = {
    PtyOutput: "pty_output",
    PtyPermission: "pty_permission",
    PtyStateChange: "pty_state",
    ClaudeMessage: "claude_message",
    ClaudeLog: "claude_log",
}


class Event(Struct, frozen=True):
    type: str
    timestamp: str
    payload: object


def event(payload: Struct, at: float) -> Event:
    return Event(EVENTS[type(payload)], stamp(at), payload)


def stamp(at: float) -> str:
    return datetime.fromtimestamp(max(at, 0.0), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
