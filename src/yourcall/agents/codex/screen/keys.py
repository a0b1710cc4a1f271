"""Which single key comes next in a dialog of Codex's, and how a text is made safe for its input box.

Rule: the dialog must be the one the person saw, whole. A digit is taken from the row with the wanted label, never
assumed: `2` is "always" in one dialog and "no" in the next. Enter is only ever chosen while the wanted row is seen
to be highlighted, and never follows a digit: it would confirm the dialog behind.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from yourcall.agents.codex.call_marks import of_dialog
from yourcall.agents.codex.hooks import explain
from yourcall.agents.codex.screen.dialog import field_open
from yourcall.agents.codex.screen.offer import by_highlight, offer, rows
from yourcall.agents.codex.screen.read import find_composer, read_screen
from yourcall.agents.kit.composer import sendable, shows_all
from yourcall.agents.kit.dialogs import ASTRAY, NO_KEY, other_reading, pressed_key
from yourcall.agents.kit.text import clean, styled, titled
from yourcall.agents.screen_spec import PreparedText, Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Refused
from yourcall.model.screen import Reading

_WRITING = "Somebody is writing into this dialog at the desk; nothing was pressed."


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it, with or without colours; the pane's title, if it is there, comes first."""
    lines = clean(screen)
    while lines and not lines[0]:
        lines.pop(0)
    reading = read_screen(screen, titled(screen))
    return Snapshot(reading, "\n".join(lines), _mark(reading))


# A page of questions or of a form counts what is unanswered, and counts anew when the highlight moves.
_COUNTED = re.compile(r"((?:Question|Field) \d+/\d+) \(.*\)")


def _name(reading: Reading) -> str | None:
    counted = _COUNTED.fullmatch(reading.title or "")
    return counted[1] if counted else reading.title


def _mark(reading: Reading) -> str:
    """What stays the same of a page while its highlight moves."""
    if not re.match(r"(?:Question|Field) \d", reading.title or ""):
        return ""
    page = replace(reading, title=_name(reading), selected=None, checked=None)
    return msgspec.json.encode(page).decode()


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The key that brings the dialog one step nearer to this option, or why none is pressed."""
    wrong = changed(seen, now)
    if wrong is not None:
        return wrong
    if seen.reading.kind == "unknown":
        return pressed_key(option)
    row = next((place for place, each in rows(seen.reading) if each.id == option), None)
    at = now.reading.selected
    if row is None:
        return Refused(NO_KEY)
    if at is None or not 0 <= at < len(now.reading.options):
        return Refused(ASTRAY)
    digit = now.reading.options[row].key or ""
    if re.fullmatch("[1-9]", digit) and not by_highlight(now.reading):
        return Refused(_WRITING) if field_open(now.text) else Press(digit, decides=True)
    if at == row:
        return Press("enter", decides=True)
    return Press("down" if at < row else "up", decides=False)


def changed(seen: Snapshot, now: Snapshot) -> Refused | None:
    """Why this is not the dialog that was seen. Only the highlight may have moved."""
    clipped = now.reading.clipped and not seen.reading.clipped
    return other_reading(seen, now, clipped=clipped, name=_name)


# --- the input box ------------------------------------------------------------------------------------------

_MENTION = re.compile(r"(?:^|\s)[@$/]\S*$")
_FOLDED = re.compile(r"\[Pasted Content (\d+) chars\]")
ENOUGH_SEEN = 60


def draft(screen: str) -> str | None:
    """What is written in the input box; a greyed hint in it is not. None: there is no input box."""
    cells = styled(screen)
    plain = ["".join(char for char, _ in line).rstrip(" ") for line in cells]
    while plain and not plain[-1]:
        plain.pop()
    match = find_composer(plain)
    if match is None:
        return None
    at, end = match
    inside = [cell for line in cells[at:end] for cell in [*line[2:], ("\n", "")]]
    text = "".join(char for char, style in inside if style != "dim").strip()
    return text if plain[at][:1] == "›" else plain[at][:1] + text


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that Codex takes it for a message, word by word."""
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    text = checked
    if as_command:
        return PreparedText(text)
    begins = text.lstrip()[:1]
    if begins == "!":
        return Refused("Codex runs what begins with ! in your shell; begin with another word.")
    # A name that is being written opens a list, and Enter would pick from it instead of sending.
    end = " " if _MENTION.search(text) else ""
    if begins == "/":
        return PreparedText(f" {text.lstrip()}{end}", note="with a space in front, so that it is no command")
    return PreparedText(text + end)


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        return int(piece[1]) == len(sent.paste)
    return shows_all(draft, sent)


CODEX_SCREEN = ScreenSpec(
    read,
    offer,
    next_key,
    draft,
    typed,
    arrived,
    explain,
    recorded=False,
    call=lambda shot: of_dialog(shot.reading),
)
