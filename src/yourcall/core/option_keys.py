"""The key that picks an option: the agent's own digit, or a letter.

Rule: a digit means the same as in the agent's own dialog, or there is none. The letters of allow, deny and stop
never change, so a habit cannot turn a no into a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

LETTERS = "abcdfmsuvwx"  # those with no other meaning in the inbox
BY_EFFECT = {"allow_once": "a", "deny": "d", "stop": "s"}


class Keyed(Protocol):
    @property
    def effect(self) -> str: ...
    @property
    def digit(self) -> str: ...


def letters(options: Sequence[Keyed]) -> tuple[str, ...]:
    """A letter for each option; '' for those behind the last letter."""
    keys: dict[int, str] = {}
    if any(option.effect in BY_EFFECT for option in options):
        for place, option in enumerate(options):
            letter = BY_EFFECT.get(option.effect, "")
            if letter and letter not in keys.values():
                keys[place] = letter
        free = [letter for letter in LETTERS if letter not in BY_EFFECT.values()]
    else:
        free = list(LETTERS)
    for place in range(len(options)):
        if place not in keys and free:
            keys[place] = free.pop(0)
    return tuple(keys.get(place, "") for place in range(len(options)))


def uniform(options: Sequence[Keyed]) -> tuple[str, ...]:
    """For a yes or a no: digits if the agent's dialog has one for each option, else letters; never both."""
    digits = tuple(option.digit for option in options)
    if not any(option.effect in BY_EFFECT for option in options):
        return mixed(options)
    return digits if _distinct(digits) else letters(options)


def mixed(options: Sequence[Keyed]) -> tuple[str, ...]:
    """The agent's digit where there is one, else the letter."""
    digits = [option.digit for option in options]
    known = _distinct([digit for digit in digits if digit])
    return tuple(
        (known and option.digit) or letter for option, letter in zip(options, letters(options), strict=True)
    )


def _distinct(digits: Sequence[str]) -> bool:
    return all(digit.isdecimal() for digit in digits) and len(set(digits)) == len(digits)
