"""What one screen of Gemini CLI says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: a dialog is a box as wide as the pane and stands where the composer would be. With the composer below,
nothing waits, whatever boxes and lists stand above: old dialogs stay on the screen.
"""

from __future__ import annotations

import re

from yourcall.agents.gemini.screen.box import Box, find_box
from yourcall.agents.gemini.screen.dialog import read_box
from yourcall.agents.kit.dialogs import TURN_STOPPED
from yourcall.agents.kit.text import clean
from yourcall.agents.screen_spec import Offer, Snapshot
from yourcall.model.screen import Reading

_TITLE = re.compile(r"\S+ +(Ready|Working|Action Required)\b")
_SPINNER = re.compile(r" ?[⠁-⣿] \S")
_RULE = re.compile(r"─{8,}$|▀{8,}$")
_HEAD = re.compile(r"[✦ℹ⚠✕✖✗] | > \S| {0,2}[│╰]")
_ERRORS = ("✕", "✖", "✗")
_FAR = 120  # lines; an error text is long, but not longer than a few screens


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen; the pane title, if it is one of the CLI's, says whether it works or asks."""
    lines = clean(text)
    match = _TITLE.match((title or "").strip())
    said = match[1] if match else None
    asked = said == "Action Required"
    box = find_box(lines, asked=asked)
    if box is not None and _is_busy(box):
        return Reading("working")
    if box is not None and (asked or not _opened_by_person(lines[: box.top])):
        reading = read_box(box, asked=asked, resting=said == "Ready")
        if reading is not None:
            return reading
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), len(lines))
    above = lines[:rule]
    if said == "Working" or (said is None and any(map(_SPINNER.match, above[-6:]))):
        return Reading("working")
    return Reading("error" if rule < len(lines) and _ends_in_error(above) else "idle")


def _is_busy(box: Box) -> bool:
    """It holds nothing but a spinner with its words: something is under way, and nobody is asked."""
    texts = [line for line in box.lines if line.strip()]
    return len(texts) == 1 and _SPINNER.match(texts[0]) is not None


def _opened_by_person(above: list[str]) -> bool:
    """A menu: the last thing above it is the slash command that was just given."""
    head = next((line for line in reversed(above[-_FAR:]) if _HEAD.match(line)), "")
    return head.startswith(" > /")


def _ends_in_error(above: list[str]) -> bool:
    """Whether the last thing said is an error; a note on where to read more about it may follow."""
    heads = [line[0] for line in above[-_FAR:] if _HEAD.match(line)][-2:]
    return bool(heads) and (heads[-1] in _ERRORS or (heads[-1] == "ℹ" and heads[0] in _ERRORS))


_SAID = re.compile(r" > \S")
_CANCELLED = re.compile(r"ℹ Request cancelled\.\s*$")


def stopped(shot: Snapshot) -> Offer | None:
    if shot.reading.state != "idle":
        return None
    lines = clean(shot.text)
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), 0)
    last = next((line for line in reversed(lines[:rule]) if _SAID.match(line) or _CANCELLED.match(line)), "")
    return TURN_STOPPED if _CANCELLED.match(last) else None
