"""Where a dialog of Qwen Code stands on the screen: at its very end, in the place of the input box.

Rule: a dialog is told by the last line alone, and by where its lines begin; with the input box below, nothing
waits, whatever stands above. Command, file and question texts are deeper in, so nothing in them can look like
the frame.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WAITS = re.compile(r" {1,4}[⠁-⣿] Waiting for user confirmation\.\.\.$")
BOX_END = re.compile(r" {2,4}╰─{6,}$")  # without a right corner: a menu that the person opened has one
_BOX_START = re.compile(r" {2,4}╭─{6,}$")
_BOX_LINE = re.compile(r" {2,4}│ ?(.*)$")
# The scroll bar beside a conversation that is longer than the window.
_BAR = re.compile(r"(?: +|(?<=←) ?)[│█]$")
HEADER = re.compile(r" {2}\? (\S.*?) *←$")
_ROW = re.compile(r" {3}(?:([›❯]) | {2})(?:\[(.)\] )?(\d{1,2})\. (\S.*)$")


class Row(NamedTuple):
    key: str
    label: str
    description: str
    cursor: bool
    ticked: bool | None  # None: the row has no check box


class Block(NamedTuple):
    """`header`: the lines of the tool's name and what it is called with; empty if they are out of sight. `body`:
    between them and the rows. `below`: under the rows, down to the last line. `boxed`: it stands in a box."""

    header: list[str]
    body: list[str]
    rows: list[Row]
    below: list[str]
    boxed: bool = False


def find_block(lines: list[str]) -> Block | None:
    """The dialog that waits, or None."""
    if not lines:
        return None
    if BOX_END.match(lines[-1]):
        return _boxed(lines)
    if not WAITS.match(lines[-1]):
        return _of_another_version(lines)
    inside = [_unbarred(line) for line in lines[:-1]]
    first, rows, end = _rows(inside)
    top = next((n for n in range(first - 1, -1, -1) if HEADER.match(inside[n])), None)
    if top is None:
        return Block([], inside[:first], rows, inside[end:])
    head_end = next((n for n in range(top + 1, first) if not inside[n]), first)
    header = [_name(inside[top]), *(line.strip() for line in inside[top + 1 : head_end])]
    return Block(header, inside[head_end:first], rows, inside[end:])


# Older versions draw the footer below a dialog, too: a line in columns.
_MOST_BELOW = 8
_FOOTER = re.compile(r" {0,2}\S.{2,}? {3,}\S")


def _of_another_version(lines: list[str]) -> Block | None:
    """It says that it waits, and only a footer stands below: a dialog, of which nothing else is known."""
    last = range(len(lines) - 1, max(-1, len(lines) - _MOST_BELOW), -1)
    at = next((n for n in last if WAITS.match(f"  {lines[n].strip()}")), None)
    if at is None or not all(_FOOTER.match(line) for line in lines[at + 1 :] if line):
        return None
    return Block([], lines[:at], [], lines[at + 1 :])


def _name(line: str) -> str:
    match = HEADER.match(line)
    return match[1] if match else line.strip()


def _unbarred(line: str) -> str:
    return _BAR.sub("", line).rstrip()


def _boxed(lines: list[str]) -> Block | None:
    top = next((n for n in range(len(lines) - 2, -1, -1) if _BOX_START.match(lines[n])), None)
    matches = [_BOX_LINE.match(line) for line in lines[0 if top is None else top + 1 : -1]]
    inside = [match[1].rstrip() for match in matches if match is not None]
    if top is not None and len(inside) != len(matches):
        return None
    # In a box the rows begin further left.
    shifted = [f"   {line}" if line else "" for line in inside]
    first, rows, end = _rows(shifted)
    return Block([], shifted[:first], rows, shifted[end:], boxed=True)


def _rows(lines: list[str]) -> tuple[int, list[Row], int]:
    """The lowest list that counts up from 1, where it begins, and the line after it."""
    last = next((n for n in range(len(lines) - 1, -1, -1) if _match(lines[n])), None)
    if last is None:
        return len(lines), [], len(lines)
    at, places = last, [last]
    while _number(lines[at]) > 1:
        above = next((n for n in range(at - 1, -1, -1) if _match(lines[n])), None)
        if above is None or _number(lines[above]) != _number(lines[at]) - 1:
            break
        at = above
        places.insert(0, at)
    ends = [*places[1:], _end(lines, last)]
    rows = [_row(lines[start:end]) for start, end in zip(places, ends, strict=True)]
    return places[0], rows, ends[-1]


def _match(line: str) -> re.Match[str] | None:
    return _ROW.match(line)


def _number(line: str) -> int:
    match = _match(line)
    return int(match[3]) if match else 0


def _end(lines: list[str], last: int) -> int:
    """The line after the last row: what belongs to a row is as deep in as its label."""
    match = _match(lines[last])
    deep = match.start(4) if match else 0
    end = last + 1
    while end < len(lines) and lines[end].startswith(" " * deep) and lines[end].strip():
        end += 1
    return end


def _row(lines: list[str]) -> Row:
    match = _match(lines[0])
    if match is None:
        return Row("", lines[0].strip(), "", cursor=False, ticked=None)
    more = " ".join(" ".join(line.split()) for line in lines[1:] if line.strip())
    ticked = None if match[2] is None else match[2] != " "
    return Row(match[3], match[4].strip(), more, bool(match[1]), ticked)
