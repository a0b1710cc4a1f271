"""The box of a Gemini CLI dialog: the last box on the screen, as wide as the pane, with no composer below it.

Boxes of running, finished or cancelled tools are narrower; an old dialog has the composer or other text below it.
"""

import re
from typing import NamedTuple

from yourcall.agents.kit.text import columns, paragraphs


def goes_on(line: str, following: str, width: int) -> bool:
    """Whether `following` is the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    return bool(words) and columns(line) + 1 + columns(words[0]) > width


def joined(parts: list[str], width: int) -> str:
    """One text of several lines; a word longer than a line, cut at the last column, is put together again."""
    text = ""
    previous = ""
    for part in parts:
        words = part.split()
        if not words:
            continue
        last = text.rsplit(" ", 1)[-1]
        cut = columns(previous) >= width and columns(last + words[0]) > width - (len(part) - len(part.lstrip()))
        text += ("" if cut or not text else " ") + " ".join(words)
        previous = part
    return text


def unwrapped(lines: list[str], width: int) -> list[str]:
    """The lines as they were before they were wrapped to the box."""
    found: list[list[str]] = []
    for run in paragraphs(lines):
        for nth, line in enumerate(run):
            note = nth and run[nth - 1].startswith("(") and run[nth - 1].endswith(")")
            if nth and not note and goes_on(run[nth - 1], line, width):
                found[-1].append(line)
            else:
                found.append([line])
    return [joined(parts, width) for parts in found]


_BOTTOM = re.compile(r"( *)╰(─+)╯$")
_TOP = re.compile(r"( *)╭(─+)╮$")
# One dialog (the editor's nudge) is drawn one column too wide: its right edge is beyond that of the pane.
_OPEN_BOTTOM = re.compile(r"( )╰(─{20,})$")
_OPEN_TOP = re.compile(r"( )╭(─{20,})$")
# The right edge of a live dialog is at most this far from that of the pane; that of a tool's box is further off.
_MOST_MARGIN = 2
# Older versions draw under a dialog what they draw above the composer: that they wait, and the footer.
_MOST_BELOW = 8
_COMPOSER = re.compile(r" ?[>*!$] |─{8}|▀{8}|▄{8}")
_WAITS = re.compile(r" ?[⠁-⣿] \S")
# The scroll bar beside a conversation that is longer than the window, in older versions.
_BAR = re.compile(r"(?<=[│╮╯ ]) *█$")
_CONFIRMS = re.compile(r" ?[⠁-⣿] Waiting for user confirmation\.\.\.")


class Box(NamedTuple):
    lines: list[str]  # what is inside, without the frame and its margin
    top: int  # its first line on the screen
    whole: bool  # that line is its upper edge
    width: int  # columns a line inside can fill


def find_box(lines: list[str], *, asked: bool) -> Box | None:
    """The box of the dialog. `asked`: the pane title says that an action is required."""
    lines = [_BAR.sub("", line) for line in lines]
    lowest = max(len(lines) - 1 - _MOST_BELOW, -1)
    either = next((n for n in range(len(lines) - 1, lowest, -1) if _is_bottom(lines[n])), None)
    if either is not None and _OPEN_BOTTOM.match(lines[either]):
        return _open_box(lines, either)
    end = either
    bottom = _BOTTOM.match(lines[end]) if end is not None else None
    if end is None or bottom is None:
        return None
    below = [line for line in lines[end + 1 :] if line]
    if any(map(_COMPOSER.match, below)) or (below and not asked and not any(map(_WAITS.match, below))):
        return None
    edge, right = len(bottom[1]), len(bottom[0])
    # Only plain lines are sure to be as wide as they seem. Where it is said that it waits, no width is needed.
    said = any(map(_CONFIRMS.match, below))
    if not said and max((len(line) for line in lines if line.isascii()), default=0) > right + _MOST_MARGIN:
        return None
    at = end - 1
    while at >= 0 and _is_side(lines[at], edge):
        at -= 1
    upper = _TOP.match(lines[at]) if at >= 0 else None
    whole = upper is not None and (len(upper[1]), len(upper[0])) == (edge, right)
    if at >= 0 and not whole:
        return None  # not one frame from top to bottom
    inside = [line[edge + 1 : -1].removeprefix(" ").rstrip() for line in lines[at + 1 : end]]
    return Box(inside, max(at, 0), whole, right - edge - 4)


def _is_bottom(line: str) -> bool:
    return _BOTTOM.match(line) is not None or _OPEN_BOTTOM.match(line) is not None


def _open_box(lines: list[str], end: int) -> Box | None:
    """A box whose right edge is cut off, with nothing below it."""
    if any(lines[end + 1 :]):
        return None
    at = end - 1
    while at >= 0 and lines[at].startswith(" │"):
        at -= 1
    if at < 0 or not _OPEN_TOP.match(lines[at]) or len(lines[at]) != len(lines[end]):
        return None
    inside = [line[2:].removeprefix(" ").rstrip() for line in lines[at + 1 : end]]
    return Box(inside, at, True, len(lines[end]) - 4)


def _is_side(line: str, edge: int) -> bool:
    return line[edge : edge + 1] == "│" and line[-1:] == "│" and len(line) > edge + 1 and not line[:edge].strip()


class Frame(NamedTuple):
    """A box inside the box: the call, the diff, a text field."""

    start: int
    end: int
    lines: list[str]


def inner_frame(lines: list[str]) -> Frame | None:
    """The first frame; where the dialog starts above the screen, its upper edge may be missing."""
    start = next((n for n, line in enumerate(lines) if _TOP.match(line) or _BOTTOM.match(line)), None)
    if start is None:
        return None
    if _BOTTOM.match(lines[start]):
        return Frame(0, start + 1, [_unframed(line) for line in lines[:start]])
    width = columns(lines[start])
    for end in range(start + 1, len(lines)):
        if _BOTTOM.match(lines[end]) and columns(lines[end]) == width:
            return Frame(start, end + 1, [_unframed(line) for line in lines[start + 1 : end]])
    return None


def _unframed(line: str) -> str:
    return line.strip()[1:-1].strip()
