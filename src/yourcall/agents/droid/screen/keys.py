"""Which single key comes next in a dialog of droid.

Rule: the dialog must be the one the person saw, letter by letter. A row with a digit is picked by it. A permission
has none: the highlight is moved one row at a time, seen to be where it should, and only then Enter is sent.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from yourcall.agents.droid.screen.offer import MANUAL, PROCEED, explain, offer, rows
from yourcall.agents.droid.screen.read import OWN_ANSWER, above_composer, composer, find_dialog, read_screen
from yourcall.agents.kit.composer import sendable, shows_all, squeezed, unescaped
from yourcall.agents.kit.dialogs import (
    ASTRAY,
    CHANGED,
    GONE,
    NO_KEY,
    TURN_STOPPED,
    digit_of,
    looked,
    other_dialog,
    pressed_key,
)
from yourcall.agents.kit.text import clean, titled
from yourcall.agents.screen_spec import Offer, Paste, PreparedText, Press, ScreenSpec, Snapshot
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Prompt, Question, Refused

# What stands in an empty input box; the second while droid works.
_HINT = re.compile(r'(?:Try|Type) ".*"$|Enter to steer · Ctrl\+Enter to queue$')
_BOX = re.compile(r" (?:>(?: |$)|( ! ?))?(.*)$")
_STOPPED = re.compile(r" {4}⎿ Interrupted$")


def read(screen: str) -> Snapshot:
    """A screen as tmux prints it, with the pane's title in front. Of a dialog only its own lines are kept."""
    dialog = find_dialog(screen)
    if dialog is None:
        return Snapshot(read_screen(screen, titled(screen)), "\n".join(clean(screen)).strip("\n"))
    text = "\n".join(dialog.lines).strip("\n")
    # A question's boxes are ticked and words are written there, so the question itself counts.
    shown = squeezed(dialog.reading.question or "") if dialog.kind == "question" else text
    return Snapshot(dialog.reading, text, f"{dialog.kind}:{shown}")


def draft(screen: str) -> str | None:
    """What is written in the input box; the hint in it is not. None: there is no input box."""
    inside = composer(clean(screen))
    if inside is None:
        return None
    match = _BOX.match(inside[0]) if inside else None
    if match is None:
        return None
    text = "\n".join([match[2], *(line.strip() for line in inside[1:])]).strip()
    if match[1]:
        return "!" + text
    return "" if _HINT.match(text) else text


def typed(text: str, as_command: bool) -> PreparedText | Refused:
    """The text as it has to be pasted so that droid takes it for a message, word by word."""
    checked = sendable(text)
    if isinstance(checked, Refused):
        return checked
    if checked.lstrip().startswith(("/", "!")) and not as_command:
        return Refused(
            "droid takes what begins with / or ! for a command. Put a word in front, or mean it: --command"
        )
    return PreparedText(unescaped(checked))


def next_key(seen: Snapshot, now: Snapshot, option: str) -> Press | Refused:
    """The one key that picks this option or brings the highlight nearer, or why none is pressed."""
    if changed := other_dialog(seen, now):
        return changed
    if seen.reading.kind == "unknown":
        return pressed_key(option)
    row = next((place for place, each in rows(now.reading) if each.id == option), None)
    if row is None or now.reading.kind == "question":
        return Refused(NO_KEY)
    if now.reading.kind != "permission":
        return digit_of(now.reading, row)
    at = now.reading.selected
    if at is None:
        # Nothing is seen to be highlighted, so only what refuses is safe: this key cancels, wherever it stands.
        return (
            Press("escape", decides=True) if now.reading.options[row].label.startswith("No") else Refused(ASTRAY)
        )
    if at == row:
        return Press("enter", decides=True)
    return Press("down" if at < row else "up", decides=False)


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The steps of this answer, each for the screen it is sent; the first `yield` only asks for a screen."""
    now = yield None
    if prompt.kind == "question":
        return (yield from _questions(prompt, answer, now))
    options = chosen(prompt, answer)
    if now.reading.kind != prompt.kind or len(options) != 1:
        return Refused(GONE)
    if prompt.kind == "plan" and options[0].label == PROCEED:
        return (yield from _approve(now))
    while True:
        row = next((n for n, each in enumerate(now.reading.options) if each.label == options[0].label), None)
        if row is None or now.reading.kind != prompt.kind:
            return Refused(CHANGED)
        step = digit_of(now.reading, row) if now.reading.options[row].key else _towards(now, row)
        if isinstance(step, Refused):
            return step
        if step.decides:
            yield step
            return None
        before = now.reading.selected
        now = yield step
        now = yield from looked(now, lambda shot, was=before: shot.reading.selected != was)


def _towards(now: Snapshot, row: int) -> Press | Refused:
    at = now.reading.selected
    if at is None:
        return Refused(ASTRAY)
    return Press("enter", decides=True) if at == row else Press("down" if at < row else "up", decides=False)


def _approve(now: Snapshot) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """Two pages: the plan, and how much is asked for from then on."""
    place = _place(now, PROCEED)
    if place is not None:
        step = digit_of(now.reading, place)
        if isinstance(step, Refused):
            return step
        now = yield Press(step.key, decides=False)
        now = yield from looked(now, lambda shot: _place(shot, MANUAL) is not None)
    place = _place(now, MANUAL)
    if place is None:
        return Refused(CHANGED)
    last = digit_of(now.reading, place)
    if isinstance(last, Refused):
        return last
    yield last
    return None


def _place(now: Snapshot, label: str) -> int | None:
    if now.reading.kind != "plan":
        return None
    return next((n for n, each in enumerate(now.reading.options) if each.label == label), None)


def _questions(
    prompt: Prompt, answer: Answer, now: Snapshot
) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """One digit for each question. Several at once, and words of one's own, are for the desk."""
    picked = [_picked(question, answer) for question in prompt.questions]
    if None in picked or any(answer.texts.values()) or any(each.multi_select for each in prompt.questions):
        return Refused("Pick one option of each question; words of your own, and boxes, are for the desk.")
    for number, (question, place) in enumerate(zip(prompt.questions, picked, strict=True)):
        now = yield from looked(now, lambda shot, asked=question: _is_up(shot, asked))
        if not _is_up(now, question) or place is None:
            return Refused(CHANGED if now.reading.state == "waiting" else GONE)
        step = digit_of(now.reading, place)
        if isinstance(step, Refused):
            return step
        now = yield Press(step.key, decides=number == len(prompt.questions) - 1)
    return None


def _picked(question: Question, answer: Answer) -> int | None:
    ids = answer.choices.get(question.id, ())
    found = [n for n, option in enumerate(question.options) if option.id in ids]
    return found[0] if len(found) == 1 else None


def _is_up(now: Snapshot, question: Question) -> bool:
    if now.reading.kind != "question" or squeezed(now.reading.question or "") != squeezed(question.text):
        return False
    shown = [squeezed(each.label) for each in now.reading.options if each.label != OWN_ANSWER]
    return shown == [squeezed(option.label) for option in question.options]


def stopped(shot: Snapshot) -> Offer | None:
    """The last thing is a call that was refused: the turn is over, and no hook tells of it."""
    if shot.reading.state != "idle":
        return None
    above = above_composer(clean(shot.text))
    return TURN_STOPPED if above and _STOPPED.match(above[-1]) else None


DROID_SCREEN = ScreenSpec(
    read, offer, next_key, draft, typed, shows_all, explain=explain, fill=fill, breath_s=0.5, stopped=stopped
)
