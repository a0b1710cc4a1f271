"""What the daemon's replies hold, as far as a terminal shows it.

Rule: read leniently; a daemon of another version may say more, or less, and is shown all the same.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from yourcall.cli.place import Problem

T = TypeVar("T")


class Option(Struct, frozen=True):
    id: str
    label: str
    effect: str = ""
    description: str = ""
    preview: str = ""


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


class Tool(Struct, frozen=True):
    name: str
    input: Any = None


class Moment(Struct, frozen=True):
    at: float
    state: str
    by: str = ""
    detail: str = ""


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
