"""What one screen of Codex says: is it waiting for a person, busy, stopped by an error, or ready?

The rule: a dialog stands where the composer would be, so it is the last thing on the screen, down to its line of
keys. Where the composer and its status line are last, nothing waits, whatever the text above looks like.
"""

import re

from yourcall.agents.codex.screen.dialog import read_dialog
from yourcall.agents.codex.screen.rows import is_head, names_keys
from yourcall.agents.kit.text import clean, indent
from yourcall.model.screen import Reading

_COMPOSER = re.compile(r"[›!❯](?: |$)")
_PICKED = re.compile(r"[›❯] +\d{1,2}\. ")  # the highlighted row of a menu
_STATUS = re.compile(r" {1,3}[^\s·|].* · ")
_SPINNER = re.compile(r"[⠀-⣿]")
_ACTION = re.compile(r"\[ .? ?\] Action Required\b")
_BUSY = re.compile(r"\S .+ ?\((?:\d+h )?(?:\d+m )?\d+s\b.*\besc to interrupt\)")
_TOOK = re.compile(r" *(?:─+ )?Worked for ")
_INTERRUPTED = re.compile(r"■ (?:Conversation|Turn|Task|Request)? ?(?:was )?interrupted\b", re.I)


def read_screen(text: str, title: str | None = None) -> Reading:
    """Read one captured screen; the pane title tells a request from a menu, and work from rest."""
    lines = clean(text)
    title = (title or "").strip()
    composer = _find_composer(lines)
    if composer is None:
        reading = read_dialog(lines, asked=_ACTION.match(title) is not None)
        if reading is not None:
            return reading
        composer = _bare_composer(lines)
    above = lines[:composer] if composer is not None else lines
    if _SPINNER.match(title) or _is_busy(above):
        return Reading("working")
    return Reading("error" if composer is not None and _ends_in_error(above) else "idle")


def find_composer(lines: list[str]) -> tuple[int, int] | None:
    """Where the draft begins and ends, if there is a live composer (lines without colours)."""
    at = _find_composer(lines)
    if at is None and read_dialog(lines, asked=False) is None:
        at = _bare_composer(lines)
    if at is None or _PICKED.match(lines[at]):
        return None
    below = [n for n in range(at + 1, len(lines)) if _STATUS.match(lines[n]) and not lines[n - 1]]
    return at, below[-1] if below else len(lines)


def _find_composer(lines: list[str]) -> int | None:
    """The line of the composer, if it is live: below it the draft, a blank line, the status line, the hints."""
    shown = [n for n in range(max(len(lines) - 4, 0), len(lines)) if lines[n]][-2:]
    status = next((n for n in shown if _STATUS.match(lines[n]) and not _only_keys(lines[n])), None)
    if status is None or status < 2 or lines[status - 1]:
        return None
    at = next((n for n in range(status - 1, -1, -1) if lines[n] and not indent(lines[n])), None)
    return at if at is not None and _COMPOSER.match(lines[at]) else None


def _bare_composer(lines: list[str]) -> int | None:
    """The composer where the person has turned the status line off: the last thing at the left edge."""
    at = next((n for n in range(len(lines) - 1, -1, -1) if lines[n] and not indent(lines[n])), None)
    return at if at is not None and _COMPOSER.match(lines[at]) else None


def _only_keys(line: str) -> bool:
    """A dialog's line of keys: every part names one."""
    return all(names_keys(part) for part in line.split(" · "))


def _last_head(lines: list[str]) -> int | None:
    return next((n for n in range(len(lines) - 1, -1, -1) if is_head(lines[n])), None)


def _is_busy(above: list[str]) -> bool:
    head = _last_head(above)
    return head is not None and bool(_BUSY.match(above[head])) and not any(map(_TOOK.match, above[head:]))


def _ends_in_error(above: list[str]) -> bool:
    head = _last_head(above)
    return head is not None and above[head].startswith("■") and not _INTERRUPTED.match(above[head])
