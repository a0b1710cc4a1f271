"""What one screen of Copilot CLI says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: a dialog is the last thing on the screen, from the first column: a box, or two rules with a form between
them. Below everything else stands a line with words: the status line, or what the keys of a menu do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yourcall.agents.kit.text import clean, paragraphs
from yourcall.model.screen import Kind, Reading, ScreenOption

_BOTTOM = re.compile(r"╰─{18,}╯$")
# A dialog of another version: set in a little, with its keys in its last lines.
_OTHER_BOTTOM = re.compile(r" {1,3}╰─{18,}╯$")
_OTHER_KEYS = re.compile(r"\b[Cc]ancel with Esc\b|\bEsc to cancel\b")
_TOP = re.compile(r"╭─{18,}╮$")
_RULE = re.compile(r"─{20,}$")
_INNER_RULE = re.compile(r"─{8,}$")
_ROW = re.compile(r" {0,2}(❯)? {0,2}(\d)\. +(.*)$")
_HINT = re.compile(r"↑/↓ to navigate\b")
_KEYS = re.compile(r"(?:↑/↓ select|enter accept)\b")
_SHORTCUT = re.compile(r" \((Esc|Esc to stop)\)$")
_CHANGE = re.compile(r"Do you want to \w+ (/.+)\?$")
_TABS = re.compile(r" *(?:\S.*)?\[[^\]]+\]")
_FIELD_ROW = re.compile(r" (❯| ) (?:([✓•]) )?(\S.*)$")
_NEEDS = re.compile(r"(.+) needs information\.$")
_HEAD = re.compile(r" ([✗●❯○$])(?: |$)|● ")
OWN_WORDS = "Other (type your answer)"
_PLAN = "Plan Ready for Review"
_TRUST = "Confirm folder trust"
_CONSENT = re.compile(r"wants elevated permissions$")


class Row(NamedTuple):
    key: str
    label: str
    selected: bool
    takes_text: bool  # its digit only moves there


def read_screen(text: str, _title: str | None = None) -> Reading:
    """Read one captured screen; the pane's title never says what Copilot is doing."""
    lines = clean(text)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        return Reading("idle")
    if _BOTTOM.match(lines[-1]):
        return _box(lines)
    if _OTHER_BOTTOM.match(lines[-1]) and any(map(_OTHER_KEYS.search, lines[-4:-1])):
        return Reading("waiting", "unknown")
    if _RULE.match(lines[-1]):
        return _form(lines)
    rules = [n for n, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2 or rules[-1] != len(lines) - 2:
        return Reading("idle")  # a menu, another tab, or another program
    if "Working" in lines[-1]:
        return Reading("working")
    return Reading("error" if _ends_in_error(lines[: rules[-2]]) else "idle")


def _ends_in_error(above: list[str]) -> bool:
    """The last thing that was said is an error; what a tool call came to is said by the model afterwards."""
    head = next((line for line in reversed(above) if _HEAD.match(line)), "")
    return head.startswith(" ✗")


# --- boxes ----------------------------------------------------------------------------------------------------


def _box(lines: list[str]) -> Reading:
    at = len(lines) - 2
    while at >= 0 and lines[at].startswith("│") and lines[at].endswith("│"):
        at -= 1
    whole = at >= 0 and _TOP.match(lines[at]) is not None
    inside = [line[1:-1].removeprefix(" ").rstrip() for line in lines[at + 1 : -1]]
    parts = paragraphs(inside)
    if len(parts) < 2 or not _HINT.match(parts[-1][0].strip()):
        return Reading("waiting", "unknown", title=_heading(inside) if whole else None, clipped=not whole)
    rows = _rows(parts[-2])
    body = _above(inside, parts[-2])
    title = _heading(body) if whole else None
    question = next((text for part in reversed(parts[:-2]) if (text := _joined(part)).endswith("?")), None)
    framed = _framed(body)
    kind = _kind(title, question, rows)
    return Reading(
        "waiting",
        kind,
        title,
        question if kind != "plan" else None,
        _target(kind, title, question, framed),
        tuple(ScreenOption(row.key, row.label) for row in rows),
        next((n for n, row in enumerate(rows) if row.selected), None),
        text_input=any(row.takes_text for row in rows),
        clipped=not whole,
    )


def _above(inside: list[str], rows: list[str]) -> list[str]:
    """What stands above the rows."""
    for at in range(len(inside) - len(rows), -1, -1):
        if inside[at : at + len(rows)] == rows:
            return inside[:at]
    return inside


def _heading(inside: list[str]) -> str | None:
    """The lines above the first rule."""
    end = next((n for n, line in enumerate(inside) if _INNER_RULE.match(line)), 0)
    return _joined(inside[:end]) or None


def _rows(part: list[str]) -> list[Row]:
    found: list[tuple[str, list[str], bool]] = []
    for line in part:
        match = _ROW.match(line)
        if match is not None and int(match[2]) == len(found) + 1:
            found.append((match[2], [match[3]], bool(match[1])))
        elif found:
            found[-1][1].append(line)
    rows: list[Row] = []
    for key, texts, selected in found:
        whole = _joined(texts)
        ends = _SHORTCUT.search(whole)
        label = whole[: ends.start()] if ends else whole
        rows.append(
            Row(
                key, label, selected, (ends is not None and ends[1] == "Esc to stop") or label == "Suggest changes"
            )
        )
    return rows


def _kind(title: str | None, question: str | None, rows: list[Row]) -> Kind:
    if title == _PLAN:
        return "plan"
    if title == _TRUST:
        return "trust"
    if title is not None and _CONSENT.search(title):
        return "startup"
    asks = question is not None and question.startswith("Do you want to")
    return "permission" if asks and rows else "unknown"


def _target(kind: Kind, title: str | None, question: str | None, framed: list[str]) -> str | None:
    if kind not in ("permission", "trust"):
        return None
    change = _CHANGE.match(question or "")
    if change is not None:
        return change[1]
    if not framed:
        return None
    return ", ".join(framed) if title == "Allow path access" else _joined(framed) or None


def _framed(body: list[str]) -> list[str]:
    """What the frame inside the box holds; its top may be off the screen."""
    end = next((n for n, line in enumerate(body) if _BOTTOM.match(line)), None)
    if end is None:
        return []
    start = next((n for n in range(end, -1, -1) if _TOP.match(body[n])), -1)
    return [line.strip().removeprefix("│").removesuffix("│").strip() for line in body[start + 1 : end]]


def _joined(lines: list[str]) -> str:
    """One text of wrapped lines; a path that was broken behind a slash has no space there."""
    text = ""
    for line in lines:
        piece = " ".join(line.split())
        text += piece if (text.endswith("/") and not text.endswith(" /")) or not text else f" {piece}"
    return text.strip()


# --- forms ----------------------------------------------------------------------------------------------------


def _form(lines: list[str]) -> Reading:
    start = next((n for n in range(len(lines) - 2, -1, -1) if lines[n] == lines[-1]), -1)
    parts = paragraphs([line.removeprefix(" ") for line in lines[start + 1 : -1]])
    if not parts or not _KEYS.search(_joined(parts[-1])):
        return Reading("waiting", "unknown", clipped=start < 0)
    title = parts[0][0].strip() if start >= 0 else None
    needs = _NEEDS.match(title or "")
    kind: Kind = "question" if needs is None or needs[1] == "Copilot" else "elicitation"
    question = _joined(parts[0][1:]) if start >= 0 else None
    rows = _choices(parts[-2]) if len(parts) > 1 and "select" in _joined(parts[-1]) else []
    multi = any(mark for _, mark, _ in rows)
    return Reading(
        "waiting",
        kind,
        title,
        question or None,
        options=tuple(ScreenOption(None, label) for _, _, label in rows),
        selected=next((n for n, (cursor, _, _) in enumerate(rows) if cursor), None),
        checked=tuple(n for n, (_, mark, _) in enumerate(rows) if mark == "✓") if multi else None,
        multi_select=multi,
        text_input=not rows or any(label == OWN_WORDS for _, _, label in rows),
        clipped=start < 0,
    )


def _choices(part: list[str]) -> list[tuple[bool, str, str]]:
    """The rows of the field that is open: the cursor, the tick, the label."""
    found: list[tuple[bool, str, str]] = []
    for line in part[1:]:
        match = _FIELD_ROW.match(f" {line}")
        if match is not None:
            found.append((match[1] == "❯", match[2] or "", match[3].rstrip()))
    return found
