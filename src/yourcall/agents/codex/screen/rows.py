"""The rows a person can pick in a Codex dialog, and what stands below them.

Rows are digits that count up in one column, with the cursor beside one; the lowest such list is the live one.
Below it only a text field and a line of keys may follow: anything else means that it is part of the conversation.
"""

import re
from typing import NamedTuple

from yourcall.agents.kit.text import columns, indent
from yourcall.model.screen import ScreenOption

# A cell of the history starts at the left edge with one glyph (• ◦ › ■ ✔ …) and a blank; no dialog line does.
_HEAD = re.compile(r"[^\w\s>_/`'\"(\[{$#-] |[›•◦■]$")
_BROKEN = re.compile(r"[^-]-$|/$")
# Where a line could have been broken; a line without such a place may end in the middle of a word.
_PIECES = {False: re.compile(r"\s"), True: re.compile(r"[\s/-]")}
MARGIN = 2  # columns that Codex leaves free on the right


def is_head(line: str) -> bool:
    return _HEAD.match(line) is not None


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` may be the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    return bool(words) and columns(line) + 1 + columns(words[0]) > limit - MARGIN


def joined(parts: list[str], *, breaks: bool = True) -> str:
    """One text of several lines, given with their indents; a word torn apart is put together again.

    A word longer than a line is cut at the last column. `breaks`: it is also broken after `-` and `/`, as
    everywhere but in what an approval shows.
    """
    widest = max(map(columns, parts), default=0)
    text = ""
    previous = ""
    for part in parts:
        words = part.split()
        if not words:
            continue
        last = text.rsplit(" ", 1)[-1]
        torn = breaks and _BROKEN.search(last) is not None
        if columns(previous) == widest and not _PIECES[breaks].search(previous.strip()):
            torn = torn or columns(last + words[0]) > widest - indent(part)
        text += ("" if torn or not text else " ") + " ".join(words)
        previous = part
    return text


_ROW = re.compile(r" *(?:([›>❯]) +)?(\d{1,2})\. +(?=\S)(?:\[([^\]])\] +)?")
_FIELD = re.compile(r" *[›>❯](?: |$)")
_KEYS = re.compile(r"\b(?:enter|esc|tab|space|return|ctrl|backspace)\b|\^[a-z]\b|[←→↑↓]/[←→↑↓]", re.I)
_SHORTCUT = re.compile(
    r" \((?:[a-z0-9]|esc|enter|tab|space|(?:shift|ctrl|alt|cmd|meta) ?[+-] ?\S{1,5}|\^[a-z])\)$", re.I
)
_COLUMN_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_LAST_COLUMN = 4  # of a digit; what was wrapped below a row starts further right
MOST_FOOTER_LINES = 4


class Row(NamedTuple):
    key: str
    column: int  # of the digit
    start: int  # of the label
    cursor: bool
    ticked: bool | None  # None: the row has no check box
    lines: list[str]  # the row and what was wrapped or set in below it


class Rows(NamedTuple):
    items: list[Row]
    first: int  # line of the first row
    end: int  # line after the last row


class _Mark(NamedTuple):
    line: int
    number: int
    column: int
    dot: int
    cursor: bool


def _mark(line: str, at: int) -> _Mark | None:
    match = _ROW.match(line)
    if match is None or match.start(2) > _LAST_COLUMN:
        return None
    return _Mark(at, int(match[2]), match.start(2), match.end(2), bool(match[1]))


def find_rows(lines: list[str], limit: int) -> Rows | None:
    """The lowest list with a cursor; in a low window it may start with a later digit than 1."""
    for at in range(len(lines) - 1, -1, -1):
        last = _mark(lines[at], at)
        if last is None and is_head(lines[at]):
            return None  # the conversation: nothing above it is live
        chain = _chain_up(lines, last, limit) if last else []
        if not any(mark.cursor for mark in chain):
            continue
        # What was typed into the text field may look like a row; it has a cursor of its own.
        if sum(mark.cursor for mark in chain) > 1:
            chain.pop()
        elif len(chain) == 1 and (above := _list_above(lines, chain[0], limit)):
            chain = above
        return _rows(lines, chain, limit)
    return None


def _chain_up(lines: list[str], last: _Mark, limit: int) -> list[_Mark]:
    chain = [last]
    for at in range(last.line - 1, -1, -1):
        if chain[-1].number == 1:
            break
        mark = _mark(lines[at], at)
        if mark and (mark.column == last.column or mark.dot == last.dot):
            if mark.number != chain[-1].number - 1:
                break
            chain.append(mark)
        elif lines[at] and not _belongs(lines, at, last, limit):
            break
    chain.reverse()
    return chain


def _list_above(lines: list[str], field: _Mark, limit: int) -> list[_Mark] | None:
    at = field.line - 1
    if at < 1 or lines[at]:
        return None
    while at > 0 and lines[at - 1]:
        at -= 1
        last = _mark(lines[at], at)
        if last and last.number > 1:
            chain = _chain_up(lines, last, limit)
            return chain if any(mark.cursor for mark in chain) else None
    return None


def _rows(lines: list[str], chain: list[_Mark], limit: int) -> Rows:
    items: list[Row] = []
    end = chain[0].line
    for nth, mark in enumerate(chain):
        stop = chain[nth + 1].line if nth + 1 < len(chain) else len(lines)
        end = mark.line + 1
        while end < stop and lines[end] and _belongs(lines, end, mark, limit):
            end += 1
        match = _ROW.match(lines[mark.line])
        if match is None:
            continue
        ticked = None if match[3] is None else match[3] != " "
        items.append(Row(match[2], mark.column, match.end(), bool(match[1]), ticked, lines[mark.line : end]))
    return Rows(items, chain[0].line, end)


def _belongs(lines: list[str], at: int, mark: _Mark, limit: int) -> bool:
    """Set in further than the digit; the sign-in page wraps to the left edge."""
    line = lines[at]
    if indent(line) > mark.column:
        return True
    return indent(line) == 0 and at > 0 and not is_head(line) and wraps(lines[at - 1], line, limit)


class Below(NamedTuple):
    field: bool  # a text field is open
    footer: str


def below(lines: list[str], end: int) -> Below | None:
    """What stands under the rows, or None if that is more than a dialog has there."""
    field = False
    at = end
    while at < len(lines) and not lines[at]:
        at += 1
    if at < len(lines) and indent(lines[at]) and _FIELD.match(lines[at]):
        field = True
        footer = max((n for n in range(at, len(lines)) if not lines[n]), default=at) + 1
    else:
        footer = at
    rest = lines[footer:]
    if any(not line or indent(line) == 0 for line in rest) or len(rest) > MOST_FOOTER_LINES:
        return None
    text = " ".join(line.strip() for line in rest)
    if text and not _KEYS.search(text):
        return None
    return Below(field, text)


def names_keys(text: str) -> bool:
    return _KEYS.search(text) is not None


def choices(rows: Rows, limit: int, *, all_label: bool, columned: bool) -> tuple[ScreenOption, ...]:
    """The rows as options. `columned`: descriptions stand in a second column; `all_label`: there are none."""
    gap = _second_column(rows) if columned else None
    return tuple(ScreenOption(row.key, *_texts(row, limit, gap, all_label)) for row in rows.items)


def _second_column(rows: Rows) -> int | None:
    """Where descriptions start: the column that most rows agree on."""
    seen: dict[int, int] = {}
    for row in rows.items:
        for match in _COLUMN_GAP.finditer(row.lines[0], row.start):
            at = columns(row.lines[0][: match.end()])
            seen[at] = seen.get(at, 0) + 1
    if not seen:
        return None
    column = max(seen, key=lambda at: (seen[at], -at))
    return column if seen[column] > 1 or len(rows.items) == 1 else None


def _texts(row: Row, limit: int, gap: int | None, all_label: bool) -> tuple[str, str | None]:
    first = " " * row.start + row.lines[0][row.start :]  # without digit and cursor, every letter in its column
    rest, previous = row.lines[1:], first
    if gap is not None:
        halves = [_split(line, gap) for line in (first, *rest)]
        return plain_label(joined([left for left, _ in halves])), joined([right for _, right in halves]) or None
    label = [first]
    while rest and (all_label or wraps(previous, rest[0], limit)):
        previous = rest.pop(0)
        label.append(previous)
    return plain_label(joined(label)), joined(rest) or None


def _split(line: str, column: int) -> tuple[str, str]:
    """The parts left and right of a terminal column, if a gap ends there."""
    at = 0
    for n, char in enumerate(line):
        if at >= column:
            return (line[:n], line[n:]) if line[max(n - 2, 0) : n].isspace() else (line, "")
        at += columns(char)
    return line, ""


def plain_label(label: str) -> str:
    return _SHORTCUT.sub("", label)
