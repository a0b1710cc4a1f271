"""A form of an MCP server on Claude's screen: its fields, and the next key that fills them in.

Rule: a field is only written into while it is seen to be empty, and sent only once every field shows what the
person gave. Fields are told apart by their names, in their order.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.kit.forms import ACTION, action
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.model.prompts import Answer, Prompt, Question, Refused

CHANGED = "The screen shows another form than the one you saw; nothing was pressed."
EMPTY = ("not set", "Type something…", "▸ not set", "▾", "☐", "")
YES, NO = "☒", "☐"

_FIELD = re.compile(r"(?P<cursor> *❯)? +(?P<mark>[*✔⚠] )? *(?P<label>\S[^:]*?): ?(?P<value>.*)$")
_CHOICE = re.compile(r" +(?P<cursor>❯ )? *(?P<sign>[◯○●◉☐☒]) (?P<label>\S.*)$")
_BUTTONS = re.compile(r" *(?:❯ )? *Accept +(?:❯ )?Decline$")


class Field(Struct, frozen=True):
    label: str
    value: str
    required: bool
    done: bool  # Claude itself says that this field is filled in as it wants it
    focused: bool
    choices: tuple[str, ...] = ()
    at: int = -1  # the highlighted choice


def fields(text: str) -> list[Field]:
    """The fields of the form on this screen, in their order; empty if there is none."""
    lines = text.split("\n")
    end = max((n for n, line in enumerate(lines) if _BUTTONS.match(line)), default=-1)
    top = max((n for n, line in enumerate(lines[: max(end, 0)]) if "requests your input" in line), default=end)
    found: list[Field] = []
    for line in lines[top + 1 : max(end, 0)]:
        choice = _CHOICE.match(line)
        if choice and found and found[-1].value == "▾":
            last = found[-1]
            at = len(last.choices) if choice["cursor"] else last.at
            found[-1] = replace(last, choices=(*last.choices, choice["label"]), at=at)
            continue
        field = _FIELD.match(line)
        if field and (field["cursor"] or len(line) - len(line.lstrip()) >= 4):
            mark = (field["mark"] or "").strip()
            found.append(
                Field(field["label"], field["value"].strip(), mark == "*", mark == "✔", bool(field["cursor"]))
            )
    return found


def button(text: str) -> str:
    """The button that is highlighted, if one is."""
    line = next((line for line in reversed(text.split("\n")) if _BUTTONS.match(line)), "")
    return next((word for word in ("Accept", "Decline") if f"❯ {word}" in line), "")


def next_step(prompt: Prompt, answer: Answer, now: Snapshot) -> Press | Paste | Refused:
    """The key, or the text, that brings the form one step nearer to this answer; or why none is pressed."""
    (action,) = answer.choices.get(ACTION, ("",))
    shown = fields(now.text)
    asked = [question for question in prompt.questions if question.id != ACTION]
    if len(asked) != len(shown) or not all(map(names, asked, shown)):
        return Refused(CHANGED)
    if action == "cancel":
        return Press("escape", decides=True)
    if action not in ("accept", "decline"):
        return Refused("Choose whether to submit, decline or cancel.")
    if not shown and action == "accept":
        return Refused("This cannot be confirmed with a key from here; answer it at the desk.")
    if action == "accept":
        wanted = [value_of(question, answer) for question in asked]
        for n, value in enumerate(wanted):
            if isinstance(value, Refused):
                return value
            if not _has(shown[n], value):
                return _towards(shown, n) or _into(shown[n], value)
    return _press_button(shown, now, "Accept" if action == "accept" else "Decline")


def names(question: Question, field: Field) -> bool:
    return question.text == field.label or question.text.startswith(f"{field.label}: ")


def value_of(question: Question, answer: Answer) -> str | Refused:
    picked = [o.label for o in question.options if o.id in answer.choices.get(question.id, ())]
    if question.multi_select and picked:
        return Refused(f"Several choices cannot be ticked in {question.text[:80]!r} from here; do it at the desk.")
    text = picked[0] if picked else answer.texts.get(question.id, "")
    if "\n" in text or not (text.isprintable() and len(text) <= 200):
        return Refused("Only one short line can be written into a field from here.")
    return text


def _has(field: Field, value: str) -> bool:
    if not value:
        return field.value in EMPTY and not field.done
    if field.value in (YES, NO):
        return field.done and field.value == (YES if value == "Yes" else NO)
    return field.done and field.value.removeprefix("▸ ") == value


def _towards(shown: list[Field], n: int) -> Press | None:
    at = next((i for i, field in enumerate(shown) if field.focused), len(shown))
    return None if at == n else Press("down" if at < n else "up", decides=False)


def _into(field: Field, value: str) -> Press | Paste | Refused:
    """The field has the highlight and does not say yet what it shall."""
    if field.value == "▾":
        if value not in field.choices:
            return Refused(f"{field.label[:80]!r} has no choice {value[:80]!r}.")
        to = field.choices.index(value)
        return Press("space" if field.at == to else "down" if field.at < to else "up", decides=False)
    if field.value.startswith("▸"):
        return Press("right", decides=False)
    if field.value in (YES, NO):
        return Press("space", decides=False)
    if field.value == "Type something…" and value:
        return Paste(value)
    return Refused(f"{field.label[:80]!r} does not take this, or somebody writes there; nothing was sent.")


def _press_button(shown: list[Field], now: Snapshot, wanted: str) -> Press | Refused:
    at = button(now.text)
    if not at:
        focused = next((field for field in shown if field.focused), None)
        if focused is None:
            return Refused("No row is highlighted, so a key could go astray; nothing was pressed.")
        return Press("down", decides=False)
    if at == wanted:
        return Press("enter", decides=True)
    return Press("right" if wanted == "Decline" else "left", decides=False)


def only_at_the_desk(shot: Snapshot) -> str:
    """Why this form cannot be answered with keys; '' if it can."""
    rows = [option.label for option in shot.reading.options]
    if rows != ["Accept", "Decline"]:
        return "This form cannot be filled in from here: answer it at the desk."
    shown = fields(shot.text)
    if len({field.label for field in shown}) != len(shown) or ACTION in {field.label for field in shown}:
        return "This form cannot be filled in from here: answer it at the desk."
    if any(field.value not in EMPTY or field.done for field in shown):
        return "Somebody has begun to fill in this form at the desk."
    return ""


def questions(shot: Snapshot) -> tuple[Question, ...]:
    """The form as far as a screen tells it: what kind of value a field wants is only seen once one is in it."""
    asked = [
        Question(field.label, field.label, free_text=True, required=field.required, type="text")
        for field in fields(shot.text)
    ]
    if shot.reading.target:  # an address: only who sits there can open it, but anybody can say no
        return (replace(action(True, "Claude"), options=action(True, "Claude").options[1:]),)
    return (*asked, action(False, "Claude"))
