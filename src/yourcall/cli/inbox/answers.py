"""The questions of a prompt with their answers and the keys for them, as the inbox shows them.

Rule: what an answer does is always said: in its line, and in full wherever there is room or the cursor points.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from yourcall.cli.inbox.form import Draft, decision, question_in_hand, refusal, twice
from yourcall.cli.terminal.render import clip, safe, width, wrapped
from yourcall.cli.views import Option, Prompt, Question
from yourcall.core.option_keys import uniform

_SCOPES = {"allow_once": "this once", "allow_session": "for this session", "allow_always": "from now on"}
_STYLES = {"deny": "red", "stop": "red", "allow_once": "green", "allow_session": "green", "allow_always": "yellow"}
_TWICE = ", asks again"


class Room(NamedTuple):
    """How wide the answers may be, whether each may take several lines, and what is dangerous about a yes."""

    columns: int
    tall: bool
    risk: str


def answers(prompt: Prompt, draft: Draft, room: Room) -> Text:
    """The questions, as far as the person has filled them in."""
    out = Text()
    if prompt.state != "open":
        return out
    if not prompt.held or not prompt.questions:
        out.append("Can't be answered from here. Use the agent's terminal.", "yellow")
        return out
    hand = question_in_hand(prompt, draft)
    several = len(prompt.questions) > 1
    for number, question in enumerate(prompt.questions):
        out.append("\n" if number else "")
        here = question == hand
        if several:
            out.append("▸ " if here else "  ", "bold cyan")
        out.append(safe(question.text, lines=True), "bold" if here or not several else "dim")
        if several and not here:
            out.append(_filled(question, draft), "cyan")
        if question.id in draft.wrong:
            out.append(f"  {draft.wrong[question.id]}", "bold red")
        if here:
            for place, key in enumerate(uniform(question.options)):
                out.append(_option(place, key, question, draft, room))
            out.append(_hint(prompt, question, draft, room))
    return out


def _option(place: int, key: str, question: Question, draft: Draft, room: Room) -> Text:
    option = question.options[place]
    line = Text("\n")
    here = place == draft.cursor
    line.append(" › " if here else "   ", "bold cyan")
    line.append(key or " ", "bold cyan")
    picked = option.id in draft.picks.get(question.id, [])
    if question.multi_select:
        line.append(" [x] " if picked else " [ ] ", "green" if picked else "")
    else:
        line.append(" ● " if picked else "  ", "green")
    begun = width(line.plain.strip("\n"))
    line.append(safe(option.label), _STYLES.get(option.effect, ""))
    line.append(_far(option), "dim")
    if twice(option, room.risk):
        line.append(_TWICE, "red")
    does = safe(option.description)
    if does and does.rstrip(".").lower() not in option.label.lower():
        # What the answers do stands in one column, unless a label leaves too little room for that.
        long, most = _long(option, room), max(_long(each, room) for each in question.options)
        column = begun + most + 2
        roomy = room.columns - column >= 24
        if not (here or room.tall):
            column = column if roomy else begun + long + 2
            line.append(" " * (column - begun - long))
            line.append(clip(does, max(room.columns - column, 0)), "dim")
        elif roomy:
            line.append(" " * (most - long + 2))
            line.append(wrapped(does, column, room.columns).lstrip(), "dim")
        else:
            line.append("\n" + wrapped(does, 6, room.columns), "dim")
    if option.preview and here:
        shown = safe(option.preview, lines=True).split("\n")
        line.append("\n" + "\n".join(f"      {each}" for each in shown), "cyan")
    return line


def _far(option: Option) -> str:
    scope = _SCOPES.get(option.effect, "")
    return f", {scope}" if scope else ""


def _long(option: Option, room: Room) -> int:
    return width(safe(option.label) + _far(option)) + (len(_TWICE) if twice(option, room.risk) else 0)


def _filled(question: Question, draft: Draft) -> str:
    picked = [safe(o.label) for o in question.options if o.id in draft.picks.get(question.id, [])]
    text = draft.texts.get(question.id, "").strip()
    wording = ", ".join([*picked, *([f"“{clip(safe(text), 40)}”"] if text else [])])
    return f"  {wording}" if wording else ""


def _hint(prompt: Prompt, question: Question, draft: Draft, room: Room) -> Text:
    out = Text()
    text = draft.texts.get(question.id, "").strip()
    if text:
        out.append("\n" + wrapped(f"“{text}”", 6, room.columns), "cyan")
    no = refusal(prompt)
    writes = ""
    if no is not None and question == no[0]:
        writes = f"{safe(no[1].label)}, and say why"
    elif question.free_text and question != decision(prompt):
        kind = {"integer": "a whole number", "number": "a number"}.get(question.type, "")
        writes = f"Write {kind or ('as free text' if question.options else 'it')}{_bounds(question)}"
    if writes:
        out.append("\n   t", "bold cyan")
        out.append(f"  {writes}")
    keys = ["keys mark"] if question.multi_select else []
    keys += ["Tab: next question"] if len(prompt.questions) > 1 else []
    if decision(prompt) is None and (len(prompt.questions) > 1 or question.multi_select):
        keys.append("Enter: send" if len(prompt.questions) == 1 else "Enter: send all")
    if keys:
        out.append("\n" + wrapped(" · ".join(keys), 3, room.columns), "dim")
    return out


def _bounds(question: Question) -> str:
    low, high = question.minimum, question.maximum
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f", at least {low:g}" if low is not None else f", at most {high:g}" if high is not None else ""
