"""The rows a person can pick in a Claude Code dialog.

Rows are found by structure: digits that count up in one column, or lines level with the one that has the cursor.
The lowest such list is the live one; anything above it may be text that only looks like a list.
"""

import re
from typing import NamedTuple

from yourcall.agents.kit.text import columns, flat, indent


def joined(parts: list[str], limit: int) -> str:
    """Like `flat`, but a word that was cut because it is longer than a line is put together again."""
    text = ""
    full = False
    for part in parts:
        words = part.split()
        if not words:
            continue
        cut = full and columns(text.rsplit(" ", 1)[-1] + words[0]) > limit - indent(part)
        text = text + ("" if cut or not text else " ") + " ".join(words)
        full = columns(part) >= limit - 4
    return text


def cut(line: str, column: int) -> str:
    """The part of a line left of a terminal column."""
    if line.isascii():
        return line[:column].rstrip()
    kept = 0
    for at, char in enumerate(line):
        kept += columns(char)
        if kept > column:
            return line[:at].rstrip()
    return line.rstrip()


def is_rule(line: str, glyph: str = "─") -> bool:
    """A line drawn across the dialog, possibly with a name set into it near its right end."""
    if glyph not in line:
        return False
    body = line.strip(" ")
    if len(body) < 10 or not body.startswith(glyph * 8):
        return False
    return body.count(glyph) == len(body) or (body[-1] == glyph and body.count(glyph) * 2 > len(body))


def is_edge(line: str) -> bool:
    """The raised edge of a sheet that slid over the conversation; a notice may be set into it."""
    return line.endswith("▔")


def wraps(line: str, following: str, limit: int) -> bool:
    """Whether `following` is the rest of `line`: its first word would not have fitted any more."""
    words = following.split(None, 1)
    if not words:
        return False
    first = words[0]
    if len(words) == 1 and columns(following) > limit - 4:
        first = first[0]  # a word longer than a line is cut anywhere
    # Claude Code leaves up to two columns free on the right.
    return columns(line) + 1 + columns(first) > limit - 2


# Some versions draw a long row one column further left, and may leave out the space after its digit.
_NUMBERED = re.compile(r" *(?:([❯↑↓]) *)?(\d{1,2})\.(?: +(?=\S)|(?=[^\W\d_])|$)")
_TICK_BOX = re.compile(r"\[(.)\] ?(.*)$")
_CURSOR = re.compile(r" *❯ +(?=\S)")
_LAST_SECTION = re.compile(r"(?: {2}|❯ )(?=\S)(?!\d+\.)")
_SHORTCUT = re.compile(r" \((?:[a-z]|esc|enter|tab|space|(?:shift|ctrl|alt|cmd|meta) ?\+ ?\S{1,5})\)$", re.I)


class Row(NamedTuple):
    key: str | None
    text: str  # what stands beside the digit or cursor
    cursor: bool = False
    ticked: bool | None = None  # None: the row has no check box
    line: str = ""  # the whole first line: its width tells whether the label goes on below
    below: tuple[str, ...] = ()


class Rows(NamedTuple):
    items: list[Row]
    first: int  # line of the first row
    end: int  # line after the last row
    more: bool = False  # an arrow says that the list goes on
    crossed: bool = False  # the list goes on under a rule
    side_box: bool = False  # a preview is drawn to the right
    one_line: bool = False  # buttons beside each other


class _Mark(NamedTuple):
    line: int
    number: int
    column: int  # of the digit
    start: int  # of the label
    sign: str  # cursor or scroll arrow


def _mark(line: str, at: int) -> _Mark | None:
    match = _NUMBERED.match(line)
    return _Mark(at, int(match[2]), match.start(2), match.end(), match[1] or "") if match else None


def _text_indent(line: str) -> int:
    """Where the text starts; a cursor stands in the margin."""
    match = _CURSOR.match(line)
    return match.end() if match else indent(line)


