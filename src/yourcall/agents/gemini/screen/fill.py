"""An answer that takes several keys: questions of the model (`ask_user`) and feedback to a plan.

Rule: one key, then a look. A row is picked by the digit that stands before its label; a text is pasted, seen
in its field, and only then sent. What does not look as it should ends the filling, and nothing more is pressed.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from yourcall.agents.gemini.screen.match import PLAN_FEEDBACK
from yourcall.agents.gemini.screen.offer import OWN_WORDS, own_row
from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.dialogs import DECISION, looked
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Prompt, Question, Refused

MOST_MOVES = 24  # rows of a list, twice around
MOST_LETTERS = 80  # longer words than this are not taken out one by one
_GONE = "The dialog is no longer on the screen; nothing more was pressed."
_CHANGED = "The dialog does not look as it should; nothing more was pressed. See to it at the desk."
_NO_ROW = "The row could not be found in the list; nothing more was pressed. Answer it at the desk."
_NO_TEXT = "The text did not appear in its field; nothing was sent. See to it at the desk."
_REVIEW = re.compile(r"Review your answers")
_SUBMITS = re.compile(r"Enter to submit")
_UNANSWERED = re.compile(r"\bunanswered\b")


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The steps of this answer, each for the screen it is sent; the first `yield` only asks for a screen."""
    now = yield None
    if prompt.kind == "plan":
        return (yield from _plan(prompt, answer, now))
    several = len(prompt.questions) > 1
    for question in prompt.questions:
        now = yield from looked(now, lambda shot, asked=question: _is_up(shot, asked))
        if not _is_up(now, question):
            return Refused(_CHANGED if now.reading.state == "waiting" else _GONE)
        now = yield from _question(question, answer, now, last=not several)
        if isinstance(now, Refused):
            return now
    if several:
        now = yield from looked(now, _is_whole)
        if not _is_whole(now):
            return Refused(_CHANGED)
        yield Press("enter", decides=True)
    return None


def _is_whole(now: Snapshot) -> bool:
    """The page with all answers, and none is missing."""
    return _REVIEW.search(now.text) is not None and not _UNANSWERED.search(now.text)


def _is_up(now: Snapshot, question: Question) -> bool:
    text, asked = squeezed(now.reading.question or ""), squeezed(question.text)
    return now.reading.kind == "question" and bool(text) and (text in asked or asked in text)


def _question(
    question: Question, answer: Answer, now: Snapshot, *, last: bool
) -> Generator[Press | Paste | None, Snapshot, Snapshot | Refused]:
    text = answer.texts.get(question.id, "")
    picked = [n for n, o in enumerate(question.options, 1) if o.id in answer.choices.get(question.id, ())]
    if not question.options:
        return (yield from _write(now, text, last=last))
    if question.multi_select:
        return (yield from _several(question, picked, text, now, last=last))
    now = yield from _out_of_text(now)
    if not picked:
        own = len(question.options) + 1
        now = yield Press(str(own), decides=False)
        return (yield from _write(now, text, last=last))
    if _row(now, picked[0]) is None:  # out of sight, in a list that scrolls
        shot = yield from _to_row(now, str(picked[0]))
        if isinstance(shot, Refused):
            return shot
        now = shot
    if squeezed(_row(now, picked[0]) or "") != squeezed(question.options[picked[0] - 1].label):
        return Refused(_CHANGED)
    return (yield Press(str(picked[0]), decides=last))


def _in_text(now: Snapshot) -> bool:
    """Is the highlight in a row that takes text? The line of keys says so."""
    return _SUBMITS.search(now.text[-200:]) is not None and now.reading.selected is not None


def _out_of_text(now: Snapshot) -> Generator[Press | Paste | None, Snapshot, Snapshot]:
    """In a row that takes text a digit would be text."""
    return (yield Press("up", decides=False)) if _in_text(now) else now


