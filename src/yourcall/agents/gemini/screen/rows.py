"""The rows a person can pick in a Gemini CLI dialog: digits that count up in one column, `●` beside one of them.

The box is known, so a label that goes on below is told from a description by whether it would have fitted.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.screen.box import goes_on, joined
from yourcall.agents.kit.text import indent
from yourcall.model.screen import ScreenOption

_ROW = re.compile(r" *(?:([●❯>›]) +)?(\d{1,2})\.(?: +|$)(?:\[([^\]])\] *)?")
_BARE = re.compile(r"(?:([●❯›]) | {2}) (?=[^\s▲▼])")
_ARROW = re.compile(r" *[▲▼](?: |$)")
_SHORTCUT = re.compile(r" \((?:[a-z]|esc|enter|tab|space|(?:shift|ctrl|alt|cmd|meta) ?\+ ?\S{1,5})\)$", re.I)


class Row(NamedTuple):
    key: str | None  # None: the row has no digit
    start: int  # column of the label
    cursor: bool
    ticked: bool | None  # None: the row has no check box
    lines: list[str]


class Rows(NamedTuple):
    items: list[Row]
    first: int  # line of the first row, or of the arrow above it
    end: int  # line after the last row, or the arrow below it
    scrolls: bool


def find_rows(lines: list[str]) -> Rows | None:
    """The lowest list; one that does not start at 1 must show that it scrolls."""
    at = len(lines) - 1
    while at >= 0:
        match = _ROW.match(lines[at])
        if match is None:
            at -= 1
            continue
        chain = _chain_up(lines, at, match.end(2), int(match[2]))
        rows = _rows(lines, chain)
        one = _ROW.match(lines[chain[0]])
        if rows.scrolls or (one and one[2] == "1"):
            return rows
        at = chain[0] - 1
    return None


def _chain_up(lines: list[str], last: int, dot: int, number: int) -> list[int]:
    chain = [last]
    for at in range(last - 1, -1, -1):
        if number == 1 or _ARROW.match(lines[at]):
            break
        match = _ROW.match(lines[at])
        if match and abs(match.end(2) - dot) <= 1 and int(match[2]) == number - 1:
            chain.append(at)
            number -= 1
        elif lines[at] and indent(lines[at]) < 2 and match is None:
            break
    chain.reverse()
    return chain


def _rows(lines: list[str], chain: list[int]) -> Rows:
    items: list[Row] = []
    end = chain[0]
    for nth, at in enumerate(chain):
        match = _ROW.match(lines[at])
        if match is None:
            continue
        stop = chain[nth + 1] if nth + 1 < len(chain) else len(lines)
        end = at + 1
        while end < stop and lines[end] and indent(lines[end]) > match.end(2):
            end += 1
        ticked = None if match[3] is None else match[3] != " "
        items.append(Row(match[2], match.end(), bool(match[1]), ticked, lines[at:end]))
        if nth + 1 == len(chain) and (bare := _bare_row(lines, end)):
            items.append(bare)
            end += len(bare.lines)
    first = chain[0]
    up = next((n for n in range(first - 1, max(first - 3, -1), -1) if lines[n]), -1)
    down = next((n for n in range(end, min(end + 2, len(lines))) if lines[n]), -1)
    above, under = up >= 0 and bool(_ARROW.match(lines[up])), down >= 0 and bool(_ARROW.match(lines[down]))
    return Rows(items, up if above else first, down + 1 if under else end, above or under)


def _bare_row(lines: list[str], at: int) -> Row | None:
    """A row without a digit under the others: the one that ends a multiple choice."""
    match = _BARE.match(lines[at]) if at < len(lines) else None
    if match is None:
        return None
    end = at + 1
    while end < len(lines) and lines[end] and indent(lines[end]) == match.end():
        end += 1
    return Row(None, match.end(), bool(match[1]), None, lines[at:end])


def choices(rows: Rows, width: int, *, described: bool) -> tuple[ScreenOption, ...]:
    return tuple(ScreenOption(row.key, *_texts(row, width, described)) for row in rows.items)


def _texts(row: Row, width: int, described: bool) -> tuple[str, str | None]:
    label, rest, previous = [row.lines[0][row.start :]], row.lines[1:], row.lines[0]
    while rest and (not described or goes_on(previous, rest[0], width)):
        previous = rest.pop(0)
        label.append(previous)
    return _SHORTCUT.sub("", joined(label, width)).removesuffix(" ✓"), joined(rest, width) or None
