"""Where the live dialog of a Claude Code screen lies: the last block, hung from the last full rule.

No dialog is found where a person opened a menu, where the CLI has left, or where only text looks like one.
"""

import re
from typing import NamedTuple

from yourcall.agents.claude import rows as picking
from yourcall.agents.claude.lines import indent, is_edge, is_rule
from yourcall.agents.claude.rows import Rows

CHIP = re.compile(r"\s*[☐☒☑✔✓]\s+(\S.*)$")
KEY_HINT = re.compile(
    r"\b(?:esc|enter|tab|space|return|backspace|ctrl\+\w|shift\+tab|arrow keys?|↑/↓|←/→) to \w|\bpress enter\b", re.I
)
_SHELL = re.compile(r"(?:\S.*)?[$#%➜❯]$|[$#%➜❯] +\S|[\w.-]+@[\w.-]+[: ].*[$#%>]")
_PICK_RANGE = re.compile(r"\[1-(\d+)\]")
_SPOKEN_TURN = re.compile(r"[a-z]+: ")
_COMMAND_ECHO = re.compile(r"[❯>] /\w")


class Block(NamedTuple):
    """The lines of one dialog and where its parts lie."""

    lines: list[str]
    top: int  # line of the rule above it; -1 if that has scrolled off
    limit: int  # column where its text wraps
    rows: Rows
    spoken: bool = False  # screen reader mode: no rules, no cursor

    @property
    def body(self) -> list[str]:
        """Everything above the rows."""
        return self.lines[self.top + 1 : self.rows.first]

    @property
    def footer(self) -> str:
        return " ".join(self.lines[self.rows.end :])


def find_block(lines: list[str]) -> Block | None:
    """The dialog that stands where the composer would be."""
    rules = [n for n, line in enumerate(lines) if is_rule(line)]
    dashed = [line for line in lines if is_rule(line, "╌")]
    width = max((len(line) for line in [*(lines[n] for n in rules), *dashed]), default=80)
    rows = picking.numbered(lines, width)
    if rows is not None and not any(row.cursor for row in rows.items):
        count = sum(row.key is not None for row in rows.items)
        spoken = _PICK_RANGE.search(" ".join(lines[rows.end :]))
        if spoken and int(spoken[1]) == count:
            return Block(lines, _spoken_top(lines, rows.first), width, rows, True)
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
    if rows.end < len(lines) and indent(lines[-1]) == 0 and _SHELL.match(lines[-1]):
        return None  # a shell prompt under a dead dialog: the CLI has left
    return Block(lines, top, len(lines[top]) if top >= 0 else width, rows)


def _top(lines: list[str], rules: list[int], rows: Rows) -> int:
    """The rule a dialog hangs from: the lowest one above its rows, or the first under a raised edge."""
    if not rules:
        return -1
    edge = max((n for n, line in enumerate(lines[: rows.first]) if is_edge(line)), default=-1)
    under = [n for n in rules if n > edge]
    if edge >= 0 and under:
        return under[0]
    level = [n for n in rules if indent(lines[n]) == 0]
    if not level:
        return -1
    if not asks(rows) or starts_question(lines[level[-1] + 1]):
        return level[-1]
    # The text of a question may hold rules of its own, but not one with a chip or tabs right under it.
    return next((n for n in reversed(level) if starts_question(lines[n + 1])), -1)


def asks(rows: Rows) -> bool:
    """Only the agent's own questions have check boxes, a preview, or a row set off by a rule."""
    return rows.crossed or rows.side_box or any(row.ticked is not None for row in rows.items)


def starts_question(line: str) -> bool:
    return line.startswith("←") or CHIP.match(line) is not None


def _without_rows(lines: list[str], lowest: int) -> Rows | None:
    """A dialog with nothing to pick still says which key it wants."""
    body = [line for line in lines[lowest + 1 :] if line]
    if len(body) < 2 or not KEY_HINT.search(" ".join(body[-2:])):
        return None
    return Rows([], len(lines), len(lines))


def _spoken_top(lines: list[str], first: int) -> int:
    """In screen reader mode the dialog follows the last line of the conversation or the status line."""
    return next((n for n in range(first - 1, -1, -1) if _SPOKEN_TURN.match(lines[n]) or lines[n].endswith("…")), -1)


def opened_by_command(block: Block) -> bool:
    """The line above the dialog is a slash command the person just gave."""
    above = next((line for line in reversed(block.lines[: max(block.top, 0)]) if line.strip()), "")
    return _COMMAND_ECHO.match(above) is not None
