"""What a Gemini CLI dialog asks: its kind, its target, its rows.

Words serve only to name the kind; where things are is told by the box, the frame in it, blank lines and columns.
What cannot be named is `unknown`, never left out.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.screen.box import Box, inner_frame
from yourcall.agents.gemini.screen.header import Header, header_of
from yourcall.agents.gemini.screen.lines import joined, unwrapped
from yourcall.agents.gemini.screen.rows import Rows, choices, find_rows
from yourcall.agents.gemini.screen.target import HIDDEN, target_of
from yourcall.agents.kit.text import paragraphs
from yourcall.model.screen import Kind, Reading, ScreenOption

_FIELD = re.compile(r"> ?(?!\d+\.)")
_KEYS = re.compile(r"\b(?:enter|esc|tab|ctrl\+\w)\b[^.]{0,40}? to \w|\bpress (?:enter|esc)\b", re.I)
_CLOSES = re.compile(r"\besc to (?:close|exit|go back)\b|\bpress esc\b", re.I)
_SUBMITS = re.compile(r"\W*(?:Press )?Enter to submit\b", re.I)
_SELECT_ALL = re.compile(r"\s*\(Select all that apply\)\s*$", re.I)
_OWN_WORDS = re.compile(r"Enter a custom value|Type (?:your|something)\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_REQUEST = re.compile(r"(?:Please|Choose|Select|Enter|Pick|Paste|Review)\b")
_TABS = re.compile(r"← ?[□✓≡].* →$")
_ASKS = re.compile(r"Answer\b")
_TRUST = re.compile(r"\btrust\b", re.I)
_LOOP = re.compile(r"\bloop\b", re.I)
_PLAN = re.compile(r"\bstart implement|\bplan\b", re.I)
_STARTUP = re.compile(
    r"\bget started\b|\bauthenticat|\bsign ?in\b|\bAPI key\b|\blimit\b|\bquota\b|\bnotice\b"
    r"|\bconnect .{1,60} to Gemini CLI\b",
    re.I,
)


class Parts(NamedTuple):
    box: Box
    body: list[str]  # everything above the rows, the text field or the line of keys
    rows: Rows | None
    field: bool  # a text field is open
    footer: str  # everything below the rows or the field


def read_box(box: Box, *, asked: bool, resting: bool) -> Reading | None:
    """The dialog in a box, or None if it asks nothing of the person that they did not ask for themselves.

    `asked`, `resting`: the pane title says that an action is required, or that none is.
    """
    parts = _parts(box)
    items = parts.rows.items if parts.rows else []
    if not asked and not parts.field and not any(row.cursor for row in items) and not _KEYS.search(parts.footer):
        return None
    header = header_of(parts.body, whole=box.whole)
    question = _question(parts, header)
    kind = _kind(parts, header, question)
    if resting and kind in ("unknown", "startup"):
        if _CLOSES.search(parts.footer):
            return None  # a menu: it offers to be closed, not to be answered
        kind = "startup"
    described = kind not in ("permission", "trust")
    options = choices(parts.rows, box.width, described=described) if parts.rows else ()
    target: str | None = None
    if kind == "permission":
        target = target_of(parts.body, header.end, header.tool, header.about, question, box.width)
    ticks = [row.ticked for row in items]
    multi = any(tick is not None for tick in ticks)
    return Reading(
        "waiting", kind, header.title, question, target, options,
        next((n for n, row in enumerate(items) if row.cursor), None),
        tuple(n for n, tick in enumerate(ticks) if tick) if multi else None, multi,
        text_input=_takes_text(parts, kind, options),
        clipped=not box.whole or header.cut or _is_cut(parts, options),
    )  # fmt: skip


def _parts(box: Box) -> Parts:
    lines = box.lines
    if rows := find_rows(lines):
        return Parts(box, lines[: rows.first], rows, False, " ".join(lines[rows.end :]))
    last = max((n for n, run in enumerate(lines) if run and (n == 0 or not lines[n - 1])), default=0)
    footer = " ".join(lines[last:])
    if not _KEYS.search(footer):
        return Parts(box, lines, None, False, "")
    field = next((n for n in range(last - 1, -1, -1) if _FIELD.match(lines[n])), None)
    if field is not None:
        return Parts(box, lines[:field], None, True, footer)
    frame = inner_frame(lines)
    framed = frame is not None and len(frame.lines) == 1 and _SUBMITS.match(footer) is not None
    return Parts(box, lines[: frame.start] if frame and framed else lines[:last], None, framed, footer)


def _asks(parts: Parts, header: Header) -> bool:
    """A question of the agent; where the heading has scrolled off, its line of keys tells."""
    if header.title is not None:
        return _ASKS.match(header.title) is not None or any(map(_TABS.match, parts.body[:4]))
    return _KEYS.search(parts.footer) is not None and not _PLAN.search(parts.footer)


def _kind(parts: Parts, header: Header, question: str | None) -> Kind:
    title = header.title or ""
    if header.tool:
        return "permission"
    if _asks(parts, header):
        return "question"
    for kind, words in _NAMED:
        if words.search(title):
            return kind
    if _STARTUP.search(question or ""):
        return "startup"
    if not title and _PLAN.search(parts.footer):
        return "plan"
    labels = [row.lines[0][row.start :] for row in parts.rows.items] if parts.rows else []
    return "permission" if any(label.startswith("Allow ") for label in labels) else "unknown"


_NAMED: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("trust", _TRUST),
    ("loop", _LOOP),
    ("plan", _PLAN),
    ("startup", _STARTUP),
)


def _takes_text(parts: Parts, kind: Kind, options: tuple[ScreenOption, ...]) -> bool:
    if parts.field or parts.rows is None:
        return parts.field
    if kind in ("question", "plan") and not parts.rows.scrolls:
        return True  # the last row is always for the person's own words
    return _SUBMITS.match(parts.footer) is not None or any(_OWN_WORDS.match(option.label) for option in options)


def _is_cut(parts: Parts, options: tuple[ScreenOption, ...]) -> bool:
    if parts.rows and parts.rows.scrolls:
        return True
    if any(HIDDEN.match(line.lstrip("│ ")) for line in parts.body):
        return True
    return any(option.label.endswith("…") for option in options)


def _question(parts: Parts, header: Header) -> str | None:
    body, width = parts.body, parts.box.width
    if _asks(parts, header):
        said = [line for line in body[header.end :] if not _TABS.match(line) and not HIDDEN.match(line)]
        if parts.rows is None and not parts.field and (runs := paragraphs(said)):
            said = runs[0]  # the review page: what stands below are the person's own answers
        return _SELECT_ALL.sub("", joined(said, width)) or None
    if header.title and header.title.endswith("?"):
        return header.title
    frame = inner_frame(body)
    # The agent wrote what is in the frame and above it; the CLI asks below.
    texts = unwrapped(body[frame.end if frame else header.end :], width)
    for text in reversed(texts):
        if found := _asked(text):
            return found
    return next((part for text in texts for part in _SENTENCE_END.split(text) if _REQUEST.match(part)), None)


def _asked(text: str) -> str | None:
    """The sentence with the last question mark."""
    end = max(text.rfind("? "), len(text) - 1 if text.endswith("?") else -1)
    return _SENTENCE_END.split(text[: end + 1])[-1] if end >= 0 else None
