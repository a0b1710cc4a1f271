"""What one screen of aider says: does it ask something, or take an instruction?

Rule: the last line tells; aider is a plain dialogue, and everything above is history. What it asks about stands in
inverse video right above the question, so a text without its escapes does not say what that is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yourcall.agents.kit.text import clean, flat, styled
from yourcall.model.screen import Kind, Reading, ScreenOption

# `(Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]: `, and what is typed there. A narrow window wraps it.
_ASKS = re.compile(
    r"(?P<question>\S.*\?) (?P<rows>\(Y\)es/\(N\)o(?:/\([ASD]\)[A-Za-z' ]+)*) \[(?:Yes|No)\]:"
    r"(?P<typed> [A-Za-z' ]{0,40})?"
)
_PROMPT = re.compile(r"(?:(?:\w+ )?\w+)?> ?(?P<draft>.*)$")
_RULE = re.compile(r"─{20,}$")
_SPENT = re.compile(r"Tokens: \S+ sent, .*received\.")
_MOST_LINES = 5

LABELS = {"Y": "Yes", "N": "No", "A": "All", "S": "Skip all", "D": "Don't ask again"}
PERMISSIONS = (
    "Run shell command",
    "Create new file",
    "Allow edits to file",
    "Add file to the chat",
    "Add URL to the chat",
    "Add command output to the chat",
    "Edit the files",
)


class Asked(NamedTuple):
    """`typed`: what stands behind the question. `subject`: what it is about; `whole`: all of it is there."""

    question: str
    rows: tuple[str, ...]
    typed: str
    subject: tuple[str, ...]
    whole: bool


def find_question(screen: str) -> Asked | None:
    """The question that waits, or None."""
    lines = clean(screen)
    for count in range(1, min(_MOST_LINES, len(lines)) + 1):
        # A narrow window cuts it anywhere; the blank at such a place is lost.
        match = _ASKS.fullmatch("".join(lines[-count:])) or _ASKS.fullmatch(flat(lines[-count:]))
        if match is None:
            continue
        subject, whole = _subject(screen, lines, len(lines) - count)
        names = tuple(LABELS[letter] for letter in re.findall(r"\(([A-Z])\)", match["rows"]))
        return Asked(match["question"], names, (match["typed"] or "").strip(), subject, whole)
    return None


def _subject(screen: str, lines: list[str], end: int) -> tuple[tuple[str, ...], bool]:
    """The lines in inverse video right above the question; without escapes there are none."""
    drawn = styled(screen)
    at = end
    while at > 0 and at <= len(drawn) and _inverse(drawn[at - 1]):
        at -= 1
    # Above it stands what the turn has cost, or an earlier question: else its top may be out of sight.
    return tuple(lines[at:end]), 0 < at < end


def _inverse(cells: list[tuple[str, str]]) -> bool:
    shown = [style for char, style in cells if not char.isspace()]
    return bool(shown) and all(style == "cursor" for style in shown)


def composer(lines: list[str]) -> str | None:
    """What is written where aider takes an instruction; None: it takes none. The mode stands before the `>`."""
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), None)
    if rule is None or rule + 1 >= len(lines):
        return None
    match = _PROMPT.match(lines[rule + 1])
    if match is None:
        return None
    rest = lines[rule + 2 :]
    if any(_SPENT.match(line) or _ASKS.fullmatch(line) for line in rest):
        return None  # the turn that followed is on the screen
    return "\n".join([match["draft"], *rest]).strip()


def read_screen(text: str, _title: str | None = None) -> Reading:
    """Read one captured screen; aider leaves the pane's title alone."""
    asked = find_question(text)
    if asked is None:
        # Its model answers, or it has left: in either case it takes no instruction.
        return Reading("idle" if composer(clean(text)) is not None else "working")
    permission = asked.question.startswith(PERMISSIONS)
    kind: Kind = "permission" if permission else "startup"
    return Reading(
        "waiting",
        kind,
        asked.question,
        asked.question,
        "\n".join(asked.subject) or None,
        tuple(ScreenOption(None, name) for name in asked.rows),
        text_input=True,
        clipped=permission and not asked.whole,
    )
