"""What one screen of droid says: is it waiting for a person, or not?

Rule: the last line tells. Below a dialog stands the line with its keys, and in place of it the line under the
input box; what is above is history, whatever it looks like. Which row is highlighted is told by bold letters
alone, so a text without its escapes has no highlight.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yourcall.agents.kit.text import clean, flat
from yourcall.model.screen import Kind, Reading, ScreenOption

_DECIDES = re.compile(r" {2}↑↓ navigate +Enter select +Esc cancel\b")
_PLANS = re.compile(r" {1,4}↑↓ navigate +1-\d select +Enter select\b.*(?:\bEsc (?:cancel|back)|…)$")
# In a narrow window these two take several lines.
_ASKS = re.compile(
    r"(?:Tab/⇧Tab or ←/→ Questions • )?↑/↓ Navigate • Space/Enter/1–9 (?:Select|Toggle) • (?:.* • )?"
    r"ESC stop agent$"
)
_WRITES = re.compile(r"Enter Submit answer • ↑ back to options • ESC stop agent$")
_TRUSTS = re.compile(r"Enter to confirm · Esc to exit$")
# Any other dialog has such a line, too; a menu that the person opened begins in another way.
_OTHER = re.compile(r" {0,4}(?:↑↓|↑/↓) .*\bEsc (?:cancel|back|exit)\b", re.I)
_MOST_KEY_LINES = 4

_COMPOSER = re.compile(r"(?:\[⏱.*\] )?\? for help\b")
_BUSY = re.compile(r" {1,3}[⠀-⣿] \S.*\(Press ESC to stop\)$")
_EDGE = re.compile(r" {0,2}[╭╰](?:─| ?[A-Z][a-z]+ ?)+[╮╯]$")
_INSIDE = re.compile(r" {0,2}│(.*)│$")
_ROW = re.compile(r" {1,6}(?:(?P<at>[>❯]) )?(?P<key>\d)\. (?:\[(?P<tick>[x ])\] )?(?P<label>\S.*)$")
_TRUST_ROW = re.compile(r"(?P<at>[> ]) (?P<key>\d)\. (?P<label>\S.*)$")
_OWN = re.compile(r" {2,6}(?:\[(?P<tick>[x ])\] )?Or type your own answer\.\.\.$")
_PLAIN_ROW = re.compile(r" {2}\S")
_COMMAND = re.compile(r" {2}↳ (.*)$")
_HEADING = re.compile(r" {2}(?:Command to approve · |Commands? \(\d+\):).*$")
_HISTORY = re.compile(r" {3}\S|\S")
_CHANGE = re.compile(r"(?P<what>\S.*): \((?P<lines>[+-]\d.*)\)$")
_TABS = re.compile(r" {2,4}[○●] .*→")

OWN_ANSWER = "Or type your own answer..."
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_ESCAPES = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[\d;:?]*[ -/]*[@-ln-~]|[ -/]*[0-Z\\^-~])")


class Dialog(NamedTuple):
    """`lines`: from its heading down to the line with its keys, without what is above; `places`: of its rows."""

    kind: Kind
    lines: list[str]
    reading: Reading


def read_screen(text: str, _title: str | None = None) -> Reading:
    """Read one captured screen. The title of the pane names the session, never what it does."""
    dialog = find_dialog(text)
    if dialog is not None:
        return dialog.reading
    return Reading("working" if _is_busy(clean(text)) else "idle")


def find_dialog(text: str) -> Dialog | None:
    """The dialog that waits, or None."""
    lines = clean(text)
    if not lines:
        return None
    last = lines[-1]
    if _DECIDES.match(last):
        return _decision(text, lines)
    if _PLANS.match(last):
        return _plan(lines)
    for keys in range(1, _MOST_KEY_LINES):
        if _ASKS.match(joined := flat(lines[-keys:])) or _WRITES.match(joined):
            return _question(lines[: len(lines) - keys], lines)
    if _TRUSTS.match(last):
        return _trust(lines)
    return Dialog("unknown", lines, Reading("waiting", "unknown")) if _OTHER.match(last) else None


def composer(lines: list[str]) -> list[str] | None:
    """What stands in the input box; None: there is none."""
    if not lines or not _COMPOSER.match(lines[-1]) or len(lines) < 3:
        return None
    end = len(lines) - 2
    start = next((n for n in range(end - 1, -1, -1) if _EDGE.match(lines[n])), None)
    if start is None or not _EDGE.match(lines[end]):
        return None
    return [_unframed(line) for line in lines[start + 1 : end]]


def above_composer(lines: list[str]) -> list[str]:
    """The lines above the input box that are not empty, without the one that says the mode."""
    inside = composer(lines)
    if inside is None:
        return []
    return [line for line in lines[: len(lines) - 3 - len(inside)] if line.strip()][:-1]


def _is_busy(lines: list[str]) -> bool:
    above = above_composer(lines)
    return bool(above) and _BUSY.match(above[-1]) is not None


def _unframed(line: str) -> str:
    match = _INSIDE.match(line)
    return (match[1] if match else line).rstrip()


def _unknown(lines: list[str]) -> Dialog:
    return Dialog("unknown", lines, Reading("waiting", "unknown"))


def _box(lines: list[str]) -> tuple[int, int] | None:
    """The lowest box: its first and its last edge."""
    edges = [n for n, line in enumerate(lines) if _EDGE.match(line)]
    if len(edges) < 2 or any(line.strip() for line in lines[edges[-1] + 1 : -1]):
        return None
    return edges[-2], edges[-1]


def _decision(text: str, lines: list[str]) -> Dialog:
    """A call that must be allowed: rows without digits."""
    box = _box(lines)
    if box is None:
        return _unknown(lines)
    rows = _grouped([_unframed(line) for line in lines[box[0] + 1 : box[1]]], _PLAIN_ROW)
    top = _heading(lines, box[0])
    if top is None or not rows:
        return _unknown(lines)
    head = lines[top : box[0]]
    change = _CHANGE.match(lines[top])
    title = change["what"] if change else "Command"
    targets = _targets(head)
    if not change and not targets:
        return _unknown(lines)
    # Of a change only some lines are shown, and nothing says how many are not.
    cut = change is not None or any("..." in each for each in targets)
    bold = bold_rows(text, range(box[0] + 1, box[1]), len(lines))
    at = [n for n, (places, _) in enumerate(rows) if places == bold]
    reading = Reading(
        "waiting",
        "permission",
        title,
        flat([lines[top]]),
        title.partition(" ")[2] if change else "\n".join(targets),
        tuple(ScreenOption(None, flat(parts)) for _, parts in rows),
        at[0] if len(at) == 1 else None,
        clipped=cut,
    )
    return Dialog("permission", lines[top:], reading)


def _heading(lines: list[str], end: int) -> int | None:
    """The first of the headings that belong together, right above the rows; history is set further in."""
    found = None
    for number in range(end - 1, max(-1, end - 60), -1):
        line = lines[number]
        if _HEADING.match(line) or _CHANGE.match(line):
            found = number
        elif found is not None and line.strip() and _HISTORY.match(line):
            break
    return found


def _targets(head: list[str]) -> list[str]:
    """The command of each call; a long one goes on below."""
    names: list[str] = []
    for line in head:
        match = _COMMAND.match(line)
        if match:
            names.append(match[1].strip())
        elif names and line.startswith("    ") and line.strip():
            names[-1] += f" {line.strip()}"
    return names


def _grouped(inside: list[str], first: re.Pattern[str]) -> list[tuple[list[int], list[str]]]:
    """The rows of a box, each with its lines: one that does not begin a row goes on with the one above. None if
    the box begins with anything else."""
    found: list[tuple[list[int], list[str]]] = []
    for number, line in enumerate(inside):
        if first.match(line):
            found.append(([number], [line]))
        elif not found or not line.strip():
            return []
        else:
            found[-1][0].append(number)
            found[-1][1].append(line)
    return found


def _plan(lines: list[str]) -> Dialog:
    box = _box(lines)
    if box is None:
        return _unknown(lines)
    rows = _grouped([_unframed(line) for line in lines[box[0] + 1 : box[1]]], _ROW)
    heads = [_ROW.match(parts[0]) for _, parts in rows]
    if not rows or [head and head["key"] for head in heads] != [str(n) for n in range(1, len(rows) + 1)]:
        return _unknown(lines)
    options = tuple(
        ScreenOption(head["key"], flat([head["label"], *parts[1:]]))
        for head, (_, parts) in zip(heads, rows, strict=True)
        if head is not None
    )
    rules = [n for n in range(box[0]) if re.match(r" {2,4}─{8,}$", lines[n])]
    top = next((n for n in range(rules[-2] if len(rules) > 1 else 0, -1, -1) if "Propose" in lines[n]), None)
    clipped = top is None or len(rules) < 2
    start = 0 if top is None else top
    reading = Reading("waiting", "plan", "Plan", None, None, options, clipped=clipped)
    return Dialog("plan", lines[start:], reading)


def _question(above: list[str], lines: list[str]) -> Dialog:
    """Rows with digits under a question; a row for words of one's own is the last of them."""
    top = next((n for n in range(len(above) - 1, -1, -1) if above[n].strip() == "Ask User"), None)
    if top is None:
        return _unknown(lines)
    body = above[top + 1 :]
    places = [n for n, line in enumerate(body) if _ROW.match(line)]
    rows = [match for line in body if (match := _ROW.match(line))]
    if not rows or [row["key"] for row in rows] != [str(n) for n in range(1, len(rows) + 1)]:
        return _unknown(lines)
    asked = [line for line in body[: places[0]] if line.strip() and not _TABS.match(line)]
    own = next((match for line in body if (match := _OWN.match(line))), None)
    options = [ScreenOption(row["key"], _label(body, n)) for row, n in zip(rows, places, strict=True)]
    if own is not None:
        options.append(ScreenOption(None, OWN_ANSWER))
    several = any(row["tick"] is not None for row in rows)
    ticks = tuple(n for n, row in enumerate(rows) if row["tick"] == "x")
    reading = Reading(
        "waiting",
        "question",
        "Ask User",
        flat(asked),
        None,
        tuple(options),
        checked=ticks if several else None,
        multi_select=several,
        text_input=True,
    )
    return Dialog("question", lines[top:], reading)


