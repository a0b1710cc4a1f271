"""What one screen of Gemini CLI says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: a dialog is a box as wide as the pane and the last thing on the screen. With the composer and its footer
below, nothing waits, whatever boxes and lists stand above: old dialogs stay on the screen.
"""

import re

from yourcall.agents.gemini.box import find_box
from yourcall.agents.gemini.dialog import read_box
from yourcall.agents.screens import clean
from yourcall.reading import Reading

_TITLE = re.compile(r"\S+ +(Ready|Working|Action Required)\b")
_SPINNER = re.compile(r" ?[⠁-⣿] \S")
_RULE = re.compile(r"─{8,}$|▀{8,}$|▄{8,}$")
_HEAD = re.compile(r"[✦ℹ⚠✕✖✗] | > \S| {0,2}[│╰]")


_ERRORS = ("✕", "✖", "✗")
_FAR = 120  # an error text is long, but not longer than a few screens


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen; the pane title, if it is one of the CLI's, says whether it works or asks."""
    lines = clean(text)
    named = _TITLE.match((title or "").strip())
    box = find_box(lines)
    if box is not None and (reading := read_box(box, asked=named is not None and named[1] == "Action Required")):
        return reading
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), len(lines))
    above = lines[:rule]
    if (named is not None and named[1] == "Working") or (named is None and any(map(_SPINNER.match, above[-4:]))):
        return Reading("working")
    return Reading("error" if rule < len(lines) and _ends_in_error(above) else "idle")


def _ends_in_error(above: list[str]) -> bool:
    """Whether the last thing said is an error; a note on where to read more about it may follow."""
    heads = [line[0] for line in above[-_FAR:] if _HEAD.match(line)][-2:]
    return bool(heads) and (heads[-1] in _ERRORS or (heads[-1] == "ℹ" and heads[0] in _ERRORS))
