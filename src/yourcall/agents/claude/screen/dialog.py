"""A Claude Code dialog, once the composer is known to be gone: its kind, what it asks, and with which rows.

Words serve only to name the kind; where things are is told by rules, columns and blank lines. What cannot be
named is `unknown`, never left out.
"""

import re
from typing import NamedTuple

from yourcall.agents.claude.screen.block import CHIP, Block, asks, find_block, opened_by_person, starts_question
from yourcall.agents.claude.screen.rows import Row, is_rule, joined, label_and_description, wraps
from yourcall.agents.kit.text import flat, indent, paragraphs
from yourcall.model.screen import Kind, Reading, ScreenOption

GUTTER = re.compile(r"\s*│ ?")
_MCP = re.compile(r"(.+?)(?: Tool:|\(.*\))? \(MCP\)$")
_ABOUT = re.compile(r"\s*About the (.+) Tool:$")
_URL = re.compile(r"(?:url: )?\"?([a-z][a-z0-9+.-]*://[^\s\"]+)")
_FILE_ASKED = re.compile(r"Do you want to (?:create|overwrite|make this edit to|edit|write) (.+)\?$")


class Parts(NamedTuple):
    head: list[str]  # from the title to the frame
    framed: list[str] | None  # what lies between the two dashed rules
    tail: list[str]  # from the frame, or the last rule, to the rows


def parts_of(block: Block) -> Parts:
    body = block.body
    edge = indent(block.lines[block.top]) if block.top >= 0 else 0
    level = [
        (n, is_rule(line, "╌")) for n, line in enumerate(body) if indent(line) == edge and line[edge:][:1] in "╌─"
    ]
    rules = [(n, dashed) for n, dashed in level if dashed or is_rule(body[n])]
    if not rules:
        return Parts(body, None, [])
    last = rules[-1][0]
    dashed = [n for n, is_dashed in rules if is_dashed]
    if not dashed:
        return Parts(body[:last], None, body[last + 1 :])
    if len(dashed) == 1 and block.top < 0:
        return Parts([], body[: dashed[0]], body[last + 1 :])
    return Parts(body[: dashed[0]], body[dashed[0] + 1 : last], body[last + 1 :])


def target_of(block: Block, parts: Parts, title: str | None, asked: str | None) -> str | None:
    if title and asked == title:
        return title.rstrip("?")  # the heading names what the agent wants to do
    head = [line for line in parts.head if line.strip()]
    if parts.framed is None:
        call = _set_in(block, asked)
    else:
        call = [GUTTER.sub("", line, count=1) for line in parts.framed]
        subject = joined(_last_wrapped(head[1:] if title else head, block.limit), block.limit)
        about = next((match[1] for line in parts.tail if (match := _ABOUT.match(line))), None)
        if tool := _mcp_tool(subject) or about:
            return tool
        if path := file_target(subject, title or "", asked):
            return path
    return call_target(joined(call, block.limit))


def call_target(text: str) -> str | None:
    """What a call as displayed is about."""
    if tool := _mcp_tool(text):
        return tool
    if match := _URL.match(text):
        return match[1]
    if text.startswith("Read(") and text.endswith(")") and not re.search(r"[\",]", text):
        return text[5:-1]
    return text or None


def _mcp_tool(text: str) -> str | None:
    """The server and tool, without the arguments."""
    match = _MCP.match(text) if text.endswith("(MCP)") else None
    return match[1] if match else None


def file_target(subject: str, title: str, asked: str | None) -> str | None:
    """The path as displayed: on its own line, behind the heading, or only its last part in the question."""
    file = _FILE_ASKED.match(asked or "")
    if file is None:
        return None
    if subject.endswith(file[1]):
        return subject
    behind = re.match(r"\S+ \S+ (.+)$", title)
    return behind[1] if behind and title.endswith(file[1]) else file[1]


def _last_wrapped(lines: list[str], limit: int) -> list[str]:
    """The last line with what was wrapped before it."""
    start = max(len(lines) - 1, 0)
    while start > 0 and wraps(lines[start - 1], lines[start], limit):
        start -= 1
    return lines[start:]


def _set_in(block: Block, asked: str | None) -> list[str]:
    """The lines of the call where nothing but indentation sets it apart; under it stands what it is for."""
    body = block.body
    margin = next((indent(line) for line in reversed(body) if line.strip()), 0) if asked else 0
    start = next((n for n, line in enumerate(body) if indent(line) > margin), len(body))
    stop = start
    while stop < len(body) and (not body[stop].strip() or indent(body[stop]) > margin):
        stop += 1
    call = body[start:stop]
    while call and not call[-1].strip():
        call.pop()
    above = flat(block.lines[: max(block.top, 0)])
    for end in range(len(call), max(len(call) - 4, 0), -1):  # what it is for takes a few lines at most
        if f"({flat(call[:end])})" in above or f"$ {flat(call[:end])}" in above:
            return call[:end]
    purpose = len(_last_wrapped(call, block.limit))
    return call[:-1] if purpose == len(call) and purpose > 1 else call[: len(call) - purpose] or call


