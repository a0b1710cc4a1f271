"""The shapes of Copilot CLI's events, as our extension passes them on and as its own record holds them.

Rule: what cannot be read is None; nothing that an agent, a model or a disk could write raises.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Raw, Struct, field

from yourcall.agents.kit import wire
from yourcall.agents.kit.wire import null

T = TypeVar("T")


def decoded(shape: type[T], data: bytes | Raw) -> T | None:
    """None also for bytes that are no text: msgspec does not look into a Raw when it decodes one."""
    try:
        bytes(data).decode()
    except ValueError:
        return None
    return wire.decoded(shape, data)


class Event(Struct, frozen=True):
    """One event. `agentId`: the sub-agent it is about; none for the person's own conversation. Our extension adds
    the rest: to the end of a turn the model's last words and the error that ended it; to the end of a request
    whether Copilot took our answer."""

    type: str = ""
    id: str = ""
    timestamp: str = ""
    agentId: str | None = None
    data: Raw = field(default_factory=null)
    last: str = ""
    failure: Event | None = None
    ours: bool = False


class Message(Struct, frozen=True):
    """A line of our extension: an event, all of its state, a word on its rights, or the end of what we asked."""

    type: str
    event: Event | None = None
    rights: str = ""
    busy: bool = False
    idle: Event | None = None
    open: list[Event] = []
    ended: list[Event] = []
    id: str = ""
    verb: str = ""
    request: str = ""
    success: bool = False
    error: str = ""


class About(Struct, frozen=True):
    """What the extension tells of itself as it dials in; only a claim."""

    session: str
    cwd: str = ""
    folder: str | None = None
    cli: int = 0
    pane: str | None = None
    tmux: str | None = None
    version: str | None = None


class Call(Struct, frozen=True):
    """The tool call behind a request: what a box for a path or an address does not say."""

    tool: str = ""
    input: Raw = field(default_factory=null)


class FileText(Struct, frozen=True):
    path: str = ""
    content: str = ""


class FileEdit(Struct, frozen=True):
    """One file before and after; a new one has no `before`, one that goes has no `after`."""

    before: FileText | None = None
    after: FileText | None = None


class Asked(Struct, frozen=True):
    """What a permission is about (`promptRequest`); `kind` says which of the fields are set."""

    kind: str = ""
    toolCallId: str | None = None
    intention: str | None = ""
    warning: str | None = ""
    fullCommandText: str = ""
    commandIdentifiers: list[str] = []
    canOfferSessionApproval: bool = False
    requestSandboxBypass: bool | None = False
    requestSandboxBypassReason: str | None = ""
    requestSandboxPermissive: bool | None = False
    fileName: str = ""
    resolvedPath: str | None = ""
    diff: str = ""
    newFileContents: str | None = None
    fileEdits: list[FileEdit] | None = None
    path: str = ""
    accessKind: str = ""
    paths: list[str] = []
    url: str = ""
    redirectedFrom: str | None = ""
    serverName: str = ""
    toolName: str = ""
    toolTitle: str = ""
    args: Raw = field(default_factory=null)
    hookMessage: str | None = ""
    toolArgs: Raw = field(default_factory=null)


class Permission(Struct, frozen=True):
    """`folder`: where a command would run, if that is told."""

    requestId: str
    promptRequest: Asked = Asked()
    resolvedByHook: bool | None = False
    call: Call | None = None
    folder: str | None = ""


class Form(Struct, frozen=True):
    """A question of the model (`ask_user`), or a form of an MCP server, which `elicitationSource` names."""

    requestId: str
    message: str = ""
    mode: str | None = ""
    url: str | None = ""
    elicitationSource: str | None = ""
    requestedSchema: Raw = field(default_factory=null)
    toolCallId: str | None = ""


class Plan(Struct, frozen=True):
    requestId: str
    summary: str = ""
    planContent: str = ""
    actions: list[str] = []
    recommendedAction: str = ""


class Decision(Struct, frozen=True):
    kind: str = ""
    reason: str | None = ""
    feedback: str | None = ""


class Completed(Struct, frozen=True):
    """How a request ended. `action`: of a form; `approved`, `selectedAction`: of a plan."""

    requestId: str
    toolCallId: str | None = ""
    result: Decision = Decision()
    action: str | None = ""
    approved: bool | None = None
    selectedAction: str | None = ""


class Said(Struct, frozen=True):
    content: str = ""


class Failure(Struct, frozen=True):
    message: str = ""
