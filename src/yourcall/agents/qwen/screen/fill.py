"""An answer that takes several keys: questions of the model (`ask_user_question`).

Rule: one key, then a look. A row is picked by the digit that stands before its label; a text is pasted, seen
in its field, and only then sent. What does not look as it should ends the filling, and nothing more is pressed.
"""

from __future__ import annotations

from collections.abc import Generator

from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.dialogs import MOST_ROWS, looked
from yourcall.agents.qwen.screen.dialog import REVIEW
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Prompt, Question, Refused

_GONE = "The dialog is no longer on the screen; nothing more was pressed."
_CHANGED = "The dialog does not look as it should; nothing more was pressed. See to it at the desk."
_NO_ROW = "The row could not be found in the list; nothing more was pressed. Answer it at the desk."
_NO_TEXT = "The text did not appear in its field; nothing was sent. See to it at the desk."
_NOTHING = "Pick something, or write an answer of your own; nothing was pressed."

Steps = Generator[Press | Paste | None, Snapshot, Snapshot | Refused]


def fill(prompt: Prompt, answer: Answer) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    """The steps of this answer, each for the screen it is sent; the first `yield` only asks for a screen."""
    now = yield None
    if prompt.kind != "question":
        return (yield from _one_row(prompt, answer, now))
    several = len(prompt.questions) > 1
    for question in prompt.questions:
        now = yield from looked(now, lambda shot, asked=question: _is_up(shot, asked))
        if not _is_up(now, question):
            return Refused(_CHANGED if now.reading.state == "waiting" else _GONE)
        done = yield from _question(question, answer, now, last=not several)
        if isinstance(done, Refused):
            return done
        now = done
    if several:
        now = yield from looked(now, _is_review)
        if not _is_review(now):
            return Refused(_CHANGED)
        yield Press("enter", decides=True)  # a digit does nothing here [0.24.4]
    return None


def _one_row(
    prompt: Prompt, answer: Answer, now: Snapshot
) -> Generator[Press | Paste | None, Snapshot, Refused | None]:
    options = chosen(prompt, answer)
    if now.reading.kind != prompt.kind or len(options) != 1 or any(answer.texts.values()):
        return Refused(_GONE if now.reading.kind != prompt.kind else _NO_ROW)
    row = next((each for each in now.reading.options if each.label == options[0].label and each.key), None)
    if row is None or row.key is None:
        return Refused(_NO_ROW)
    yield Press(row.key, decides=True)
    return None


def _is_review(now: Snapshot) -> bool:
    first = now.reading.options[0].label if now.reading.options else ""
    asks = REVIEW.search(now.reading.question or "") is not None
    return asks and first == "Submit answers" and now.reading.selected == 0


def _is_up(now: Snapshot, question: Question) -> bool:
    text, asked = squeezed(now.reading.question or ""), squeezed(question.text)
    rows = [squeezed(f"{each.label}{each.description or ''}") for each in now.reading.options]
    if now.reading.kind != "question" or not text or text != asked or len(rows) <= len(question.options):
        return False
    # The rest of a long label stands where a description would.
    return all(row.startswith(squeezed(option.label)) for row, option in zip(rows, question.options, strict=False))


def _question(question: Question, answer: Answer, now: Snapshot, *, last: bool) -> Steps:
    text = answer.texts.get(question.id, "")
    picked = [n for n, o in enumerate(question.options, 1) if o.id in answer.choices.get(question.id, ())]
    if not picked and not text:
        return Refused(_NOTHING)
    if len(question.options) >= MOST_ROWS:
        return Refused(_NO_ROW)
    own = len(question.options) + 1
    if _in_text(now):  # a digit would be text
        now = yield Press("up", decides=False)
    if question.multi_select:
        return (yield from _several(question, picked, text, own, now, last=last))
    if picked:
        return (yield Press(str(picked[0]), decides=last))
    done = yield from _write(now, own, text)
    return done if isinstance(done, Refused) else (yield Press("enter", decides=last))


def _several(question: Question, picked: list[int], text: str, own: int, now: Snapshot, *, last: bool) -> Steps:
    """Each box that has to change is gone to, changed, and seen to have changed; then Enter."""
    for number in range(1, len(question.options) + 1):
        wanted = number in picked
        if _ticked(now, number) == wanted:
            continue
        if not _is_at(now, number):
            now = yield Press(str(number), decides=False)
            now = yield from looked(now, lambda shot, row=number: _is_at(shot, row))
        if not _is_at(now, number):
            return Refused(_NO_ROW)
        now = yield Press("space", decides=False)
        now = yield from looked(now, lambda shot, row=number, on=wanted: _ticked(shot, row) == on)
        if _ticked(now, number) != wanted:
            return Refused(_CHANGED)
    if text:
        done = yield from _write(now, own, text)
        if isinstance(done, Refused):
            return done
        now = done
    elif _ticked(now, own):
        return Refused(_CHANGED)  # somebody wrote an answer there at the desk
    return (yield Press("enter", decides=last))


def _write(now: Snapshot, own: int, text: str) -> Steps:
    """The person's own words, in the row below the others."""
    if not _is_at(now, own):
        now = yield Press(str(own), decides=False)
        now = yield from looked(now, lambda shot: _is_at(shot, own) and _in_text(shot))
    if not (_is_at(now, own) and _in_text(now)) or _own_words(now, own):
        return Refused(_CHANGED)
    now = yield Paste(text)
    now = yield from looked(now, lambda shot: squeezed(_own_words(shot, own)) == squeezed(text))
    if squeezed(_own_words(now, own)) != squeezed(text):
        return Refused(_NO_TEXT)
    return now


def _own_words(now: Snapshot, own: int) -> str:
    row = next((each for each in now.reading.options if each.key == str(own)), None)
    if row is None:
        return ""
    text = f"{row.label} {row.description or ''}".strip().removeprefix(">").strip()
    return "" if text == "Type something..." else text


def _in_text(now: Snapshot) -> bool:
    """Is the highlight in the row that takes text?"""
    at = now.reading.selected
    return at is not None and now.reading.options[at].label.startswith(">")


def _is_at(now: Snapshot, number: int) -> bool:
    at = now.reading.selected
    return at is not None and now.reading.options[at].key == str(number)


def _ticked(now: Snapshot, number: int) -> bool:
    place = next((n for n, each in enumerate(now.reading.options) if each.key == str(number)), None)
    return place is not None and now.reading.checked is not None and place in now.reading.checked
