"""What the daemon's replies hold, as far as a terminal shows it.

Rule: read leniently; a daemon of another version may say more, or less, and is shown all the same.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from yourcall.cli.instance import Problem

T = TypeVar("T")


class Option(Struct, frozen=True):
    id: str
    label: str
    effect: str = ""
    description: str = ""
    preview: str = ""
    confirm: bool = False
    confirm_reason: str = ""
    digit: str = ""


class Question(Struct, frozen=True):
    id: str
    text: str
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    free_text: bool = False
    required: bool = True
    type: str = ""
    minimum: float | None = None
    maximum: float | None = None
    header: str = ""


class Tool(Struct, frozen=True):
    name: str
    input: Any = None


class Moment(Struct, frozen=True):
    at: float
    state: str
    by: str = ""
    detail: str = ""


class Risk(Struct, frozen=True):
    level: str = "unclear"
    reason: str = "Nothing is known about the risk."


class Order(Struct, frozen=True):
    id: str
    text: str
    by: str = ""
    added_at: float = 0.0
    trigger: str = "turn"
    at: float = 0.0
    command: str = ""
    state: str = "waiting"
    changed_at: float = 0.0
    detail: str = ""


class Queue(Struct, frozen=True):
    """What waits for a session, after what is over."""

    session_id: str
    orders: tuple[Order, ...] = ()
    held: str = ""
    waits_for: str = ""


class Review(Struct, frozen=True):
    id: str
    reviewer: str
    state: str
    text: str = ""
    detail: str = ""
    question: str = ""
    round: int = 1
    cost_usd: float = 0.0
    sent_at: float = 0.0


class FileChange(Struct, frozen=True):
    path: str = ""
    change: str = "edit"
    old: str = ""
    new: str = ""
    diff: str = ""
    to: str = ""
    note: str = ""


class InputField(Struct, frozen=True):
    name: str
    value: str = ""


class Action(Struct, frozen=True):
    """What a permission would do, in the same words for every agent."""

    kind: str
    tool: str = ""
    command: str = ""
    purpose: str = ""
    background: bool = False
    paths: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    url: str = ""
    server: str = ""
    name: str = ""
    more: tuple[InputField, ...] = ()
    command_field: str = ""


class Prompt(Struct, frozen=True):
    id: str
    kind: str
    state: str
    agent: str
    session_id: str
    cwd: str
    title: str
    opened_at: float
    body: str = ""
    tool: Tool | None = None
    questions: tuple[Question, ...] = ()
    held: bool = True
    hold: bool = False
    outcome: str | None = None
    subagent: str = ""
    permission_mode: str = ""
    answered_by: str | None = None
    closed_at: float | None = None
    branch: str = ""
    history: tuple[Moment, ...] = ()
    action: Action | None = None
    risk: Risk = Risk()
    resets_at: float = 0.0

    @property
    def warning(self) -> str:
        """Why a yes is risky, in a sentence; empty if nothing speaks for it."""
        return self.risk.reason if self.risk.level != "low" else ""

    @property
    def command(self) -> str:
        """The command that a permission would run; empty if it runs none."""
        return self.action.command if self.action is not None else ""

    @property
    def editable_command(self) -> str:
        """The command as a person may edit it; empty where no field of the tool's input is the command itself."""
        return self.command if self.action is not None and self.action.command_field else ""

    def with_command(self, command: str) -> dict[str, Any]:
        """The tool's input with another command in it."""
        return {**self.fields, self.action.command_field: command} if self.action is not None else {}

    @property
    def fields(self) -> dict[str, Any]:
        """What the tool gets, as it was sent."""
        given = self.tool.input if self.tool is not None else None
        return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


class Link(Struct, frozen=True):
    kind: str
    target: str = ""
    server: str = ""


class Session(Struct, frozen=True):
    id: str
    agent: str
    cwd: str
    state: str
    mode: str = ""
    permission_mode: str = ""
    links: tuple[Link, ...] = ()
    pid: int = 0
    version: str = ""
    note: str = ""
    seen_at: float = 0.0


class Judged(Struct, frozen=True):
    """The daemon's verdict on an edited input. `confirm`: by option, why it needs a confirmation."""

    risk: Risk
    confirm: dict[str, str] = {}


class Result(Struct, frozen=True):
    """What became of an answer (the word is one of `model.VerdictWord`)."""

    result: str
    detail: str = ""
    by: str = ""
    at: float = 0.0
    prompt: Prompt | None = None


def read(data: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Problem(
            f"yourcall said something this command does not understand ({error}). If it was upgraded just now,"
            " restart it with: yourcall down && yourcall up --detach"
        ) from error
