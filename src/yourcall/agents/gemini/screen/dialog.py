"""What a Gemini CLI dialog asks: its kind, its target, its rows.

Words serve only to name the kind; where things are is told by the box, the frame in it, blank lines and columns.
What cannot be named is `unknown`, never left out.
"""

import re
from typing import NamedTuple

from yourcall.agents.gemini.screen.box import Box, inner_frame, joined, unwrapped
from yourcall.agents.gemini.screen.rows import Rows, choices, find_rows
from yourcall.agents.kit.text import flat, paragraphs
from yourcall.model.screen import Kind, Reading, ScreenOption

_TOOL_LINE = re.compile(r"\? +(\S.*)$")
_QUEUE = re.compile(r"(?: {2,}|(?<=…) *)\d+ of \d+$")
_NAME_GAP = re.compile(r" {2,}")
_MCP = re.compile(r"(.+?) \(.+? MCP Server\)")
# Names of several words; all others are one word.
_LONG_NAME = re.compile(r"((?:Enter|Exit) Plan Mode|Ask User|Activate Skill|Save Memory|Update Topic Context)\b")
_SQUEEZED = re.compile(r"(Shell|WriteFile|Edit)(?=\S)")
_TELLING = 10  # so many letters in a row are not there by chance


class Header(NamedTuple):
    title: str | None
    tool: str | None  # the name of the tool that wants to run
    about: str  # what stands behind the name
    end: int  # line after the heading
    cut: bool


def header_of(body: list[str], *, whole: bool) -> Header:
    """The heading of a dialog; without one where its top is not on the screen."""
    shown = [n for n, line in enumerate(body) if line][:2]
    if not shown or not whole:
        return Header(None, None, "", 0, False)
    first = shown[0]
    heading = _QUEUE.sub("", body[first]).removeprefix("> ")
    match = _TOOL_LINE.match(heading)
    if match and not _NAME_GAP.search(match[1]) and inner_frame(body) is None:
        return Header(flat([match[1]]), None, "", first + 1, False)
    if match:
        return _with_tool(None, match[1], body, first + 1)
    second = shown[-1]
    if second > first and (tool := _TOOL_LINE.match(_QUEUE.sub("", body[second]))):
        return _with_tool(flat([heading]), tool[1], body, second + 1)
    return Header(flat([heading]), None, "", first + 1, False)


def _with_tool(title: str | None, text: str, body: list[str], end: int) -> Header:
    parts = _NAME_GAP.split(text, maxsplit=1)
    if len(parts) == 2:
        name, about = parts[0], flat([parts[1]])
    elif match := _MCP.match(text) or _LONG_NAME.match(text) or _SQUEEZED.match(text):
        name, about = match[1], flat([text[match.end() :]])
    else:
        name, _, about = text.partition(" ")
    return Header(title or name, name, about, end, _heading_is_cut(about, body[end:]))


def _heading_is_cut(about: str, below: list[str]) -> bool:
    """Whether the heading ends in `…` and what is missing is nowhere else in the dialog."""
    if not about.endswith("…"):
        return False
    if any(map(URL_LINE.match, below)) or (EDITED.match(about) and inner_frame(below)):
        return False  # the request itself is below: the addresses, or the diff of the file before the colon
    text = flat([line.strip("│ ") for line in below])
    seen = about.rstrip("… ")
    if seen in text:
        return False
    words = seen.split(" ")
    tails = (" ".join(words[n:]) for n in range(len(words)))
    return not any(len(tail) >= _TELLING and tail in text for tail in tails)


URL_LINE = re.compile(r" *(?:[-•*] +)?([a-z][a-z0-9+.-]*://\S+)$")
HIDDEN = re.compile(r"\W*\.\.\. .*\bhidden\b")
EDITED = re.compile(r"(\S.*?): ")
_TOOL_NAMED = re.compile(r"\btool \"([^\"]+)\"")
_WRITTEN = re.compile(r"(?:Writing to|Write to|Creating|Overwriting) (.+)$")
_CODE_MARGIN = 6  # the frame of a call, and two columns that code leaves free


def target_of(
    body: list[str], start: int, tool: str | None, about: str, question: str | None, width: int
) -> str | None:
    """`start` is the line after the heading, `about` what stands there behind the name of the tool."""
    if matched := _TOOL_NAMED.search(question or ""):
        return matched[1]
    rest = body[start:]
    urls = [match[1] for line in unwrapped(rest, width) if (match := URL_LINE.match(line))]
    if urls:
        return ", ".join(urls)
    frame = inner_frame(body)
    if match := _WRITTEN.match(about):
        return match[1]
    if frame and tool != "Shell" and (match := EDITED.match(about)):
        return match[1]
    if frame and tool is None and not (question or "").startswith("Allow execution"):
        return None  # a diff whose file has scrolled off
    if frame:
        return joined([line for line in frame.lines if not HIDDEN.match(line)], width - _CODE_MARGIN) or None
    if tool == "Shell":
        asks = (question or "").split(" ", 1)[0]
        end = next((n for n, line in enumerate(rest) if asks and line.startswith(asks + " ")), len(rest))
        return joined([line for line in rest[:end] if not HIDDEN.match(line)], width) or None
    return tool


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
    for kind, pattern in _NAMED:
        if pattern.search(title):
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
        lines = [line for line in body[header.end :] if not _TABS.match(line) and not HIDDEN.match(line)]
        if parts.rows is None and not parts.field and (runs := paragraphs(lines)):
            lines = runs[0]  # the review page: what stands below are the person's own answers
        return _SELECT_ALL.sub("", joined(lines, width)) or None
    if header.title and header.title.endswith("?"):
        return header.title
    frame = inner_frame(body)
    # The agent wrote what is in the frame and above it; the CLI asks below.
    texts = unwrapped(body[frame.end if frame else header.end :], width)
    for text in reversed(texts):
        if value := _asked(text):
            return value
    return next((part for text in texts for part in _SENTENCE_END.split(text) if _REQUEST.match(part)), None)


def _asked(text: str) -> str | None:
    """The sentence with the last question mark."""
    end = max(text.rfind("? "), len(text) - 1 if text.endswith("?") else -1)
    return _SENTENCE_END.split(text[: end + 1])[-1] if end >= 0 else None
