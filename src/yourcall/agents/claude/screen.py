"""What one screen of Claude Code says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: while the composer (`❯` and a no-break space under a rule, at the left edge) is the last thing on the screen,
nothing waits, whatever the text above it looks like. Text of the model never starts at the left edge.
"""

import re

from yourcall.agents.claude.dialog import read_dialog
from yourcall.agents.claude.lines import clean, flat, indent, is_rule
from yourcall.reading import Reading

_COMPOSER = re.compile(r"[❯>!#&]\u00a0")
_CURSOR_ROW = re.compile(r" *❯ +\d+\. ")
_SPINNER = re.compile(r"[·✢✳✶✻✽∗*] \S[^()]*…(?: \(|$)")
_DONE = re.compile(r"[·✢✳✶✻✽∗*] ")
_ERROR = re.compile(
    r"(?:[^·]{1,60} · )?API Error(?::| \(|$)|Not logged in\b|Invalid API key\b|Credit balance\b"
    r"|(?:Login|OAuth|Your session|Token)\b[^.·]{0,40}\bexpired\b|.{0,80}\bPlease run /login\b|.{0,60}\blimit reached\b"
    r"|.{0,40}\b(?:hit|reached) your\b.{0,30}\blimit\b",
    re.I,
)


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen. The pane title is no sign of state in any known version, so it is not used."""
    del title
    lines = clean(text)
    composer = _find_composer(lines)
    if composer is None:
        return read_dialog(lines) or Reading("idle")
    top, end = composer
    if _is_busy(lines, top, end):
        return Reading("working")
    return Reading("error" if _ends_in_error(lines[:top]) else "idle")


def _find_composer(lines: list[str]) -> tuple[int, int] | None:
    """The line above the composer and the line after it, if the composer is live."""
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if not _COMPOSER.match(line):
            continue
        framed = at > 0 and is_rule(lines[at - 1])
        if not framed and line[0] != "❯":
            continue
        end = at + 1
        # A draft goes on below, set in by two columns, up to the closing rule.
        while end < len(lines) and (not lines[end] or lines[end][0] == " "):
            end += 1
        if end < len(lines) and not is_rule(lines[end]):
            continue
        if any(_CURSOR_ROW.match(below) for below in lines[end:]):
            return None  # a question whose text imitates the composer
        return (at - 1 if framed else at), end
    return None


def _is_busy(lines: list[str], top: int, end: int) -> bool:
    for line in lines[end + 1 :]:
        if any(part.strip().lower().startswith("esc to interrupt") for part in line.split(" · ")):
            return True
    head = _last_head(lines[:top])
    return head is not None and bool(_SPINNER.match(lines[head]))


def _last_head(lines: list[str]) -> int | None:
    """The start of the last block: everything inside a block is set in."""
    return next((n for n in range(len(lines) - 1, -1, -1) if lines[n] and indent(lines[n]) == 0), None)


def _ends_in_error(above: list[str]) -> bool:
    """Whether the last thing said is an error line; the line that only tells how long the turn took is passed over."""
    head = _last_head(above)
    if head is not None and _DONE.match(above[head]):
        above = above[:head]
        head = _last_head(above)
    if head is None:
        return False
    block = above[head:]
    last = max((n for n, line in enumerate(block) if line.lstrip().startswith("⎿")), default=0)
    text: list[str] = []
    for line in block[last:]:
        if not line.strip():
            break
        text.append(line)
    return bool(_ERROR.match(re.sub(r"^[●⎿⏺•] *", "", flat(text))))
