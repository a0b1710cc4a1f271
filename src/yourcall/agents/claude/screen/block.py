"""Where the live dialog of a Claude Code screen lies: the last block, hung from the last full rule.

No dialog is found where a person opened a menu, where the CLI has left, or where only text looks like one.
"""

import re
from typing import NamedTuple

from yourcall.agents.claude.screen import rows as picking
from yourcall.agents.claude.screen.rows import Rows, is_edge, is_rule
from yourcall.agents.kit.text import indent, paragraphs

CHIP = re.compile(r"\s*[☐☒☑✔✓]\s+(\S.*)$")
_KEY_HINT = re.compile(
    r"\b(?:esc|enter|tab|space|return|backspace|ctrl\+\w|shift\+tab|arrow keys?|↑/↓|←/→) to \w|\bpress enter\b",
    re.I,
)
SHELL = re.compile(r"(?:\S.*)?[$#%➜❯]$|[$#%➜❯] +\S|[\w.-]+@[\w.-]+[: ].*[$#%>]")
_LEAVE = re.compile(r"\besc to (?:exit|close|go back|clear)\b", re.I)
# Menus also open without a command above them: by a key, or with the command scrolled off.
_MENU = re.compile(
    r"(?:Select (?:a )?model|Resume (?:a )?(?:session|conversation)|Rewind|Theme|Memory|Hooks|Agents|Permissions"
    r"|Help|Skills|Plugins|Manage MCP servers|Export conversation|Preferred output style|Background tasks"
    r"|Settings:? +Status)\b",
    re.I,
)
_BOX_TOP = re.compile(r"╭─+╮$")
_BOX_END = re.compile(r"╰─+╯$")
_ECHO = re.compile(r"[❯>] \S")


class Block(NamedTuple):
    """The lines of one dialog and where its parts lie."""

    lines: list[str]
    top: int  # line of the rule above it; -1 if that has scrolled off
    limit: int  # column where its text wraps
    rows: Rows

    @property
    def body(self) -> list[str]:
        """Everything above the rows."""
        return self.lines[self.top + 1 : self.rows.first]

    @property
    def footer(self) -> str:
        return " ".join(self.lines[self.rows.end :])


def find_block(lines: list[str]) -> Block | None:
    """The dialog that stands where the composer would be."""
    lines = _unboxed(lines)
    rules = [n for n, line in enumerate(lines) if is_rule(line)]
    dashed = [line for line in lines if is_rule(line, "╌")]
    width = max((len(line) for line in [*(lines[n] for n in rules), *dashed]), default=80)
    rows = picking.numbered(lines, width)
    if rows is not None and not any(row.cursor for row in rows.items) and not asks(rows):
        rows = None
    if rows is None:
        lowest = rules[-1] if rules else -1
        rows = picking.buttons(lines, lowest) or picking.level_with_cursor(lines, lowest, width)
        if rows is None:
            rows = _without_rows(lines, lowest)
        if rows is None or lowest < 0:
            return None
    top = _top(lines, [n for n in rules if n < rows.first], rows)
    edge = max((n for n, line in enumerate(lines[: rows.first]) if is_edge(line)), default=-1)
    if edge > top:
        return None  # a sheet without a rule under its edge is a menu the person opened
    if _has_left(lines, rows):
        return None
    return Block(lines, top, len(lines[top]) if top >= 0 else width, rows)


def _has_left(lines: list[str], rows: Rows) -> bool:
    """A shell prompt under the dialog: the CLI is gone and the dialog is dead."""
    return rows.end < len(lines) and indent(lines[-1]) == 0 and SHELL.match(lines[-1]) is not None


def _unboxed(lines: list[str]) -> list[str]:
    """Older start-up dialogs stand in a box at the end of the screen; drawn as if hung from a rule."""
    end = max((n for n in range(len(lines) - 4, len(lines)) if n >= 0 and _BOX_END.match(lines[n])), default=-1)
    top = max((n for n in range(end) if _BOX_TOP.match(lines[n])), default=-1)
    inside = lines[top + 1 : end]
    if top < 0 or not all(line[0:1] == line[-1:] == "│" for line in inside):
        return lines
    inside = [line[1:-1].rstrip() for line in inside]
    return [*lines[:top], "─" * len(lines[top]), *inside, "", *lines[end + 1 :]]


def _top(lines: list[str], rules: list[int], rows: Rows) -> int:
    """The rule a dialog hangs from: the lowest one above its rows, or the first under a raised edge."""
    if not rules:
        return -1
    edge = max((n for n, line in enumerate(lines[: rows.first]) if is_edge(line)), default=-1)
    under = [n for n in rules if n > edge]
    if edge >= 0 and under:
        return under[0]
    level = [n for n in rules if indent(lines[n]) == 0]
    while level and _goes_on(lines, level[-1]):
        level.pop()
    if not level:
        return -1
    if not asks(rows) or starts_question(lines[level[-1] + 1]):
        return level[-1]
    # The text of a question may hold rules of its own, but not one with a chip or tabs right under it.
    chip = next((n for n in reversed(level) if starts_question(lines[n + 1])), -1)
    talk = any(_ECHO.match(line) or line[:1] in ("●", "⏺") for line in lines[: level[-1]])
    return level[-1] if chip < 0 and talk else chip


def _goes_on(lines: list[str], rule: int) -> bool:
    """A rule right under a framed text, or under a text that scrolls, parts one dialog; it does not start one."""
    above = next((lines[n] for n in range(rule - 1, -1, -1) if lines[n]), "")
    return is_rule(above, "╌") or above.endswith(" ↓")


def asks(rows: Rows) -> bool:
    """Only the agent's own questions have check boxes, a preview, a row set off by a rule, or an open last row."""
    boxes = any(row.ticked is not None for row in rows.items)
    return rows.crossed or rows.side_box or boxes or any(row.text == "Type something." for row in rows.items)


def starts_question(line: str) -> bool:
    return line.startswith("←") or CHIP.match(line) is not None


def _without_rows(lines: list[str], lowest: int) -> Rows | None:
    """A dialog with nothing to pick still says which key it wants."""
    runs = paragraphs(lines[lowest + 1 :])
    if len(runs) < 2 or not _KEY_HINT.search(" ".join(runs[-1])):
        return None
    return Rows([], len(lines), len(lines))


def opened_by_person(block: Block, title: str | None) -> bool:
    """A menu: a slash command was just given, the footer offers to leave, not to cancel, or its name is known."""
    if _LEAVE.search(block.footer) or _MENU.match(title or ""):
        return True
    for line in reversed(block.lines[: max(block.top, 0)]):
        if _ECHO.match(line):
            return line[2] == "/"
        if line.lstrip()[:1] in ("●", "⏺", "⎿"):
            return False  # something has answered since
    return False
