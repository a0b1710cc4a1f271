"""A Codex dialog, where no composer is last on the screen: its kind, what it asks, and with which rows.

Words serve only to name the kind; where things are is told by columns, blank lines and the history above. What
cannot be named is `unknown`, never left out.
"""

import re
from typing import NamedTuple

from yourcall.agents.codex.screen import rows as picking
from yourcall.agents.codex.screen.rows import Below, Rows, is_head, joined, wraps
from yourcall.agents.kit.text import clean, columns, indent, paragraphs
from yourcall.model.screen import Kind, Reading, ScreenOption

_LABEL = re.compile(r" *([A-Z][\w ]{2,30}): (?=\S)")
_QUOTED_TOOL = re.compile(r"\btool \"([^\"]+)\"")
_QUOTED = re.compile(r"\"([^\"]+)\"")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+$")
_MARKER = re.compile(r" *\[… \d+ lines?\]")
_COUNTS = re.compile(r"\(\+(\d+) -(\d+)\)$")
_FILE = re.compile(r" +└ (\S.*) \(\+\d+ -\d+\)$")
_FILE_HEAD = re.compile(r"\S \w+ (\S.*) \(\+\d+ -\d+\)$")
_EDIT = re.compile(r"\b(?:edits?|changes|patch)\b", re.I)
_WHERE = re.compile(r"> You are in (?=\S)")  # up to 0.150
_PATH = re.compile(r"(?:[~/]|[A-Za-z]:\\)")
_CHANGED = re.compile(r" +\d+ [+-]")


def target_of(kind: Kind, lines: list[str], top: int, first: int) -> str | None:
    """`top` and `first` are the first line of the dialog and that of its rows."""
    body = lines[top:first]
    if kind == "permission":
        return _permission(body) or (_changed_files(lines[:top]) if _is_edit(body) else None)
    if kind in ("trust", "elicitation"):
        texts = [_WHERE.sub("", joined(run)) for run in paragraphs(body[1:])]
        path = _PATH if kind == "trust" else _URL
        return next((text for text in texts if path.match(text)), None)
    return None


def _permission(body: list[str]) -> str | None:
    start = next((n for n, line in enumerate(body) if line.lstrip().startswith("$ ")), None)
    if start is not None:
        command = [line for line in body[start:] if not _MARKER.match(line)]
        command[0] = command[0].replace("$", " ", 1)
        return joined(command, breaks=False) or None
    found = _labelled(body)
    for name in ("Destination", "Permission rule"):
        if values := [value for label, value in found if label == name]:
            return ", ".join(values)
    text = joined(body, breaks=False)
    match = _QUOTED_TOOL.search(text) or _QUOTED.search(text)
    return match[1] if match else None


def _labelled(body: list[str]) -> list[tuple[str, str]]:
    """Lines such as `Reason: …`, each with what was wrapped below it."""
    found: list[tuple[str, str]] = []
    for at, line in enumerate(body):
        if match := _LABEL.match(line):
            end = at + 1
            while end < len(body) and body[end] and not _LABEL.match(body[end]) and not _MARKER.match(body[end]):
                end += 1
            first = " " * match.end() + line[match.end() :]
            found.append((match[1], joined([first, *body[at + 1 : end]], breaks=False)))
    return found


def is_cut(kind: Kind, lines: list[str], top: int, first: int) -> bool:
    body = lines[top:first]
    if any(_MARKER.match(line) for line in body):
        return True
    if kind == "plan":
        # The plan is the last cell of the history; where it has scrolled, only the person's message is left.
        return not _last_cell(lines[:top]) or _last_cell(lines[:top])[0].startswith("›")
    return kind == "permission" and _is_edit(body) and _diff_is_cut(_last_cell(lines[:top]))


def _is_edit(body: list[str]) -> bool:
    return any(_EDIT.search(line) for line in body[:1]) or any("Destination:" in line for line in body)


def _last_cell(above: list[str]) -> list[str]:
    head = next((n for n in range(len(above) - 1, -1, -1) if is_head(above[n])), None)
    return above[head:] if head is not None else []


