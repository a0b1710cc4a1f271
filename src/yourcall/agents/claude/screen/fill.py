"""The steps of an answer that takes several keys, each from a fresh look at Claude's screen.

Rule: after a key nothing more is pressed before its effect is seen, twice alike: a screen is drawn in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from msgspec.structs import replace

from yourcall.agents.claude.screen import form
from yourcall.agents.claude.screen.form import button, fields
from yourcall.agents.claude.screen.offer import REVISE, TELL, TEXT_ROW, about, is_review, lone, own_words, previews
from yourcall.agents.kit.text import flat
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.model.prompts import Answer, Prompt, Question, Refused
from yourcall.model.screen import Reading, ScreenOption

SETTLED_LOOKS = 15
MOST_LOOKS = 300  # at a key without effect, a hundredth of a second apart: Claude needs a tenth, under load one


Steps = Generator[Press | Paste | None, Snapshot, Snapshot | Refused]


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The first `yield` only asks for a screen."""
    now = yield None
    pasted = ""
    while True:
        step = next_step(prompt, answer, now)
        if isinstance(step, Refused):
            yield from _take_back(pasted, now)
            return step
        before = _state(now)
        if isinstance(step, Press) and step.decides and not (yield from _stands(before)):
            now = yield None
            continue
        after = yield from _done(step, now)
        if isinstance(after, Refused):
            return after
        now, pasted = after, step.text if isinstance(step, Paste) else ""


def _done(step: Press | Paste, now: Snapshot) -> Steps:
    """The screen with the effect of this step, once it stands."""
    before = _state(now)
    now = yield step
    for _ in range(MOST_LOOKS):
        again = yield None
        if _state(now) == _state(again) != before:
            return again
        now = again
    return Refused("A key had no effect; nothing was sent. See to it at the desk.")


def _take_back(pasted: str, now: Snapshot) -> Generator[Press | Paste | None, Snapshot, None]:
    """What we have just written and Claude does not take does not stay behind; each key is seen to work."""
    for _ in pasted:
        after = yield from _done(Press("backspace", decides=False), now)
        if isinstance(after, Refused) or after.reading.kind != now.reading.kind:
            return
        now = after


def _stands(before: object) -> Generator[None, Snapshot, bool]:
    """Does the page stay as it is for a moment? Claude swallows a key that comes right after it was drawn."""
    for _ in range(SETTLED_LOOKS):
        if _state((yield None)) != before:
            return False
    return True


def _state(shot: Snapshot) -> object:
    """All of the dialog that a key can change; a clock or a spinner above it may change by itself."""
    form = (fields(shot.text), button(shot.text)) if shot.reading.kind == "elicitation" else ()
    return shot.reading, form


GONE = "The dialog is no longer on the screen; nothing more was pressed."
CHANGED = "The screen shows another dialog than the one you saw; nothing more was pressed."
CLIPPED = "Only a part of the dialog is on the screen now; nothing more was pressed. Answer it at the desk."
_OPEN_NO = re.compile(r"No, and tell Claude what to do differently\.?", re.I)
LONGEST_LINE = 400  # what a row shows in one piece, and so can be compared

_BOXES = "Own words cannot be written into a list of boxes from here; tick boxes, or answer it at the desk."
_NOTES = "A note beside an option cannot be written from here: leave it out, or answer it at the desk."
_BUSY = "Somebody is writing into this dialog at the desk; nothing was sent."


Next = Press | Paste | Refused


def next_step(prompt: Prompt, answer: Answer, now: Snapshot) -> Next:
    """The key, or the text, that brings the dialog one step nearer to this answer; or why none is pressed."""
    reading = now.reading
    if reading.state != "waiting":
        return Refused(GONE)
    if reading.clipped:
        return Refused(CLIPPED)
    if reading.kind != prompt.kind:
        return Refused(CHANGED)
    match reading.kind:
        case "elicitation":
            return form.next_step(prompt, answer, now)
        case "plan":
            return _plan(prompt, answer, now)
        case "permission":
            return _refusal(prompt, answer, now)
        case _:
            return _question(prompt, answer, now)


# --- questions ----------------------------------------------------------------------------------------------


def _question(prompt: Prompt, answer: Answer, now: Snapshot) -> Next:
    reading = now.reading
    question = next((q for q in prompt.questions if _same(q.text, reading.question or "")), None)
    if is_review(reading) and question is None:
        return _submit(prompt, answer, now)
    if question is None or not _offers(reading, question):
        return Refused(CHANGED)
    labels, text = _wanted(question, answer)
    # What the agent's own request told is all pages; what a screen told is the one that was on it.
    whole = len(prompt.questions) > 1 or lone(reading)
    if reading.multi_select:
        return _boxes(reading, labels, text, last=not whole)
    if labels and text:
        return Refused(_NOTES)
    ends = lone(reading) or not whole
    return (
        _write(reading, own_words(reading, question), text, ends=ends) if text else _pick(now, labels, ends=ends)
    )


def _pick(now: Snapshot, labels: list[str], *, ends: bool) -> Next:
    reading, at = now.reading, now.reading.selected
    row = next((n for n, option in enumerate(reading.options) if labels and _same(option.label, labels[0])), None)
    if row is None or at is None:
        return Refused(CHANGED)
    digit = _digit(reading.options[row])
    # Beside previews a digit only moves the highlight; in a row that takes text it would be text.
    if digit and not previews(now) and not _in_text(reading):
        return Press(digit, decides=ends)
    if at == row:
        return Press("enter", decides=ends)
    return Press("down" if at < row else "up", decides=False)


