"""What one screen of Claude Code says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: while the composer (`❯` and a no-break space under a rule, at the left edge) is the last thing on the
screen, nothing waits, whatever the text above it looks like. Text of the model never starts at the left edge.
"""

import re

from yourcall.agents.claude.screen.dialog import read_dialog
from yourcall.agents.claude.screen.rows import is_rule
from yourcall.agents.claude.screen.screen_reader import read_spoken
from yourcall.agents.kit.text import clean, flat, indent, paragraphs
from yourcall.model.screen import Reading

_COMPOSER = re.compile(r"[❯>!#&]\u00a0")
_CURSOR_ROW = re.compile(r" *❯ +\d+\. ")
_SPINNER = re.compile(r"[·✢✳✶✻✽∗*] \S[^()]*…(?: \(|$)")
_TRANSCRIPT = re.compile(r"(dialog waiting · )?Showing detailed\b")
_UNFINISHED = re.compile(r"  ⎿\s+(?:Running|Waiting)…|  +\(?ctrl\+b .*to run in background\)?$")
_INSTRUCTION = re.compile(r"[❯>] (?!/)\S")
_MOST_FOOTER_LINES = 3
_DONE = re.compile(r"[·✢✳✶✻✽∗*] ")
_API_ERROR = re.compile(r"(?:[^·]{1,60} · )?API Error(?::| \(|$)")
# A line of the CLI itself in the place of an answer; the model cannot write one.
_FAILURE = re.compile(
    r"Not logged in\b|Invalid API key\b|Credit balance\b|Prompt is too long\b|Request (?:too large|timed out)\b"
    r"|(?:Login|OAuth|Your session|Token)\b[^.·]{0,40}\bexpired\b|.{0,80}\bPlease run /login\b"
    r"|.{0,60}\blimit reached\b|.{0,40}\b(?:hit|reached) your\b.{0,30}\blimit\b",
    re.I,
)


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen. The pane title is no sign of state in any known version, so it is not used."""
    del title
    lines = clean(text)
    composer = _find_composer(lines)
    if composer is None:
        return _read_transcript(lines) or read_dialog(lines) or read_spoken(lines) or _read_elsewhere(lines)
    top, end = composer
    if _is_busy(lines, top, end):
        return Reading("working")
    return Reading("error" if _ends_in_error(lines[:top]) else "idle")


def _read_transcript(lines: list[str]) -> Reading | None:
    """The whole transcript (ctrl+o), which ends in a rule and a line that says so: every dialog above is history.

    Newer versions say here that a dialog waits behind it. Older ones do not: their call looks unfinished.
    """
    rule = max((n for n, line in enumerate(lines) if is_rule(line) and not indent(line)), default=len(lines))
    footer = lines[rule + 1 :]
    if len(footer) > _MOST_FOOTER_LINES or not all(indent(line) for line in footer):
        return None
    match = _TRANSCRIPT.match(flat(footer))
    if match is None or any(_CURSOR_ROW.match(line) for line in footer):
        return None
    if match[1]:
        return Reading("waiting", "unknown", clipped=True)
    above = lines[:rule]
    if _is_unfinished(above):
        return Reading("working")
    return Reading("error" if _ends_in_error(above) else "idle")


def _is_unfinished(above: list[str]) -> bool:
    """The last thing in the transcript is a call without a result, or an instruction without an answer."""
    head = _last_head(above)
    if head is None:
        return False
    block = [line for line in above[head:] if line]
    answered = any(line.startswith("  ⎿") for line in block)
    return bool(_UNFINISHED.match(block[-1])) or (not answered and bool(_INSTRUCTION.match(block[0])))


def _read_elsewhere(lines: list[str]) -> Reading:
    """No composer and no dialog: a menu or a shell."""
    # In screen reader mode the composer is a bare `$` under the status line.
    return Reading("working" if _offers_interrupt(lines[-3:]) else "idle")


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


def _offers_interrupt(footer: list[str]) -> bool:
    parts = (part.strip().lower() for line in footer for part in line.split(" · "))
    return any(part.startswith("esc to int") for part in parts)


def _is_busy(lines: list[str], top: int, end: int) -> bool:
    if _offers_interrupt(lines[end + 1 :]):
        return True
    head = _last_head(lines[:top])
    return head is not None and bool(_SPINNER.match(lines[head]))


def _last_head(lines: list[str]) -> int | None:
    """The start of the last block: everything inside a block is set in."""
    return next((n for n in range(len(lines) - 1, -1, -1) if lines[n] and indent(lines[n]) == 0), None)


def _ends_in_error(above: list[str]) -> bool:
    """Whether the last thing said is an error line; a line on how long the turn took does not count."""
    head = _last_head(above)
    if head is not None and _DONE.match(above[head]):
        above = above[:head]
        head = _last_head(above)
    if head is None:
        return False
    block = above[head:]
    last = max((n for n, line in enumerate(block) if line.lstrip().startswith("⎿")), default=0)
    text = flat(paragraphs(block[last:])[0])
    wording = text.lstrip("●⎿⏺ ")
    return bool(_API_ERROR.match(wording) or (text[0] == "⎿" and _FAILURE.match(wording)))
