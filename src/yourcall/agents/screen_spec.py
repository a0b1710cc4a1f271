"""What yourcall asks of an agent whose screen it reads and types on: a handful of pure functions.

Rule: a key is named here, chosen by the agent's own module from what the screen shows, and pressed by a link; one
`Press` is one key, and whoever pressed it looks again before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from msgspec import Struct

from yourcall.agents.sightings import AnnouncedCall
from yourcall.model.prompts import Answer, Kind, Option, Prompt, Question, Refused
from yourcall.model.screen import Reading

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
    value = ALIASES.get(plain, plain.replace(" ", ""))
    return value if value in KEYS else None


def key_options(names: Sequence[str]) -> tuple[Option, ...]:
    """For a dialog that nobody taught us: the person sees the screen and chooses the key."""
    return tuple(
        Option(name, name, "choose", "Presses this one key.", digit=name if name.isdecimal() else "")
        for name in names
    )


class Snapshot(Struct, frozen=True):
    """One screen: what it says, and its plain text. `mark`: the same for the same dialog, wherever its highlight
    is and however its list is scrolled, where the agent's module can tell better than the reading alone.
    `asks`: the program says by other means (its title) that it asks something."""

    reading: Reading
    text: str
    mark: str = ""
    asks: bool = False


class Press(Struct, frozen=True):
    """The next single key. `decides`: after it the dialog is gone; else it only moves the highlight."""

    key: str
    decides: bool


class Paste(Struct, frozen=True):
    """A text for the field that is open, pasted in one piece; whoever pasted it looks again before it is sent."""

    text: str


class Offer(Struct, frozen=True):
    """A dialog on a screen as a prompt shows it. `why`: the reason why it can only be answered at the desk.
    `limited`: it tells of a usage limit, which may reset at a time that it names."""

    kind: Kind
    title: str
    body: str
    questions: tuple[Question, ...] = ()
    why: str = ""
    limited: bool = False


class MatchedCall(Struct, frozen=True):
    """A dialog together with what hooks told of it: `told` are their ids, the asking one first. `mark`: the
    fingerprint of the call, as its record shows it."""

    offer: Offer
    told: tuple[str, ...]
    tool: str
    input: bytes
    mark: str


class PreparedText(Struct, frozen=True):
    """A message as it has to be pasted so that it arrives as a message.

    `folded`: safe to send only if the agent shows it as one pasted piece. `note`: what cannot arrive as it is.
    """

    paste: str
    folded: bool = False
    note: str = ""


FILLED: frozenset[Kind] = frozenset({"question", "plan", "elicitation", "ready"})


class ScreenSpec(Struct, frozen=True):
    """One agent's screens. `draft`: what is in the input box, '' if it is empty, None if there is no input box.

    `explain`: which of the calls that hooks told of this dialog is about, for an agent whose hooks only inform.
    `fill`: the steps of an answer that takes several keys; it is sent a fresh screen for each, and may refuse.
    `dismiss`: the option that closes a notice which asks nothing, '' where a person decides.
    `silence_s`: so long must the screen of a program that nobody knows stand still before it is shown; `urgent`:
    unless it says itself that it waits.
    `postponed`: the second dialog took the place of the first without an answer to that one, which comes later.
    `breath_s`: so long must pass between a paste and the Enter that sends it, or it is taken for a part of it.
    `trouble`: what keeps it from working although it has not stopped, such as a service that does not answer.
    `recorded`: the agent's record tells how a call that a hook told of has ended; else only of a call that was
    found in it, and of others the screen alone does.
    `call`: the fingerprint of the call that this dialog shows, as the agent's record has it; '' if it shows none.
    `stopped`: the last turn was cancelled, and no hook tells of it: what the session is ready for now.
    `harm`: what this key would do in an empty input box that nobody wants from afar; '' if nothing.
    `filled`: the kinds whose answers go by `fill`; the others are one key per look, by `next_key`.
    `raw`: it takes keys only in raw mode; a terminal in line mode shows that it asks nothing at this moment.
    `shows`: is this dialog the one of a request that a hook told of, and that nobody holds any more?
    """

    read: Callable[[str], Snapshot]
    offer: Callable[[Snapshot], Offer]
    next_key: Callable[[Snapshot, Snapshot, str], Press | Refused]
    draft: Callable[[str], str | None]
    typed: Callable[[str, bool], PreparedText | Refused]
    arrived: Callable[[str, PreparedText], bool]
    explain: Callable[[Snapshot, Sequence[AnnouncedCall]], MatchedCall | None] | None = None
    fill: Callable[[Prompt, Answer], Generator[Press | Paste | None, Snapshot, Refused | None]] | None = None
    dismiss: Callable[[Snapshot], str] | None = None
    breath_s: float = 0.0
    postponed: Callable[[Snapshot, Snapshot], bool] | None = None
    silence_s: float = 0.0
    urgent: Callable[[Snapshot], bool] | None = None
    shows: Callable[[Prompt, Snapshot], bool] | None = None
    recorded: bool = True
    trouble: Callable[[Snapshot], Offer | None] | None = None
    call: Callable[[Snapshot], str] | None = None
    stopped: Callable[[Snapshot], Offer | None] | None = None
    harm: Callable[[str], str] | None = None
    filled: frozenset[Kind] = FILLED
    raw: bool = False
