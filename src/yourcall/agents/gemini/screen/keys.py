"""Which single key comes next in a dialog of Gemini CLI.

Rule: the dialog must be the one the person saw, letter by letter; its digit is taken from the row with the wanted
label, never assumed. Never Enter: the highlight stays where the last dialog left it. Never a second key.
"""

from __future__ import annotations

import re

from yourcall.agents.gemini.screen.box import find_box
from yourcall.agents.gemini.screen.fill import fill
from yourcall.agents.gemini.screen.match import explain, offered
from yourcall.agents.gemini.screen.offer import OWN_WORDS, rows
from yourcall.agents.gemini.screen.read import read_screen, stopped
from yourcall.agents.kit.composer import sendable, shows_all, unescaped
from yourcall.agents.kit.dialogs import ASTRAY, MOST_ROWS, NO_KEY, digit_of, other_dialog, pressed_key
from yourcall.agents.kit.text import clean, flat, titled
from yourcall.agents.screen_spec import PreparedText, Press, ScreenSpec, Snapshot
from yourcall.model.prompts import Refused
from yourcall.model.screen import Reading

_RULE = re.compile(r"─{8,}$|▀{8,}$")
_LOWER = re.compile(r"▄{8,}$")
_BOX = re.compile(r" ?([>*!$]) (.*)$")
_HINT = re.compile(r" {2}\S")  # the cursor, and a space, stand before it
_FOLDED = re.compile(r"\[Pasted Text: (\d+) (lines|chars)(?: #\d+)?\]")
ENOUGH_SEEN = 60


def draft(screen: str) -> str | None:
    """What is written in the input box; the hint in it is not. None: there is no input box."""
    if read_screen(screen, titled(screen)).state == "waiting":
        return None
    lines = clean(screen)
    rule = next((n for n in range(len(lines) - 1, -1, -1) if _RULE.match(lines[n])), None)
    if rule is None:
        return None
    at = next((n for n in range(rule + 1, len(lines)) if _BOX.match(lines[n])), None)
    match = _BOX.match(lines[at]) if at is not None else None
    if at is None or match is None:
        return None
    end = next((n for n in range(at, len(lines)) if _LOWER.match(lines[n])), None)
    if end is None:
        # The lines of the footer stand below the last empty line.
        end = next((n for n in range(len(lines) - 1, at, -1) if not lines[n]), len(lines))
    if match[1] in ">*" and (not match[2].strip() or (_HINT.match(match[2]) and end == at + 1)):
        return ""
    text = "\n".join([match[2].strip(), *(line.strip() for line in lines[at + 1 : end])]).strip()
    return text if match[1] in ">*" else match[1] + text


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that Gemini CLI takes it for a message, word by word."""
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    text = checked
    if text.lstrip().startswith("/") and not as_command:
        return Refused(
            "Gemini CLI takes what begins with / for a command. Put a word in front, or mean it: --command"
        )
    note = "tabs arrive as four spaces" if "\t" in text else ""
    return PreparedText(unescaped(text), note=note)


def arrived(draft: str, sent: PreparedText) -> bool:
    """Is what lies in the input box what was pasted, and nothing else? Wraps and new lines look the same there."""
    piece = _FOLDED.fullmatch(draft)
    if piece is not None:
        count = sent.paste.count("\n") + 1 if piece[2] == "lines" else len(sent.paste)
        return int(piece[1]) == count
    return shows_all(draft, sent)


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
    if changed := other_dialog(seen, now):
        return changed
    if seen.reading.kind == "unknown":
        return pressed_key(option)
    row = next((place for place, each in rows(seen.reading) if each.id == option), None)
    at = now.reading.selected
    if row is None:
        return Refused(NO_KEY)
    if at is None or not 0 <= at < len(now.reading.options) or len(now.reading.options) > MOST_ROWS:
        return Refused(ASTRAY)
    if OWN_WORDS.match(now.reading.options[at].label):
        return Press("up", decides=False)  # in a row that takes text a digit would be text
    return digit_of(now.reading, row)


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
