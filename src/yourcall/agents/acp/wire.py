"""Messages of the Agent Client Protocol, version 1: JSON-RPC 2.0, one message a line, both ways.

Rule: what we read may hold anything; what does not fit means nothing. What we write is one whole line or none. A
number or a word that names a request is only ever handed back as it came: agents' and ours overlap.
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

from yourcall.agents import jsonrpc
from yourcall.agents.jsonrpc import Id, Problem
from yourcall.agents.kit.wire import decoded, null

T = TypeVar("T")

VERSION = 1
AUTH_REQUIRED = -32000


class Failed(Struct, frozen=True):
    """How the services of most models say what went wrong."""

    error: Problem = Problem()


class Info(Struct, frozen=True):
    name: str = ""
    title: str | None = ""
    version: str = ""


class AuthMethod(Struct, frozen=True):
    """`env_var`: signed in by a variable of the environment, without a person. Any other may open a browser."""

    id: str = ""
    name: str = ""
    type: str | None = ""


class Meta(Struct, frozen=True):
    claudeCode: dict[str, Raw] = {}


class Capabilities(Struct, frozen=True):
    loadSession: bool = False
    sessionCapabilities: dict[str, Raw] = {}


class Initialized(Struct, frozen=True):
    protocolVersion: Raw = field(default_factory=null)
    agentInfo: Info | None = None
    agentCapabilities: Capabilities = Capabilities()
    authMethods: list[AuthMethod] | None = None


class Mode(Struct, frozen=True):
    id: str = ""


class Modes(Struct, frozen=True):
    availableModes: list[Mode] = []
    currentModeId: str = ""


class Model(Struct, frozen=True):
    modelId: str = ""


class Models(Struct, frozen=True):
    availableModels: list[Model] = []
    currentModelId: str | None = ""


class ConfigChoice(Struct, frozen=True):
    value: str = ""


class ConfigOption(Struct, frozen=True):
    """A setting of the session; `category` says which one it is: `mode`, `model` or another."""

    id: str = ""
    category: str | None = ""
    currentValue: Raw = field(default_factory=null)
    options: Raw = field(default_factory=null)


class Begun(Struct, frozen=True):
    """The reply to `session/new` and, without an id, to `session/load`."""

    sessionId: str = ""
    modes: Modes | None = None
    models: Models | None = None
    configOptions: list[ConfigOption] | None = None


class Ended(Struct, frozen=True):
    """The reply to `session/prompt`: the turn is over."""

    stopReason: str = ""


class Content(Struct, frozen=True):
    type: str = ""
    text: str = ""
    uri: str | None = ""


class Part(Struct, frozen=True):
    """A part of what a call shows: words, a change of a file, or a terminal of the agent's."""

    type: str = ""
    content: Content | None = None
    path: str = ""
    oldText: str | None = ""
    newText: str | None = ""


class Location(Struct, frozen=True):
    path: str = ""


class Call(Struct, frozen=True):
    """A tool call as an update or a request tells it. What is None, or null, was not told, and is as before."""

    toolCallId: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[Part] | None = None
    locations: list[Location] | None = None
    rawInput: Raw = field(default_factory=null)  # not `Raw | None`: msgspec then takes nothing but null
    rawOutput: Raw = field(default_factory=null)


class Step(Struct, frozen=True):
    content: str = ""
    status: str = ""


class Update(Struct, frozen=True):
    """What `session/update` tells; a tool call is read from the same bytes as a `Call`."""

    sessionUpdate: str = ""
    content: Raw = field(default_factory=null)
    messageId: str | None = ""
    entries: list[Step] | None = None
    currentModeId: str | None = ""
    configOptions: list[ConfigOption] | None = None


class Updated(Struct, frozen=True):
    sessionId: str = ""
    update: Raw = field(default_factory=null)


class Choice(Struct, frozen=True):
    """One way to answer `session/request_permission`. `optionId` is what an answer names, and nothing else."""

    optionId: str
    name: str = ""
    kind: str = ""


class Permission(Struct, frozen=True):
    sessionId: str = ""
    toolCall: Raw = field(default_factory=lambda: Raw(b"{}"))
    options: list[Choice] = []

    @property
    def call(self) -> Call:
        """The call it is about. One that cannot be read is shown all the same: somebody is waited for."""
        return decoded(Call, self.toolCall) or Call(
            title="A call that yourcall cannot read", rawInput=self.toolCall
        )


class Elicitation(Struct, frozen=True):
    """`form`: a schema of fields to fill in. `url`: an address to open elsewhere."""

    sessionId: str | None = ""
    toolCallId: str | None = ""
    mode: str = "form"
    message: str = ""
    requestedSchema: Raw = field(default_factory=lambda: Raw(b"{}"))
    url: str | None = ""
    elicitationId: str | None = ""


class Withdrawn(Struct, frozen=True):
    """`$/cancel_request` names the request, `elicitation/complete` the form."""

    requestId: Id | None = None
    elicitationId: str = ""


def whole(line: bytes) -> bytes:
    """The same line without half letters, which JavaScript writes and strict readers refuse."""
    try:
        line.decode()
        if b"\\ud" not in line and b"\\uD" not in line:
            return line
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


def request(number: int, method: str, params: object) -> bytes:
    return _line(jsonrpc.request(number, method, params))


def notification(method: str, params: object) -> bytes:
    return _line(jsonrpc.notification(method, params))


def reply(number: Id, result: object) -> bytes:
    return _line(jsonrpc.reply(number, result))


def refusal(number: Id, message: str) -> bytes:
    return _line(jsonrpc.refusal(number, message))


def _line(message: dict[str, object]) -> bytes:
    return msgspec.json.encode(jsonrpc.stamped(message)) + b"\n"
