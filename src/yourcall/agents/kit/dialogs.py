"""Dialogs on any agent's screen: the rows that can be offered, the key that comes next, and why none does.

Rule: no key without a highlighted row, and none for a dialog that is not the one the person saw. What the words of
a row mean stands in the agent's own folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from yourcall.agents.kit.prompts import READY_TITLE, STOPPED, WHAT_NEXT
from yourcall.agents.screen_spec import Offer, Paste, Press, Snapshot
from yourcall.model.prompts import Effect, Option, Refused
from yourcall.model.screen import Reading, ScreenOption

DECISION = "decision"
LONGEST_LABEL = 300
LONGEST_TITLE = 200
MOST_ROWS = 9  # beyond that a digit may be the first of two
MOST_LOOKS = 100  # a busy machine draws a page in pieces, for a second or two; nothing is pressed meanwhile
KEY_BAR = ("enter", "escape", "up", "down", "tab", "space", *"123456789")

# Why no key is pressed.
GONE = "The dialog is no longer on the screen; nothing was pressed."
CHANGED = "The screen shows another dialog than the one you saw; nothing was pressed."
CLIPPED = "Only a part of the dialog is on the screen now; nothing was pressed. Answer it at the desk."
ASTRAY = "No row is highlighted, so a key could go astray; nothing was pressed. Answer it at the desk."
NO_KEY = "This option cannot be picked with a key; answer it at the desk."

# Why nothing can be picked from afar.
NO_HIGHLIGHT = "No row is highlighted, so a key could go astray: answer it at the desk."
TOO_MANY_ROWS = "There are too many rows for one digit: answer it at the desk."
NOTHING_TO_PICK = "There is nothing to pick here: answer it at the desk."
BEING_WRITTEN = "Somebody is writing into this dialog at the desk."
CUT = "The screen shows only a part of it, so it can be refused from here, not allowed: see it at the desk."
ONLY_A_PERSON = "Only a person decides this; no rule ever does."

TURN_STOPPED = Offer("ready", READY_TITLE, STOPPED, WHAT_NEXT)


def title(text: str) -> str:
    text = " ".join(text.split()) or "A dialog on the screen"
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


def unknown_title(heading: str) -> str:
    return f"A dialog that yourcall does not know{': ' + heading if heading else ''}"


def no_digit(reading: Reading) -> str:
    """Why no row of this dialog can be picked with one digit; empty if it can."""
    if reading.selected is None:
        return NO_HIGHLIGHT
    return TOO_MANY_ROWS if len(reading.options) > MOST_ROWS else ""


def numbered(
    reading: Reading,
    option: Callable[[int, ScreenOption, set[str]], Option],
    offered: Callable[[int, ScreenOption], bool] = lambda _place, _choice: True,
) -> list[tuple[int, Option]]:
    """The rows that are offered, each with its place on the screen. `option` is told which ids are taken."""
    found: list[tuple[int, Option]] = []
    for place, choice in enumerate(reading.options):
        if offered(place, choice):
            found.append((place, option(place, choice, {each.id for _, each in found})))
    return found


def row_option(
    place: int, choice: ScreenOption, taken: set[str], preferred_id: str, effect: Effect, says: str
) -> Option:
    """`preferred_id`: the id it should have, if no other row has it."""
    ident = preferred_id if preferred_id and preferred_id not in taken else f"o{place + 1}"
    described = " ".join(part for part in (choice.description or "", says) if part)
    return Option(ident, choice.label[:LONGEST_LABEL], effect, described, digit=choice.key or "")


def trust_id(label: str, effect: Effect) -> str:
    """In a trust dialog `allow` would mean this once, and these are for good: they are named after the screen."""
    return "no" if effect == "deny" else "parent" if "parent" in label.lower() else "trust"


def first_word(label: str) -> str:
    return re.split(r"\W", label.lower(), maxsplit=1)[0]


def plainly(label: str, once: str) -> tuple[Effect, str]:
    """A row that says just this allows once; one that says more may allow more."""
    plain = label.lower() == once
    return ("allow_once", "Allows this once.") if plain else ("allow_always", "Allows more than this once.")


def pressed_key(option: str) -> Press | Refused:
    """For a dialog that nobody taught us: the key that the person chose."""
    return Press(option, decides=True) if option in KEY_BAR else Refused(f"There is no key {option!r} here.")


def digit_of(reading: Reading, row: int) -> Press | Refused:
    digit = reading.options[row].key or ""
    return Press(digit, decides=True) if re.fullmatch("[1-9]", digit) else Refused(ASTRAY)


def other_dialog(seen: Snapshot, now: Snapshot) -> Refused | None:
    """Why this is not the dialog that was seen, where its mark says so."""
    if now.reading.state != "waiting":
        return Refused(GONE)
    same = (seen.mark, seen.reading.kind, seen.reading.options) == (
        now.mark,
        now.reading.kind,
        now.reading.options,
    )
    return None if same else Refused(CHANGED)


def other_reading(
    seen: Snapshot, now: Snapshot, *, clipped: bool, name: Callable[[Reading], str | None]
) -> Refused | None:
    """Why this is not the dialog that was seen, where nothing marks it: only the highlight may have moved."""
    was, new = seen.reading, now.reading
    if new.state != "waiting":
        return Refused(GONE)
    if clipped:
        return Refused(CLIPPED)
    same = (was.kind, name(was), was.question, was.target, was.options, was.multi_select, was.text_input) == (
        new.kind, name(new), new.question, new.target, new.options, new.multi_select, new.text_input
    )  # fmt: skip
    if not same or (was.kind == "unknown" and seen.text != now.text):
        return Refused(CHANGED)
    return None


def looked(
    now: Snapshot, holds: Callable[[Snapshot], bool]
) -> Generator[Press | Paste | None, Snapshot, Snapshot]:
    """The first screen for which this holds, or the last one that was looked at."""
    for _ in range(MOST_LOOKS):
        if holds(now):
            break
        now = yield None
    return now


def by_label(reading: Reading, label: str) -> Press | Refused | None:
    """The digit of the row with this label; None if there is no such row."""
    row = next((each for each in reading.options if each.label == label and each.key), None)
    return None if row is None or row.key is None else Press(row.key, decides=True)


def ticked(reading: Reading, number: int) -> bool | None:
    """Is the box of the row with this digit ticked? None: there is no such box."""
    place = next((n for n, each in enumerate(reading.options) if each.key == str(number)), None)
    return None if place is None or reading.checked is None else place in reading.checked
