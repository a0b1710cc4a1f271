"""What one screen of an agent says: the same shape for every agent, on the wire and in the captured cases.

A reading holds only what can be seen on that one screen; nothing in it is remembered or guessed.
"""

from typing import Literal

import msgspec

State = Literal["waiting", "working", "error", "idle"]
Kind = Literal["permission", "question", "plan", "trust", "elicitation", "loop", "startup", "unknown"]


class ScreenOption(msgspec.Struct, frozen=True):
    """One row a person can pick, in screen order."""

    key: str | None
    label: str
    description: str | None = None


class Reading(msgspec.Struct, frozen=True):
    """Every field but `state` is null, empty or false unless the agent waits in a dialog."""

    state: State
    kind: Kind | None = None
    title: str | None = None
    question: str | None = None
    target: str | None = None
    options: tuple[ScreenOption, ...] = ()
    selected: int | None = None
    checked: tuple[int, ...] | None = None
    multi_select: bool = False
    text_input: bool = False
    clipped: bool = False