def _changed_files(above: list[str]) -> str | None:
    """Where the dialog names no file, the last cell does: in its head, or one line per file."""
    cell = _last_cell(above)
    several = [match[1] for line in cell[1:] if (match := _FILE.match(line))]
    alone = _FILE_HEAD.match(cell[0]) if cell else None
    return ", ".join(several) or (alone[1] if alone else None)


def _diff_is_cut(cell: list[str]) -> bool:
    counts = _COUNTS.search(cell[0]) if cell else None
    return counts is None or sum(map(bool, map(_CHANGED.match, cell))) < int(counts[1]) + int(counts[2])


_PAGE = re.compile(r"(Question|Field) \d+/\d+(?: \(.*\))?$")
_ASKED_KIND = re.compile(r"(?:Would you like to|Do you want to|Allow)\b")
_HEADING = re.compile(
    r"(?:Would you like|Do you want|Allow|Question \d|Field \d|Implement)\b|.*\bneeds your approval\.$"
)
_WELCOME = re.compile(r" *Welcome to Codex\b")
_APPROVAL = re.compile(r".*\bneeds your approval\.$")
_SERVER = re.compile(r" *Server: ")
_COUNTED = re.compile(r"\boption \d+/(\d+)")
_MCP_TOOL = re.compile(r"Allow .*\bMCP server to run tool \"")
# A page of the start that looks like a menu; everything else that leads back to the session is one.
_REVIEW = re.compile(r".*\bneeds? review\b", re.I)
_BACK = re.compile(r"\besc (?:to go )?back$", re.I)
_BANNER = re.compile(r"(?:│ | *)>_ OpenAI Codex\b|╰─+╯$")
_UNANSWERED = re.compile(r"\bunanswered\b|\banswers\b", re.I)
_PLAN = re.compile(r"\bplan\b", re.I)
_TRUST = re.compile(r"\btrust\b|\bfolder access\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_REQUEST = re.compile(r"(?:Please|Choose|Select|Enter|Pick|Paste|Press)\b")
_NARROWEST = 40  # columns; on a page of short lines the longest says little about the width of the pane


class Block(NamedTuple):
    lines: list[str]
    top: int  # first line of the dialog
    rows: Rows
    below: Below
    limit: int  # the longest line: where text wraps
    history: bool  # there is conversation above it

    @property
    def body(self) -> list[str]:
        return self.lines[self.top : self.rows.first]


def read_dialog(lines: list[str], *, asked: bool) -> Reading | None:
    """The dialog at the end of the screen, or None. `asked`: the pane title says that Codex waits."""
    block = _find(lines)
    if block is None or not block.body:
        # A dialog of a version nobody has seen; the last line of Codex's own is always set in, a shell's is not.
        return Reading("waiting", "unknown", clipped=True) if asked and lines[-1][:1] == " " else None
    title = _title(block.body, block.limit)
    kind = _kind(block, title, asked)
    if kind is None:
        return None
    return _read(block, kind, title)


def field_open(text: str) -> bool:
    """Is a text field open in the dialog, where a digit would be a letter?"""
    block = _find(clean(text))
    return block is not None and block.below.field


def _find(lines: list[str]) -> Block | None:
    limit = max([_NARROWEST, *map(columns, lines)])
    rows = picking.find_rows(lines, limit)
    under = picking.below(lines, rows.end) if rows else None
    if rows is None or under is None or not under.footer:
        rows, under = _without_rows(lines)
        if rows is None or under is None:
            return None
    head = next((n for n in range(rows.first - 1, -1, -1) if is_head(lines[n])), -1)
    return Block(lines, _top(lines, head, rows.first), rows, under, limit, head >= 0)


def _without_rows(lines: list[str]) -> tuple[Rows | None, Below | None]:
    """A page with nothing but a text field: `›` above the line of keys."""
    for at in range(len(lines) - 1, -1, -1):
        if indent(lines[at]) and lines[at].lstrip()[:1] == "›":
            under = picking.below(lines, at)
            return (Rows([], at, at), under) if under and under.footer else (None, None)
        if is_head(lines[at]):
            break
    return None, None


def _top(lines: list[str], head: int, first: int) -> int:
    """Where the dialog starts: two blank lines part it from the last cell of the history."""
    starts = [n for n in range(head + 1, first) if lines[n] and (n == 0 or not lines[n - 1])]
    if not starts:
        return first
    # On a start-up page of an older version a picture moves above the words, if there is room for it.
    welcome = next((n for n in starts if head < 0 and _WELCOME.match(lines[n])), None)
    if welcome is not None:
        return welcome
    apart = [n for n in starts if n - 2 > head and not lines[n - 2]]
    known = [n for n in apart or starts if _HEADING.match(lines[n].strip())]
    # Without a head in sight this is a start-up page, or only the tail of the history is left above the dialog.
    return (known or (apart if head >= 0 else None) or starts)[0]


def _title(body: list[str], limit: int) -> str:
    end = 1
    if not _PAGE.match(body[0].strip()):
        while end < len(body) and wraps(body[end - 1], body[end], limit) and body[end].lstrip()[:1] not in "~/":
            end += 1
    return joined(body[:end])


def _kind(block: Block, title: str, asked: bool) -> Kind | None:
    if page := _PAGE.match(title):
        if page[1] == "Question":
            return "question"
        text = joined(block.body[1:])
        return "permission" if _MCP_TOOL.match(text) else "elicitation"
    if _APPROVAL.match(title):
        return "elicitation"
    if _ASKED_KIND.match(title):
        return "permission"
    if title.endswith("?") and _UNANSWERED.search(title):
        return "question"
    if title.endswith("?") and _PLAN.search(title):
        return "plan"
    if _TRUST.search(title) or _TRUST.search(_asked(block, title) or ""):
        return "trust"
    if asked:
        return "unknown"
    return None if _opened_by_person(block) else "startup"


def _opened_by_person(block: Block) -> bool:
    """A list that Codex itself does not call for, in a session that has begun: a menu."""
    if block.history:
        return True
    if any(_REVIEW.match(line) for line in block.body):
        return False
    return _BACK.search(block.below.footer) is not None or any(map(_BANNER.match, block.lines[: block.rows.first]))


def _read(block: Block, kind: Kind, title: str) -> Reading:
    items = block.rows.items
    page = _PAGE.match(title) is not None
    options = picking.choices(
        block.rows, block.limit, all_label=kind == "permission" and not page, columned=page or kind != "permission"
    )
    question = _asked(block, title)
    if kind == "question" and page:
        question = joined(block.body[1:]) or None
    elif _APPROVAL.match(title):
        question = joined([line for line in block.body[1:] if not _SERVER.match(line)]) or None
    elif page:
        question = _message(block)
    ticks = [row.ticked for row in items]
    multi = any(tick is not None for tick in ticks)
    return Reading(
        "waiting", kind, title, question, target_of(kind, block.lines, block.top, block.rows.first), options,
        next((n for n, row in enumerate(items) if row.cursor), None),
        tuple(n for n, tick in enumerate(ticks) if tick) if multi else None, multi,
        text_input=block.below.field or (kind == "question" and page),
        clipped=_rows_cut(block, options) or is_cut(kind, block.lines, block.top, block.rows.first),
    )  # fmt: skip


def _rows_cut(block: Block, options: tuple[ScreenOption, ...]) -> bool:
    counted = _COUNTED.search(block.below.footer)
    if counted and int(counted[1]) > len(options):
        return True
    if options and options[0].key != "1":
        return True
    return any(option.label.endswith("…") for option in options)


def _message(block: Block) -> str | None:
    """What an MCP server wrote above the name of its field."""
    runs = paragraphs(block.body[1:])
    said = runs[:-1] if len(runs) > 1 else runs
    return joined([line for run in said for line in run]) or None


def _asked(block: Block, title: str) -> str | None:
    """The sentence with the question mark, or what the page requests."""
    if title.endswith("?"):
        return title
    texts = [joined(run) for run in paragraphs(block.body)]
    for text in texts:
        end = text.find("? ") if "? " in text else (len(text) - 1 if text.endswith("?") else -1)
        if end >= 0:
            return _SENTENCE_END.split(text[: end + 1])[-1]
    return next((part for text in texts for part in _SENTENCE_END.split(text) if _REQUEST.match(part)), None)
