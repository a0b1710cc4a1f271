"""What yourcall asks of an agent whose screen it reads and types on: a handful of pure functions.

Rule: a key is named here, chosen by the agent's own module from what the screen shows, and pressed by a link; one
`Press` is one key, and whoever pressed it looks again before the next.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from yourcall.model import Kind, Question, Refused
from yourcall.reading import Reading

# What a terminal sends for a key. Programs that read arrows read both forms; this is the one without a mode.
KEYS: dict[str, str] = {
    "enter": "\r",
    "escape": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "tab": "\t",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "space": " ",
    **{digit: digit for digit in "123456789"},
}

ALIASES = {"return": "enter", "esc": "escape", "page up": "pageup", "page down": "pagedown", "del": "delete"}


def key_named(word: str) -> str | None:
    """The name of a key, however people call it."""
    plain = " ".join(word.strip().lower().replace("_", " ").replace("-", " ").split())
    found = ALIASES.get(plain, plain.replace(" ", ""))
    return found if found in KEYS else None


class Shot(Struct, frozen=True):
    """One screen: what it says, and its plain text."""

    reading: Reading
    text: str


class Press(Struct, frozen=True):
    """The next single key. `decides`: after it the dialog is gone; else it only moves the highlight."""

    key: str
    decides: bool


class Offer(Struct, frozen=True):
    """A dialog on a screen as a prompt shows it. `why`: the reason why it can only be answered at the desk."""

    kind: Kind
    title: str
    body: str
    questions: tuple[Question, ...] = ()
    why: str = ""


class Typed(Struct, frozen=True):
    """A message as it has to be pasted so that it arrives as a message.

    `folded`: safe to send only if the agent shows it as one pasted piece. `note`: what cannot arrive as it is.
    """

    paste: str
    folded: bool = False
    note: str = ""


class OnScreen(Struct, frozen=True):
    """One agent's screens. `draft`: what is in the input box, '' if it is empty, None if there is no input box."""

    read: Callable[[str], Shot]
    offer: Callable[[Shot], Offer]
    next_key: Callable[[Shot, Shot, str], Press | Refused]
    draft: Callable[[str], str | None]
    typed: Callable[[str, bool], Typed | Refused]
    arrived: Callable[[str, Typed], bool]
