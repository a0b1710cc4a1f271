"""The order in which waiting prompts are listed, the same on every surface.

Rule: what blocks an agent comes first, then its questions, then sessions that are stuck, then those that are only
ready; within each of these, the oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Listed(Protocol):
    """What the order depends on: a stored prompt has it, and so has one that came over the wire."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def opened_at(self) -> float: ...


P = TypeVar("P", bound=Listed)

BLOCKING, QUESTION, STUCK, READY = range(4)
_RANKS = {"question": QUESTION, "problem": STUCK, "ready": READY}


def rank(prompt: Listed) -> int:
    """Lower comes first. A kind that nobody has ranked blocks its agent."""
    return _RANKS.get(prompt.kind, BLOCKING)


def place(prompt: Listed) -> tuple[int, float, str]:
    """The sort key."""
    return rank(prompt), prompt.opened_at, prompt.id


def in_order(prompts: Iterable[P]) -> list[P]:
    return sorted(prompts, key=place)