def numbered(lines: list[str], limit: int) -> Rows | None:
    """The lowest list whose digits count down to 1; one that starts later must show that it is scrolled."""
    at = len(lines) - 1
    while at >= 0:
        last = _mark(lines[at], at)
        if last is None:
            at -= 1
            continue
        chain = _chain_up(lines, last, limit)
        scrolled = any(mark.sign in ("↑", "↓") for mark in chain)
        if chain[0].number == 1 or scrolled:
            return _rows(lines, chain, limit, scrolled or _goes_on(lines, chain[-1]))
        at = chain[0].line - 1
    return None


def _goes_on(lines: list[str], last: _Mark) -> bool:
    """The next digit stands below, in a column where no row was expected: the list is not whole."""
    marks = (_mark(lines[at], at) for at in range(last.line + 1, len(lines)))
    return any(mark is not None and mark.number == last.number + 1 for mark in marks)


def _chain_up(lines: list[str], last: _Mark, limit: int) -> list[_Mark]:
    chain = [last]
    for at in range(last.line - 1, -1, -1):
        if chain[-1].number == 1:
            break
        line = lines[at]
        if not line or is_rule(line):
            continue
        mark = _mark(line, at)
        if mark and (mark.column == last.column or _is_shifted(lines, mark, last, limit)):
            if mark.number != chain[-1].number - 1:
                break
            chain.append(mark)
        elif _text_indent(line) < last.column and not (at and columns(lines[at - 1]) >= limit):
            break
    chain.reverse()
    return chain


def _is_shifted(lines: list[str], mark: _Mark, last: _Mark, limit: int) -> bool:
    """Whether the two are rows of one list, of which one is drawn a column further left because it is too long."""
    if abs(mark.column - last.column) != 1:
        return False
    for row in (mark, last):
        line = lines[row.line]
        if line[row.start - 1] == ".":
            return True
    moved = min(mark, last, key=lambda row: row.column)
    return moved.line + 1 < len(lines) and wraps(lines[moved.line], lines[moved.line + 1], limit)


def _rows(lines: list[str], chain: list[_Mark], limit: int, scrolled: bool) -> Rows:
    first = chain[0].line
    lines, side_box = _without_side_box(lines, first)
    multi = any(_TICK_BOX.match(lines[mark.line], mark.start) for mark in chain)
    items: list[Row] = []
    end = first
    crossed = False
    pointed = multi or any(mark.sign == "❯" for mark in chain)
    for nth, mark in enumerate(chain):
        stop = chain[nth + 1].line if nth + 1 < len(chain) else len(lines)
        below = _below(lines, mark, stop, limit, multi and nth + 1 < len(chain))
        end = mark.line + 1 + len(below)
        crossed = crossed or any(is_rule(line) for line in lines[end:stop] if stop < len(lines))
        below = [line for line in below if line]
        items.extend(_items(lines[mark.line], *((mark, below) if pointed else _pointed_below(mark, below)), multi))
    return _with_last_section(lines, Rows(items, first, end, scrolled, crossed, side_box))


def _below(lines: list[str], mark: _Mark, stop: int, limit: int, shallow: bool) -> list[str]:
    """What belongs to a row: lines set in further than its digit (in one version of the check list: as far)."""
    below: list[str] = []
    for at in range(mark.line + 1, stop):
        line = lines[at]
        full = columns(lines[at - 1]) >= limit
        # After a line that is full, the blank at which the text was wrapped may have a line to itself.
        text = lines[at + 1] if full and not line and at + 1 < stop else line
        inside = _text_indent(text) >= mark.column + (0 if shallow else 1)
        if not text or is_rule(text) or not (inside or (full and line)):
            break
        below.append(line)
    return below


def _pointed_below(mark: _Mark, below: list[str]) -> tuple[_Mark, list[str]]:
    """One version draws the cursor beside the middle line of a row that wraps, not beside its digit."""
    at = next((n for n, line in enumerate(below) if _CURSOR.match(line)), None)
    if at is None:
        return mark, below
    return mark._replace(sign="❯"), [
        line.replace("❯", " ", 1) if n == at else line for n, line in enumerate(below)
    ]


