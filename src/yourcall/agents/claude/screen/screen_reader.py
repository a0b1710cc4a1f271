"""Claude Code in screen reader mode: no rules, no cursor, no composer glyph; every line says what it is.

A dialog is live if the request for a number is the last thing on the screen and its range fits the rows above it.
"""

import re

from yourcall.agents.claude.screen.block import SHELL
from yourcall.agents.claude.screen.dialog import call_target, file_target
from yourcall.agents.claude.screen.rows import plain_label
from yourcall.agents.kit.text import flat
from yourcall.model.screen import Kind, Reading, ScreenOption

_PICK_RANGE = re.compile(r".*\[1-(\d{1,2})\]")
_ROW = re.compile(r"(\d{1,2})\. +(?:\[(.)\] )?(?=\S)")
_TURN = re.compile(r"[a-z]+: ")
_NO_ANSWER_LINES = 3  # under the request: one hint, at most wrapped


def read_spoken(lines: list[str]) -> Reading | None:
    """The dialog of a screen in this mode, or None if there is none."""
    for at in range(len(lines) - 1, max(len(lines) - 2 - _NO_ANSWER_LINES, 0), -1):
        if match := _PICK_RANGE.match(lines[at]):
            first = _first_row(lines, at, int(match[1]))
            # The composer of this mode looks like a shell prompt; under a dialog either means that it is over.
            if first is None or (at + 1 < len(lines) and SHELL.match(lines[-1])):
                return None
            return _read(lines, first, at)
    return None


def _first_row(lines: list[str], end: int, count: int) -> int | None:
    """Where the rows begin, if they count up to `count` without a gap."""
    wanted = count
    for at in range(end - 1, -1, -1):
        match = _ROW.match(lines[at])
        if match and int(match[1]) == wanted:
            wanted -= 1
            if wanted == 0:
                return at
    return None


def _read(lines: list[str], first: int, end: int) -> Reading | None:
    top = next((n for n in range(first - 1, -1, -1) if _TURN.match(lines[n]) or lines[n].endswith("…")), -1)
    body = [line for line in lines[top + 1 : first] if line.strip()]
    if not body:
        return None
    title = flat(body[:1])
    quoted = [line[2:] for line in body if line.startswith("> ")]
    asked = next((line for line in reversed(body[1:]) if line[:2] != "> " and line.endswith("?")), None)
    kind: Kind = "permission" if asked and re.match(r"Permission\b", title) else "unknown"
    if re.match(r"Question\b", title):
        kind, asked = "question", flat(quoted) or None
    options, ticks = _options(lines[first:end], by_agent=kind == "question")
    multi = any(tick is not None for tick in ticks)
    target: str | None = None
    if kind == "permission":
        # The first quoted line says what the call is for.
        target = file_target(flat(body[1:2]), title, asked) or call_target(flat(quoted[1:] or quoted))
    return Reading(
        "waiting", kind, title, asked, target, options, None,
        tuple(n for n, tick in enumerate(ticks) if tick) if multi else None, multi,
        text_input=kind == "question", clipped=top < 0,
    )  # fmt: skip


def _options(lines: list[str], *, by_agent: bool) -> tuple[tuple[ScreenOption, ...], list[bool | None]]:
    rows: list[tuple[str, str]] = []
    ticks: list[bool | None] = []
    for line in lines:
        match = _ROW.match(line)
        if match and int(match[1]) == len(rows) + 1:
            rows.append((match[1], line[match.end() :]))
            ticks.append(match[2] != " " if match[2] else None)
        elif rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line}")
    options: list[ScreenOption] = []
    for key, text in rows:
        label, dash, described = flat([text]).partition(" — " if by_agent else " — · ")
        options.append(ScreenOption(key, plain_label(label), described if dash else None))
    return tuple(options), ticks
