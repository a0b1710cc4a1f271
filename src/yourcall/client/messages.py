"""What a program hears from yourcall: answers, changes, and the ways in which it says no.

Rule: read leniently; a daemon of another version may say more.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from yourcall.cli.views import Prompt, Session

T = TypeVar("T")


class YourcallError(Exception):
    """A sentence that says what is wrong, and what to do."""


class NotRunning(YourcallError):
    """Nobody listens there."""


class Interrupted(YourcallError):
    """The connection broke after the request was sent: it may or may not have been carried out."""


class Refused(YourcallError):
    """yourcall said no; `status` is the HTTP status."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class NotAnswered(YourcallError):
    """Nobody answered in time; the question was withdrawn."""


class Withdrawn(YourcallError):
    """The question is over without an answer."""


class Choice(Struct, frozen=True, omit_defaults=True):
    """An option with more than a name. `effect`: what it does, as in `yourcall.model.Effect`."""

    label: str
    id: str = ""
    description: str = ""
    effect: str = "choose"


class Given(Struct, frozen=True):
    id: str
    by: str
    options: tuple[str, ...] = ()
    text: str = ""
    input: Any = None


class Asked(Struct, frozen=True):
    """A question of ours as it stands: `waiting`, `answered` or `withdrawn`."""

    id: str
    state: str
    prompt: Prompt
    detail: str = ""
    answer: Given | None = None


class Answered(Struct, frozen=True):
    """What somebody answered. `option` is the one that was chosen, `options` are all; `input` an edited input."""

    id: str
    by: str
    options: tuple[str, ...]
    text: str
    input: Any = None

    @property
    def option(self) -> str:
        return self.options[0] if self.options else ""


class News(Struct, frozen=True):
    """One change of the live feed: a prompt's, or a session's."""

    seq: int
    at: float
    prompt: Prompt | None = None
    session: Session | None = None


def read(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise YourcallError(f"yourcall said something this program does not understand: {error}") from error
