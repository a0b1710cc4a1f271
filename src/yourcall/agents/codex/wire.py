"""Messages of Codex's app-server, both ways: JSON-RPC without the version member. Seen on 0.166.0.

Rule: what we read may hold anything; what does not fit means nothing. What we write is one whole message or none.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents import jsonrpc
from yourcall.agents.jsonrpc import Id, Problem
from yourcall.agents.kit.wire import null

T = TypeVar("T")

CLIENT = {"name": "yourcall", "title": "yourcall"}


class Status(Struct, frozen=True):
    """`active`, `idle`, `systemError` or `notLoaded`; the flags say what an active thread waits for."""

    type: str = ""
    activeFlags: list[str] | None = None


class Thread(Struct, frozen=True):
    """One conversation. A sub-agent's has a parent, and the session id of the conversation it belongs to."""

    id: str
    sessionId: str | None = ""
    parentThreadId: str | None = ""
    ephemeral: bool = False
    cwd: str = ""
    path: str | None = ""
    status: Status = Status()
    cliVersion: str = ""
    model: str | None = ""
    agentNickname: str | None = ""
    agentRole: str | None = ""


class ChangeKind(Struct, frozen=True):
    type: str = ""
    move_path: str | None = None


class Change(Struct, frozen=True):
    path: str = ""
    kind: ChangeKind = ChangeKind()
    diff: str = ""


class Part(Struct, frozen=True):
    type: str = ""
    text: str = ""


class Item(Struct, frozen=True):
    """One thing of a turn: a message, a command, a change, a call. What a kind does not have is empty."""

    type: str = ""
    id: str = ""
    status: str = ""
    text: str = ""
    command: str = ""
    server: str = ""
    tool: str = ""
    exitCode: int | None = None
    changes: list[Change] = []
    content: list[Raw] = []
    error: Problem | None = None


class Turn(Struct, frozen=True):
    id: str = ""
    status: str = ""
    items: list[Item] = []
    error: Failure | None = None


class Failure(Struct, frozen=True):
    message: str = ""
    codexErrorInfo: Raw = field(default_factory=null)


class Page(Struct, frozen=True):
    data: list[Turn] = []


class Resumed(Struct, frozen=True):
    """The reply to `thread/start`, `thread/resume` and `thread/read`."""

    thread: Thread
    initialTurnsPage: Page | None = None
    approvalPolicy: Raw = field(default_factory=null)


class Begun(Struct, frozen=True):
    """The reply to `turn/start`, and the notification `turn/started`."""

    turn: Turn
    threadId: str = ""


class Loaded(Struct, frozen=True):
    data: list[str] = []


class Placed(Struct, frozen=True):
    """An item as `thread/items/read` gives it."""

    item: Item


class Items(Struct, frozen=True):
    data: list[Placed] = []


class Note(Struct, frozen=True):
    """What the notifications that matter have among their parameters."""

    threadId: str = ""
    turnId: str = ""
    requestId: Id | None = None
    status: Status = Status()
    item: Item = Item()
    turn: Turn = Turn()
    itemId: str = ""
    delta: str = ""


class Whose(Struct, frozen=True):
    """Whose request it is: all that must be readable of one, for it to be shown."""

    threadId: str = ""


class NewThread(Struct, frozen=True):
    thread: Thread


def request(number: int, method: str, params: object) -> bytes:
    return msgspec.json.encode(jsonrpc.request(number, method, params))


def notification(method: str) -> bytes:
    return msgspec.json.encode(jsonrpc.notification(method))


def reply(number: Id, result: object) -> bytes:
    return msgspec.json.encode(jsonrpc.reply(number, result))


def refusal(number: Id, message: str) -> bytes:
    return msgspec.json.encode(jsonrpc.refusal(number, message))


def said(text: str) -> list[dict[str, str]]:
    """A person's words, as the input of a turn."""
    return [{"type": "text", "text": text}]
