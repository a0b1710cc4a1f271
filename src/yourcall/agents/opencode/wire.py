"""What our plugin sends and gets, one JSON object a line, and the parts of opencode's own events within it.

Rule: the plugin's process also runs what a model wrote. Nothing here is trusted to be there, or to be of a size.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field

# Ids name files and stand in addresses.
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")

Wanted = TypeVar("Wanted")


class Greeting(Struct, frozen=True):
    tmux: str | None = None
    pane: str | None = None


class Failure(Struct, frozen=True):
    name: str = ""
    message: str = ""


class SessionTold(Struct, frozen=True, tag="session"):
    """A session there is. `retry`: what it waits out, if it waits to try again."""

    session: str
    directory: str = ""
    parent: str | None = None
    title: str | None = None
    version: str | None = None
    cost: float | None = None
    agent: str | None = None
    retry: str | None = None


class AgentTold(Struct, frozen=True, tag="agent"):
    """Which of its agents the person speaks to now."""

    session: str
    agent: str


class Busy(Struct, frozen=True, tag="busy"):
    """A turn runs. `after`: the turn that the session rested after before it."""

    session: str
    after: str = ""


class Idle(Struct, frozen=True, tag="idle"):
    """The turn is over. `turn` is its last message, `text` what the model said last."""

    session: str
    turn: str = ""
    text: str = ""
    error: Failure | None = None


class Choice(Struct, frozen=True):
    label: str = ""
    description: str = ""


class Asking(Struct, frozen=True):
    """One question. `custom`: an own text is taken, too."""

    question: str = ""
    header: str = ""
    options: list[Choice] = []
    multiple: bool | None = None
    custom: bool | None = None


class CallPlace(Struct, frozen=True):
    callID: str = ""


class Request(Struct, frozen=True):
    """A permission or questions, as its event told them."""

    permission: str = ""
    patterns: list[str] = []
    metadata: Raw = field(default_factory=lambda: Raw(b"{}"))
    always: list[str] = []
    tool: CallPlace | None = None
    questions: list[Asking] = []


class Call(Struct, frozen=True):
    """The tool call behind a request."""

    tool: str = ""
    input: Raw = field(default_factory=lambda: Raw(b"{}"))


class Asked(Struct, frozen=True, tag="asked"):
    """A request that is open. `kind` is `permission` or `question`."""

    session: str
    id: str
    kind: str
    request: Request
    call: Call | None = None


class Settled(Struct, frozen=True, tag="settled"):
    """A request that is over: by `us` or at the `desk`; `abort`: its turn was stopped; `gone`: it is not asked any
    more; `nobody`: we answered, and nothing came of it."""

    session: str
    id: str
    by: str
    reply: str | None = None
    answers: list[list[str]] | None = None


class CallState(Struct, frozen=True):
    status: str = ""
    input: Raw = field(default_factory=lambda: Raw(b"{}"))
    output: str = ""
    error: str = ""
    title: str | None = None
    diff: str = ""
    child: str | None = None


class Part(Struct, frozen=True):
    """A piece of a message: a text, a thought, a tool call."""

    type: str
    id: str = ""
    text: str = ""
    tool: str = ""
    callID: str = ""
    state: CallState = CallState()


class PartTold(Struct, frozen=True, tag="part"):
    session: str
    role: str
    part: Part


class PastMessage(Struct, frozen=True):
    role: str = ""
    at: float = 0.0
    parts: list[Part] = []


class History(Struct, frozen=True, tag="history"):
    session: str
    messages: list[PastMessage] = []


class Done(Struct, frozen=True, tag="done"):
    id: str
    error: str = ""


class Ended(Struct, frozen=True, tag="ended"):
    session: str


AnyMessage = SessionTold | AgentTold | Busy | Idle | Asked | Settled | PartTold | History | Done | Ended

_message = msgspec.json.Decoder(AnyMessage)


def message(line: bytes) -> AnyMessage | None:
    """None if it cannot be read, or names a session by what is no id."""
    try:
        told = _message.decode(line)
    except (ValueError, RecursionError):
        return None
    session = "" if isinstance(told, Done) else told.session
    return told if isinstance(told, Done) or SAFE_ID.fullmatch(session) else None


def encoded(**fields: object) -> bytes:
    return msgspec.json.encode(fields)