def _label(body: list[str], place: int) -> str:
    """The label of this row; what it wraps into stands as deep as the label."""
    match = _ROW.match(body[place])
    assert match is not None
    parts = [match["label"].strip()]
    for line in body[place + 1 :]:
        if not line.strip() or _ROW.match(line) or _OWN.match(line) or not line.startswith(" " * 5):
            break
        parts.append(line.strip())
    return " ".join(parts)


def _trust(lines: list[str]) -> Dialog:
    rows = [match for line in lines[-6:] if (match := _TRUST_ROW.match(line))]
    top = next((n for n in range(len(lines) - 1, -1, -1) if _EDGE.match(lines[n]) and "╭" in lines[n]), None)
    if not rows or top is None:
        return _unknown(lines)
    inside = [_unframed(line).strip() for line in lines[top + 1 :] if _INSIDE.match(line)]
    texts = [line for line in inside if line]
    trusts = bool(texts) and texts[0] == "Trust this folder?"
    options = tuple(ScreenOption(row["key"], row["label"].strip()) for row in rows)
    reading = Reading(
        "waiting",
        "trust" if trusts else "unknown",
        texts[0] if texts else None,
        texts[0] if texts else None,
        texts[1] if trusts and len(texts) > 1 else None,
        options,
        next((n for n, row in enumerate(rows) if row["at"] == ">"), None),
    )
    return Dialog("trust" if trusts else "unknown", lines[top:], reading)


def bold_rows(screen: str, places: range, count: int) -> list[int]:
    """Which of these lines are drawn in bold, counted from the first of them. `count`: of the lines that `clean`
    left, so that both are counted alike."""
    bold = False
    drawn: list[bool] = []
    for line in _ESCAPES.sub("", screen).split("\n"):
        kind = False
        for number, part in enumerate(_SGR.split(line)):
            if number % 2:
                bold = _bold_after(part, bold)
            elif bold and part.strip(" │"):
                kind = True
        drawn.append(kind)
    return [n - places.start for n in places if n < min(len(drawn), count) and drawn[n]]


def _bold_after(codes: str, bold: bool) -> bool:
    rest = re.split("[;:]", codes)
    while rest:
        code = rest.pop(0)
        if code in ("38", "48", "58"):
            del rest[: 2 if rest[:1] == ["5"] else 4]
        elif code in ("", "0", "22"):
            bold = False
        elif code == "1":
            bold = True
    return bold