def _several(
    question: Question, picked: list[int], text: str, now: Snapshot, *, last: bool
) -> Generator[Press | Paste | None, Snapshot, Snapshot | Refused]:
    """Each box is brought into view, ticked if need be, and seen to be ticked; then the row that ends it."""
    for number, option in enumerate(question.options, 1):
        snapshot = yield from _to_row(now, str(number))
        if isinstance(snapshot, Refused):
            return snapshot
        now = snapshot
        if squeezed(_row(now, number) or "") != squeezed(option.label):
            return Refused(_CHANGED)
        if _ticked(now, number) != (number in picked):
            wanted = number in picked
            now = yield Press(str(number), decides=False)
            now = yield from looked(now, lambda shot, row=number, on=wanted: _ticked(shot, row) == on)
            if _ticked(now, number) != wanted:
                return Refused(_CHANGED)
    if text:
        own = len(question.options) + 2  # below `All of the above`
        snapshot = yield from _to_row(now, str(own))
        if isinstance(snapshot, Refused):
            return snapshot
        now = yield Paste(text)
        now = yield from looked(now, lambda shot: squeezed(_row(shot, own) or "") == squeezed(text))
        if squeezed(_row(now, own) or "") != squeezed(text):
            return Refused(_NO_TEXT)
    for _ in range(MOST_MOVES):
        at = now.reading.selected
        if at is not None and now.reading.options[at].key is None:
            return (yield Press("enter", decides=last))
        now = yield Press("down", decides=False)
    return Refused(_NO_ROW)


def _to_row(now: Snapshot, key: str) -> Generator[Press | Paste | None, Snapshot, Snapshot | Refused]:
    """Move the highlight to the row with this digit."""
    for _ in range(MOST_MOVES):
        at = now.reading.selected
        if at is not None and now.reading.options[at].key == key:
            return now
        now = yield Press("down", decides=False)
        if now.reading.kind != "question":
            return Refused(_GONE)
    return Refused(_NO_ROW)


def _write(
    now: Snapshot, text: str, *, last: bool
) -> Generator[Press | Paste | None, Snapshot, Snapshot | Refused]:
    now = yield from looked(now, lambda shot: bool(shot.reading.text_input))
    if not now.reading.text_input:
        return Refused(_CHANGED)
    now = yield Paste(text)
    now = yield from looked(now, lambda shot: squeezed(text) in squeezed(shot.text))
    if squeezed(text) not in squeezed(now.text):
        return Refused(_NO_TEXT)
    return (yield Press("enter", decides=last))


def _plan(
    prompt: Prompt, answer: Answer, now: Snapshot
) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    options = chosen(prompt, answer)
    if now.reading.kind != "plan" or len(options) != 1:
        return Refused(_GONE)
    now = yield from _out_of_text(now)
    label = options[0].label
    if options[0].id != PLAN_FEEDBACK:
        row = next((each for each in now.reading.options if each.label == label and each.key), None)
        if row is None or row.key is None:
            return Refused(_NO_ROW)
        yield Press(row.key, decides=True)
        return None
    own = own_row(now.reading)
    key = now.reading.options[own].key if own is not None else None
    text = answer.texts.get(DECISION, "") or "Not like this."
    if own is None or key is None:
        return Refused(_NO_ROW)
    now = yield Press(key, decides=False)
    now = yield from _emptied(now, own)
    now = yield Paste(text)
    now = yield from looked(now, lambda shot: squeezed(_own_words(shot, own)) == squeezed(text))
    if squeezed(_own_words(now, own)) != squeezed(text):
        return Refused(_NO_TEXT)
    yield Press("enter", decides=True)
    return None


def _own_words(now: Snapshot, own: int) -> str:
    """What is written in the row for the person's own words."""
    if own >= len(now.reading.options):
        return ""
    row = now.reading.options[own]
    return "" if OWN_WORDS.match(row.label) else f"{row.label} {row.description or ''}"


def _emptied(now: Snapshot, own: int) -> Generator[Press | Paste | None, Snapshot, Snapshot]:
    """Words that were sent with an earlier plan are still in the row of the next one."""
    for _ in range(MOST_LETTERS):
        if not _own_words(now, own):
            break
        now = yield Press("backspace", decides=False)
    return now


def _row(now: Snapshot, number: int) -> str | None:
    return next((each.label for each in now.reading.options if each.key == str(number)), None)


def _ticked(now: Snapshot, number: int) -> bool | None:
    place = next((n for n, each in enumerate(now.reading.options) if each.key == str(number)), None)
    return None if place is None or now.reading.checked is None else place in now.reading.checked