def _items(line: str, mark: _Mark, below: list[str], multi: bool) -> list[Row]:
    """One numbered row, and the button that a check list draws under its last row."""
    text = line[mark.start :]
    ticked: bool | None = None
    box = _TICK_BOX.match(text)
    if box:
        ticked, text = box[1] != " ", box[2]
    button: list[Row] = []
    if multi and below:
        last = below[-1]
        cursor = bool(_CURSOR.match(last))
        word = last[_text_indent(last) :]
        if cursor or word in ("Submit", "Next"):
            button = [Row(None, word, cursor)]
            below = below[:-1]
    return [Row(str(mark.number), text, mark.sign == "❯", ticked, line, tuple(below)), *button]


def _without_side_box(lines: list[str], first: int) -> tuple[list[str], bool]:
    """Cut off what is drawn to the right of the rows: a preview and the notes under it."""
    corner = max(lines[first].find("  ┌─"), lines[first].find("  ╭─"))
    if corner < 0:
        return lines, False
    column = columns(lines[first][:corner]) + 2
    stop = next((at for at in range(first, len(lines)) if is_rule(lines[at])), len(lines))
    return lines[:first] + [cut(line, column) for line in lines[first:stop]] + lines[stop:], True


def _with_last_section(lines: list[str], rows: Rows) -> Rows:
    """Add a row without a digit that is set off by a rule under the list: the way out into a chat."""
    at = rows.end
    while at < len(lines) and not lines[at]:
        at += 1
    if at + 1 >= len(lines) or not is_rule(lines[at]) or not _LAST_SECTION.match(lines[at + 1]):
        return rows
    line = lines[at + 1]
    return rows._replace(items=[*rows.items, Row(None, line[2:], line[0] == "❯")], end=at + 2, crossed=True)


def level_with_cursor(lines: list[str], top: int, limit: int) -> Rows | None:
    """A list without digits: the run of lines around the lowest cursor."""
    at = next((n for n in range(len(lines) - 1, top, -1) if _CURSOR.match(lines[n])), None)
    if at is None:
        return None
    column = _text_indent(lines[at])
    first, end = at, at + 1
    while first - 1 > top and _beside(lines[first - 1], column):
        first -= 1
    while end < len(lines) and _beside(lines[end], column):
        end += 1
    items: list[Row] = []
    for n in range(first, end):
        line = lines[n]
        if items and n != at and (indent(line) > column or wraps(lines[n - 1], line, limit)):
            items[-1] = items[-1]._replace(below=(*items[-1].below, line))
        else:
            items.append(Row(None, line[column:], n == at, line=line))
    return Rows(items, first, end)


def _beside(line: str, column: int) -> bool:
    return bool(line) and not is_rule(line) and indent(line) >= column


def buttons(lines: list[str], top: int) -> Rows | None:
    """Two or three short words on a line of their own, wide apart: a form's Accept and Decline."""
    for at in range(len(lines) - 1, top + 1, -1):
        line = lines[at]
        alone = lines[at - 1].lstrip()[:1] in ("", "↓", "↑") and not any(lines[at + 1 : at + 2])
        if not alone or indent(line) < 2:
            continue
        words = re.split(r" {3,}", line.replace("❯", " ").strip())
        if 2 <= len(words) <= 3 and all(0 < len(word) <= 24 and not re.search(r"[:·│]", word) for word in words):
            return Rows([Row(None, word, f"❯ {word}" in line) for word in words], at, at + 1, one_line=True)
    return None


def label_and_description(row: Row, limit: int, by_agent: bool, others_described: bool) -> tuple[str, str | None]:
    """A wrapped label goes on below; a line that starts although it would have fitted is a description."""
    label, previous, below = [row.text], row.line, list(row.below)
    while below and wraps(previous, below[0], limit):
        previous = below.pop(0)
        label.append(previous)
    if by_agent and others_described and len(label) > 1 and not below:
        label, below = label[:1], label[1:]  # a label that just fills the line, and its description
    text = label[0]
    for line in label[1:]:
        text += ("" if not line[:1].isspace() else " ") + line
    if by_agent:
        return flat([text]), flat(below) or None
    text = flat([text])
    described = flat(below) or None
    if described is None and " · " in text:
        text, described = text.split(" · ", 1)
    return plain_label(text), described


def plain_label(label: str) -> str:
    """A label without its shortcut and without the mark of what is set now."""
    return _SHORTCUT.sub("", label).removesuffix(" ✔")