def _boxes(reading: Reading, labels: list[str], text: str, *, last: bool) -> Next:
    if text:
        return Refused(_BOXES)
    ticked = set(reading.checked or ())
    wanted = {n for n, option in enumerate(reading.options) if any(_same(option.label, each) for each in labels)}
    if len(wanted) != len(labels):
        return Refused(CHANGED)
    if _in_text(reading):
        return Press("up", decides=False)
    for row in sorted(wanted ^ ticked):
        digit = _digit(reading.options[row])
        return Press(digit, decides=False) if digit else Refused("This box cannot be ticked with a key.")
    return Press("right", decides=last)


def _write(reading: Reading, row: int, text: str, *, ends: bool) -> Next:
    """Into the row for own words: go there, write, see it there, and only then send it."""
    wrong = unwritable(text)
    if wrong is not None:
        return wrong
    if row >= len(reading.options):
        return Refused(CHANGED)
    shown_text, digit = reading.options[row].label, _digit(reading.options[row])
    if reading.selected != row:
        if not TEXT_ROW.match(shown_text):
            return Refused(_BUSY)
        return Press(digit, decides=False) if digit else Refused("There is no row for own words.")
    if _same(shown_text, text):
        return Press("enter", decides=ends)
    return Paste(text) if TEXT_ROW.match(shown_text) else Refused(_BUSY)


def _submit(prompt: Prompt, answer: Answer, now: Snapshot) -> Next:
    """The last page lists what was answered: all of it, and nothing else, or it is not submitted."""
    listed = _squeezed(now.text.rpartition("Review your answers")[2].rpartition("Ready to submit")[0])
    expected = ""
    for question in prompt.questions:
        labels, text = _wanted(question, answer)
        wording = ", ".join([*labels, *([text] if text else [])])
        expected += _squeezed(f"● {question.text} → {wording}")
    if listed != expected:
        return Refused("The last page does not list your answers as you gave them; it was not submitted.")
    row = next((n for n, option in enumerate(now.reading.options) if option.label == "Submit answers"), None)
    digit = _digit(now.reading.options[row]) if row is not None else ""
    return Press(digit, decides=True) if digit else Refused(CHANGED)


def _wanted(question: Question, answer: Answer) -> tuple[list[str], str]:
    picked = answer.choices.get(question.id, ())
    return [o.label for o in question.options if o.id in picked], answer.texts.get(question.id, "")


def _offers(reading: Reading, question: Question) -> bool:
    """Every option the person was shown stands on the page, in their order."""
    rows = iter(reading.options)
    wanted = [option for option in question.options if option.id != REVISE]
    return all(any(_same(row.label, option.label) for row in rows) for option in wanted)


def _in_text(reading: Reading) -> bool:
    at = reading.selected
    return at is not None and 0 <= at < len(reading.options) and bool(TEXT_ROW.match(reading.options[at].label))


# --- plans --------------------------------------------------------------------------------------------------


def _plan(prompt: Prompt, answer: Answer, now: Snapshot) -> Next:
    reading = now.reading
    (question,) = prompt.questions
    if not _same(question.text, reading.question or reading.title or "") or not _offers(reading, question):
        return Refused(CHANGED)
    text = answer.texts.get(question.id, "")
    picked = [option for option in question.options if option.id in answer.choices.get(question.id, ())]
    if [option.id for option in picked] == [REVISE]:
        if not text:
            return Refused("Write what shall be changed.")
        return _write(reading, own_words(reading, question), text, ends=True)
    if len(picked) != 1 or text:
        return Refused("Words go with `keep planning` only; leave them out, or choose that.")
    return _pick(now, [picked[0].label], ends=True)


# --- permissions --------------------------------------------------------------------------------------------


def _refusal(prompt: Prompt, answer: Answer, now: Snapshot) -> Next:
    """No, with words: they are put behind the plain No of its last row, and seen there before they are sent."""
    reading = now.reading
    (question,) = prompt.questions
    text, row = answer.texts.get(question.id, ""), len(reading.options) - 1
    picked = [option.id for option in question.options if option.id in answer.choices.get(question.id, ())]
    if picked != [TELL] or not text:
        return Refused("Words go with a no that tells Claude something, and only with that. Nothing was pressed.")
    wrong = unwritable(text)
    if wrong is not None:
        return wrong
    known = [option for option in question.options if option.label != "No" and option.id != TELL]
    same = _same(question.text, reading.question or "") and _offers(
        reading, replace(question, options=tuple(known))
    )
    if not same or not about(prompt, reading.target or "") or reading.selected is None or row < 1:
        return Refused(CHANGED)
    label = reading.options[row].label
    if reading.selected != row:
        wanders = label == "No" and not reading.text_input
        return Press("down", decides=False) if wanders else Refused(_BUSY)
    if label == "No":
        return Press("tab", decides=False)
    if _same(label, f"No, {text}"):
        return Press("enter", decides=True)
    return Paste(text) if _OPEN_NO.fullmatch(label) else Refused(_BUSY)


def unwritable(text: str) -> Refused | None:
    if "\n" in text or len(text) > LONGEST_LINE:
        return Refused(f"Only one line of at most {LONGEST_LINE} characters can be written there; shorten it.")
    if not text.isprintable():
        return Refused("The text has control or invisible characters in it; take them out.")
    return None


def _digit(option: ScreenOption) -> str:
    return option.key if option.key and re.fullmatch("[1-9]", option.key) else ""


def _same(shown_text: str, text: str) -> bool:
    return _squeezed(shown_text) == _squeezed(text)


def _squeezed(text: str) -> str:
    return flat([text]).replace(" ", "")
