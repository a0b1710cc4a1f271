"""What a Gemini CLI dialog asks: its kind, its target, its rows.

Words serve only to name the kind; where things are is told by the box, its inner box, blank lines and columns.
What cannot be named is `unknown`, never left out.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.box import Box, inner_box
from yourcall.agents.gemini.lines import joined, unwrapped
from yourcall.agents.gemini.rows import Rows, choices, find_rows
from yourcall.agents.gemini.target import Header, header_of, target_of
from yourcall.agents.screens import paragraphs
from yourcall.reading import Kind, Reading

_HIDDEN = re.compile(r"\W*(?:first |last )?\d+ (?:more )?(?:lines? )?hidden\b|.*\bhidden \(", re.I)
_FIELD = re.compile(r"> ?(?!\d+\.)")
_KEYS = re.compile(r"\b(?:enter|esc|tab|ctrl\+\w|shift\+tab|space|↑/↓|←/→)\b[^.]* to \w|\bpress (?:enter|any key)\b", re.I)
_SUBMITS = re.compile(r"Enter to submit\b", re.I)
_SELECT_ALL = re.compile(r"\s*\(Select all that apply\)\s*$", re.I)
_OFFERS_TEXT = re.compile(r"Enter a custom value|Type your (?:feedback|answer)|Type something", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_REQUEST = re.compile(r"(?:Please|Choose|Select|Enter|Pick|Paste)\b")
_PLAN = re.compile(r"\bready to start implement|\bplan\b", re.I)
_TRUST = re.compile(r"\btrust\b", re.I)
_LOOP = re.compile(r"\bloop\b", re.I)
_STARTUP = re.compile(r"\bget started\b|\bauth|\bsign ?in\b|\blog ?in\b|\bAPI key\b|\blimit\b|\bquota\b|\bcapacity\b", re.I)
_TABS = re.compile(r"← .* →$|.*[□✓≡].*│")


class Parts(NamedTuple):
    box: Box
    rows: Rows | None
    field: int | None  # the line of a text field
    body: list[str]  # everything above the rows or the field


def read_box(box: Box, *, asked: bool) -> Reading | None:
    """The dialog in the last box of the screen. `asked`: the pane title says that an action is required."""
    parts = _parts(box)
    footer = any(_KEYS.search(line) for line in box.lines[-3:])
    if parts.rows is None and parts.field is None and not footer and not asked:
        return None
    if parts.rows and not any(row.cursor for row in parts.rows.items) and not footer and not asked:
        return None
    header = header_of(parts.body, whole=box.whole)
    question = _question(parts, header)
    kind = _kind(parts, header, question, footer)
    described = kind not in ("permission", "trust")
    options = choices(parts.rows, box.width, described=described) if parts.rows else ()
    items = parts.rows.items if parts.rows else []
    scrolls = parts.rows is not None and parts.rows.scrolls
    ticks = [row.ticked for row in items]
    multi = any(tick is not None for tick in ticks)
    return Reading(
        "waiting", kind, header.title, question, target_of(parts.body, header, question, box.width) if kind == "permission" else None,
        options, next((n for n, row in enumerate(items) if row.cursor), None),
        tuple(n for n, tick in enumerate(ticks) if tick) if multi else None, multi,
        text_input=_takes_text(parts, kind, options),
        clipped=not box.whole or scrolls or header.cut or any(map(_HIDDEN.match, parts.body))
        or any(option.label.endswith("…") for option in options),
    )  # fmt: skip


def _parts(box: Box) -> Parts:
    rows = find_rows(box.lines)
    if rows:
        return Parts(box, rows, None, box.lines[: rows.first])
    field = next((n for n in range(len(box.lines) - 1, -1, -1) if _FIELD.match(box.lines[n])), None)
    last = max((n for n, line in enumerate(box.lines[:-1]) if not line), default=-1)
    ends = last if last >= 0 and _KEYS.search(" ".join(box.lines[last:])) else len(box.lines)
    return Parts(box, None, field, box.lines[:ends] if field is None else box.lines[:field])


def _kind(parts: Parts, header: Header, question: str | None, footer: bool) -> Kind:
    title, asked = header.title or "", question or ""
    if header.tool:
        return "permission"
    if re.match(r"Answer\b", title) or any(_TABS.match(line) for line in parts.body[:4]):
        return "question"
    for kind, words in (("trust", _TRUST), ("loop", _LOOP), ("plan", _PLAN)):
        if words.search(title):
            return kind
    if _STARTUP.search(title) or _STARTUP.search(asked):
        return "startup"
    if footer and (parts.field is not None or asked):
        return "question"
    return "permission" if re.match(r"(?:Allow|Apply|Do you want)\b", asked) else "unknown"


def _takes_text(parts: Parts, kind: Kind, options: tuple[object, ...]) -> bool:
    if parts.field is not None:
        return True
    if parts.rows is None:
        return False
    if kind in ("question", "plan") and not parts.rows.scrolls:
        return True  # the last row is always the person's own words
    if any(_SUBMITS.match(line) for line in parts.box.lines[parts.rows.end :]):
        return True  # the cursor is in the row for own words
    return any(_OFFERS_TEXT.match(getattr(option, "label", "")) for option in options)


def _question(parts: Parts, header: Header) -> str | None:
    body = parts.body
    inside = inner_box(body)
    after = body[inside[1] :] if inside else body[header.end :]
    if re.match(r"Answer\b", header.title or ""):
        said = [line for line in body[header.end :] if not _TABS.match(line)]
        if parts.rows is None and parts.field is None and any(" → " in line for line in said):
            said = paragraphs(said)[0]  # the review page: the answers below are the person's own
        return _SELECT_ALL.sub("", joined(said, parts.box.width)) or None
    if header.title and header.title.endswith("?"):
        return header.title
    runs = unwrapped(after, parts.box.width)
    for text in reversed(runs):
        if found := _asked(text):
            return found
    parts_of = (part for text in [*runs, header.title or ""] for part in _SENTENCE_END.split(text))
    return next((part for part in parts_of if _REQUEST.match(part)), None)


def _asked(text: str) -> str | None:
    """The sentence with the last question mark."""
    end = max(text.rfind("? "), len(text) - 1 if text.endswith("?") else -1)
    return _SENTENCE_END.split(text[: end + 1])[-1] if end >= 0 else None
