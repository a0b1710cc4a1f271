"""The box of a Gemini CLI dialog: the last thing on the screen, as wide as the pane.

Boxes of running, finished or cancelled tools are narrower, and below them stand the composer and its footer.
"""

import re
from typing import NamedTuple

from yourcall.agents.screens import columns

_BOTTOM = re.compile(r"( *)╰(─+)╯$")
_TOP = re.compile(r"( *)╭(─+)╮$")
# The right edge of a live dialog is at most this far from that of the pane; that of a tool's box is further off.
_MOST_MARGIN = 2


class Box(NamedTuple):
    lines: list[str]  # what is inside, without the frame and its margin
    whole: bool  # its top is on the screen
    width: int  # columns a line inside can fill


def find_box(lines: list[str]) -> Box | None:
    end = len(lines) - 1
    bottom = _BOTTOM.match(lines[end]) if end >= 0 else None
    if bottom is None:
        return None
    edge, right = len(bottom[1]), len(bottom[0])
    # Only plain lines are sure to be as wide as they seem.
    if max((len(line) for line in lines if line.isascii()), default=0) > right + _MOST_MARGIN:
        return None
    inside: list[str] = []
    for at in range(end - 1, -1, -1):
        line = lines[at]
        top = _TOP.match(line)
        if top and len(top[1]) == edge and len(top[0]) == right:
            return Box(_unframed(inside), True, right - edge - 4)
        if line[edge : edge + 1] != "│" or line[:edge].strip() or line[-1] != "│":
            return None  # not one frame from top to bottom
        inside.append(line[edge + 1 : -1])
    return Box(_unframed(inside), False, right - edge - 4)


def _unframed(inside: list[str]) -> list[str]:
    return [line.removeprefix(" ").rstrip() for line in reversed(inside)]


def inner_box(lines: list[str]) -> tuple[int, int, list[str]] | None:
    """The first box drawn inside: where it starts, where it ends, and its lines. Either end may be missing."""
    for start, line in enumerate(lines):
        if _TOP.match(line):
            width = columns(line)
            for end in range(start + 1, len(lines)):
                if _BOTTOM.match(lines[end]) and columns(lines[end]) == width:
                    framed = [text.strip()[1:-1].strip() for text in lines[start + 1 : end]]
                    return start, end + 1, framed
            return None
    return None
