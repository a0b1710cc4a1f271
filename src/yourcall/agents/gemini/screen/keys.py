"""Which single key comes next in a dialog of Gemini CLI.

Rule: the dialog must be the one the person saw, letter by letter; its digit is taken from the row with the wanted
label, never assumed. Never Enter: the highlight stays where the last dialog left it. Never a second key.
"""

from __future__ import annotations

import re

from yourcall.agents.gemini.screen.box import find_box
from yourcall.agents.gemini.screen.composer import arrived, draft, typed
from yourcall.agents.gemini.screen.fill import fill
from yourcall.agents.gemini.screen.match import explain, offered
from yourcall.agents.gemini.screen.offer import KEY_BAR, MOST_ROWS, OWN_WORDS, rows
from yourcall.agents.gemini.screen.read import read_screen
from yourcall.agents.gemini.screen.stopped import stopped
from yourcall.agents.kit.text import clean, flat, titled
from yourcall.agents.screen_spec import Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Refused
from yourcall.model.screen import Reading

GONE = "The dialog is no longer on the screen; nothing was pressed."
CHANGED = "The screen shows another dialog than the one you saw; nothing was pressed."
ASTRAY = "No row is highlighted, so a key could go astray; nothing was pressed. Answer it at the desk."
IN_TEXT = "Somebody is writing into this dialog at the desk; nothing was pressed."

_HIGHLIGHT = re.compile(r"^( *)[●❯›](?= )", re.M)
_NUDGE = re.compile(r"Do you want to connect .{1,60} to Gemini CLI\?")
_QUEUE = re.compile(r"(?: {2,}|…) *(\d{1,3}) of \d{1,3}$", re.M)
_TABS = re.compile(r"←.*→")
_STATE = re.compile(r"[□✓≡]")


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it, with the pane's title in front. Of a dialog only its own box is kept."""
    title = titled(screen)
    reading = read_screen(screen, title)
    lines = clean(screen)
    while lines and not lines[0]:
        lines.pop(0)
    asks = "Action Required" in (title or "")
    if reading.state != "waiting":
        return Snapshot(reading, "\n".join(lines), asks=asks)
    box = find_box(lines, asked=asks)
    text = "\n".join(box.lines if box is not None else lines)
    return Snapshot(reading, text, f"{reading.kind}:{_identity(reading, text)}", asks)


def _identity(reading: Reading, text: str) -> str:
    """What stays the same as long as this very dialog is up. Everything in it counts, but not the highlight; a
    question's list scrolls and its boxes are ticked, so there the question counts, or the row of all of them; and
    the last row of a plan's is for somebody's own words, so there only what is above the rows counts."""
    if reading.kind == "question":
        tabs = _TABS.search(text)
        return _STATE.sub("", flat([tabs[0]])) if tabs else flat([reading.question or ""])
    plain = _HIGHLIGHT.sub(r"\1 ", text)
    if reading.kind == "plan" and reading.options:
        first = f" 1.  {reading.options[0].label}"
        return plain[: plain.rfind(first)] if first in plain else plain
    return plain


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The one digit that picks this option, or why none is pressed."""
    if now.reading.state != "waiting":
        return Refused(GONE)
    if seen.mark != now.mark or (seen.reading.kind, seen.reading.options) != (
        now.reading.kind,
        now.reading.options,
    ):
        return Refused(CHANGED)
    if seen.reading.kind == "unknown":
        return Press(option, decides=True) if option in KEY_BAR else Refused(f"There is no key {option!r} here.")
    row = next((place for place, each in rows(seen.reading) if each.id == option), None)
    at = now.reading.selected
    if row is None:
        return Refused("This option cannot be picked with a key; answer it at the desk.")
    if at is None or not 0 <= at < len(now.reading.options) or len(now.reading.options) > MOST_ROWS:
        return Refused(ASTRAY)
    if OWN_WORDS.match(now.reading.options[at].label):
        return Press("up", decides=False)  # in a row that takes text a digit would be text
    digit = now.reading.options[row].key or ""
    return Press(digit, decides=True) if re.fullmatch("[1-9]", digit) else Refused(ASTRAY)


# An Enter within 40 ms of a paste is taken for a new line in it [0.61.0]; a busy machine delays that clock.
BREATH_S = 0.5


def dismiss(shot: Snapshot) -> str:
    """The editor's nudge asks for nothing that was begun: it is closed with a plain no, and comes again."""
    asks = shot.reading.kind == "startup" and _NUDGE.search(shot.text) is not None
    no = (each.id for place, each in rows(shot.reading) if shot.reading.options[place].label == "No")
    return next(no, "") if asks else ""


def postponed(before: Snapshot, now: Snapshot) -> bool:
    """Of several calls in one message the last one is asked for first, for a moment, until all of them are known:
    then the first one takes its place, as `1 of 3`. After an answer it would be `2 of 3`."""
    number, was = (_QUEUE.search("\n".join(shot.text.split("\n")[:4])) for shot in (now, before))
    if now.reading.state != "waiting" or number is None:
        return False
    return int(number[1]) <= (int(was[1]) if was else 1)


GEMINI_SCREEN = ScreenSpec(
    read,
    offered,
    next_key,
    draft,
    typed,
    arrived,
    explain=explain,
    fill=fill,
    dismiss=dismiss,
    breath_s=BREATH_S,
    postponed=postponed,
    stopped=stopped,
)