_TAB = re.compile(r"[☐☒☑✔✓]\s*(.+)$")
_URL_LINE = re.compile(r"\s*[a-z][a-z0-9+.-]*://\S+$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_REQUEST = re.compile(r"(?:Please|Choose|Select|Enter|Pick|Paste|Press)\b")
_SELECT_ALL = re.compile(r"\s*\(Select all that apply\)\s*$", re.I)
_OFFERS_TEXT = re.compile(r"Type (?:here|something)\b|Tell Claude\b", re.I)
_MORE = re.compile(r"\s*(?:[↓↑] \d+ more|… ?\+?\d+ (?:more )?(?:lines?|options?|items?))\b")
_FIELD = re.compile(r" *(?:❯ +)?(?:\* +)?\S[^:]*: ?\S")
# The headings of permission dialogs, to tell a heading on the first line of the screen from lost ones.
_HEADING = re.compile(r" (?:\w+ (?:command|file|notebook|use)|Fetch)(?: ·.*)?$")
_PLAN = re.compile(r"\bplan mode\b|\ba plan\b|['’]s plan\b|\b(?:the|this) plan\b|\bready to code\b", re.I)
_TRUST = re.compile(r"\btrust\b", re.I)
_STARTUP = re.compile(
    r"\bAPI key\b|\bbypass\b|\bsettings\b|\blog ?in\b|\bsign ?in\b|\btheme\b|\bterms\b|\bwelcome\b", re.I
)


def read_dialog(lines: list[str]) -> Reading | None:
    """The dialog that stands where the composer would be, or None if there is none."""
    block = find_block(lines)
    if block is None:
        return None
    body = block.body
    first = next((n for n, line in enumerate(body) if line.strip()), len(body))
    if asks(block.rows) or (first < len(body) and starts_question(body[first])):
        return _read_question(block, first)
    return _read_block(block, first)


def _read_question(block: Block, first: int) -> Reading:
    """A question of the agent: a name in a chip or a bar of tabs, the text, the rows."""
    body = block.body
    head = body[first] if first < len(body) and starts_question(body[first]) else None
    text = [GUTTER.sub("", line, count=1) for line in (body if head is None else body[first + 1 :])]
    title: str | None = None
    review = False
    if head is not None and head.startswith("←"):
        tabs = [match[1] for part in re.split(r" {2,}", head.strip("←→ ")) if (match := _TAB.match(part))]
        title = tabs[0].strip() if len(tabs) == 2 else None
        review = not asks(block.rows) and any(line.lstrip().startswith(("→ ", "⚠")) for line in text)
    elif head is not None:
        match = CHIP.match(head)
        title = flat([match[1]]) if match else None
    question = _SELECT_ALL.sub("", flat(text)) or None
    if review:
        runs = paragraphs(text)
        title, question = flat(runs[0]), _asked(flat(runs[-1]))
    options = _choices(block, by_agent=not review)
    ticks = [row.ticked for row in block.rows.items]
    multi = any(tick is not None for tick in ticks)
    return Reading(
        "waiting", "question", title, question, None, options, _selected(block.rows.items),
        tuple(n for n, tick in enumerate(ticks) if tick) if multi else None, multi,
        text_input=not review,
        clipped=head is None or _rows_cut(block, options) or (title or "").endswith("…"),
    )  # fmt: skip


def _read_block(block: Block, first: int) -> Reading | None:
    body, parts = block.body, parts_of(block)
    shown = block.top >= 0 or (first == 0 and bool(body) and _HEADING.match(body[0]) is not None)
    title: str | None = None
    if shown and first < len(body) and not body[first].endswith(" ↑"):
        title = flat(_wrapped(body, first, block.limit)) or None
    last = _last_paragraph(parts.tail or body)
    if title and first == len(body) - 1:
        last = title
    asked = _asked(last)
    kind = _kind(block, parts, title, asked, last)
    if kind in ("startup", "unknown") and opened_by_person(block, title):
        return None
    options = _choices(block, by_agent=False, all_label=kind == "permission")
    start = _first_field(block) if kind == "elicitation" else None
    question, target = asked, None
    if kind == "elicitation":
        question = _said(body if start is None else body[: start - block.top - 1], title)
    elif asked is None and parts.framed is None:
        question = _asked_above(body[first:], title)
    if kind == "permission":
        target = target_of(block, parts, title, question)
    elif kind == "trust":
        target = _path_line(body[first + 1 :], block.limit)
    elif kind == "elicitation":
        target = next((flat([line]) for line in body if _URL_LINE.match(line)), None)
    text_input = start is not None or any(_OFFERS_TEXT.match(option.label) for option in options)
    return Reading(
        "waiting", kind, title, question, target, options, _selected(block.rows.items),
        text_input=text_input or (kind == "permission" and _amended(block)),
        clipped=not shown or _rows_cut(block, options) or _body_cut(block, kind, title),
    )  # fmt: skip


def _kind(block: Block, parts: Parts, title: str | None, asked: str | None, last: str) -> Kind:
    items, framed = block.rows.items, parts.framed is not None
    digits = any(row.key for row in items)
    heading = title or ""
    if not digits and (block.rows.one_line or (not items and "MCP server" in heading)):
        return "elicitation"
    wants = re.match("Do you want", asked or "") is not None
    approval = digits and last.startswith("Would you like to proceed")
    if not wants and (approval or _PLAN.search(heading) or _PLAN.search(last)):
        return "permission" if re.match(r"enter\b", heading, re.I) else "plan"
    words = [row.text.split(",")[0].split(" ")[0].lower() for row in items]
    if not framed and not wants:
        plain = flat([heading, asked or "", *([] if digits else [*block.body, *(row.text for row in items)])])
        if _TRUST.search(plain) or _TRUST.search(_asked_above(block.body, title) or ""):
            return "trust"
    confirm = not digits or "enter to confirm" in block.footer.lower()
    if not framed and items and (confirm or _STARTUP.search(heading)):
        return "startup"
    if framed or (asked and ("yes" in words or "no" in words or "amend" in block.footer)):
        return "permission"
    return "unknown"


def _choices(block: Block, *, by_agent: bool, all_label: bool = False) -> tuple[ScreenOption, ...]:
    """The rows as options; where no row can have a description, everything below one is its label."""
    items, limit = block.rows.items, 0 if all_label else block.limit
    described = any(row.below and not wraps(row.line, row.below[0], limit) for row in items)
    return tuple(ScreenOption(row.key, *label_and_description(row, limit, by_agent, described)) for row in items)


def _selected(items: list[Row]) -> int | None:
    """The last one: beside a preview, the row shown keeps its mark while the cursor is further down."""
    return max((n for n, row in enumerate(items) if row.cursor), default=None)


def _amended(block: Block) -> bool:
    """A plain Yes or No under the cursor has turned into a text field, and the footer no longer offers that."""
    footer = block.footer.lower()
    if "esc to cancel" not in footer or "amend" in footer:
        return False
    ends = block.rows.items[:1] + block.rows.items[-1:]
    return any(row.cursor and row.key and "," in row.text and not row.text.endswith(")") for row in ends)


def _rows_cut(block: Block, options: tuple[ScreenOption, ...]) -> bool:
    if block.rows.more or any(option.label.endswith("…") for option in options):
        return True
    after = block.lines[block.rows.end : block.rows.end + 1]
    region = block.lines[block.rows.first : block.rows.end] if block.rows.side_box else []
    return any(_MORE.match(line) for line in after) or any("✂" in line for line in region)


def _body_cut(block: Block, kind: Kind, title: str | None) -> bool:
    if title and title.endswith("…"):
        return True
    if kind == "plan":
        return any(line.endswith((" ↓", " ↑")) for line in block.body)
    return kind != "permission" and any(_MORE.match(line) for line in block.body)


def _wrapped(lines: list[str], at: int, limit: int) -> list[str]:
    end = at + 1
    while (
        end < len(lines) and lines[end].lstrip()[:1] not in ("╌", "─") and wraps(lines[end - 1], lines[end], limit)
    ):
        end += 1
    return lines[at:end]


def _last_paragraph(lines: list[str]) -> str:
    runs = paragraphs(["" if GUTTER.match(line) or is_rule(line) else line for line in lines])
    return flat(runs[-1]) if runs else ""


def _asked(text: str) -> str | None:
    """The sentence with the last question mark."""
    end = max(text.rfind("? "), len(text) - 1 if text.endswith("?") else -1)
    if end < 0:
        return None
    # A file name in the question may look like the end of a sentence.
    return text[: end + 1] if text.startswith("Do you want") else _SENTENCE_END.split(text[: end + 1])[-1]


def _asked_above(body: list[str], title: str | None) -> str | None:
    """A question further up, or else what the dialog requests."""
    texts = [flat(run) for run in paragraphs(body)]
    for text in texts:
        end = text.find("? ") if "? " in text else (len(text) - 1 if text.endswith("?") else -1)
        if end >= 0:
            return title if title and text == title else _SENTENCE_END.split(text[: end + 1])[-1]
    return next((part for text in texts for part in _SENTENCE_END.split(text) if _REQUEST.match(part)), None)


def _first_field(block: Block) -> int | None:
    """Where a form begins: a name and a value after a colon, set in further than the text."""
    margin = indent(block.lines[block.top + 1]) if block.top + 1 < len(block.lines) else 0
    for at in range(block.top + 1, block.rows.first):
        line = block.lines[at]
        if _FIELD.match(line) and (line.lstrip().startswith("❯") or indent(line) >= margin + 2):
            return at
    return None


def _said(body: list[str], title: str | None) -> str | None:
    """What an MCP server wrote: all text under the heading, but not the address."""
    text = flat([line for line in body if not _URL_LINE.match(line) and not _MORE.match(line)])
    return text.removeprefix(title or "").strip() or None


def _path_line(lines: list[str], limit: int) -> str | None:
    """A paragraph that is nothing but a path."""
    for run in paragraphs(lines):
        text = joined(run, limit)
        if re.match(r"(?:[~/]|[A-Za-z]:\\)", text) and not text.endswith("."):
            return text
    return None
