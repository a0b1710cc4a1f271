"""What a person chose and wrote for one prompt in the inbox, what is wrong with it, and the request it makes.

Rule: pure; an answer names options and questions by their ids, and nothing is sent that was not shown.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from yourcall.cli.views import Judged, Option, Prompt, Question

REFUSES = frozenset({"deny", "stop"})
ALLOWS = frozenset({"allow_once", "allow_session", "allow_always"})


@dataclass
class Draft:
    """The question in hand (`at`), the option under the cursor (-1: none), picks and texts by question."""

    at: int = 0
    cursor: int = -1
    picks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    wrong: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Ready:
    """An answer that could be sent now. `why`: it must be said twice, and why."""

    label: str
    fields: dict[str, str]
    why: str = ""


def decision(prompt: Prompt) -> Question | None:
    """The question whose options are the buttons: yes, no, submit; the others are fields to fill in."""
    return next((q for q in prompt.questions if any(o.effect != "choose" for o in q.options)), None)


def twice(option: Option, risk: str) -> str:
    """Why this must be said twice, as the daemon judged it; empty if once is enough."""
    return "" if option.effect in REFUSES else option.confirm_reason or risk


def question_in_hand(prompt: Prompt, draft: Draft) -> Question | None:
    if not prompt.questions:
        return None
    return prompt.questions[min(draft.at, len(prompt.questions) - 1)]


def choose(prompt: Prompt, draft: Draft, number: int) -> Ready | None:
    """The option with this number (from 0) of the question in hand: sent at once, or only marked in a form."""
    question = question_in_hand(prompt, draft)
    if question is None or not 0 <= number < len(question.options):
        return None
    option = question.options[number]
    if question == decision(prompt):
        return decide(prompt, draft, question, option)
    draft.wrong.pop(question.id, None)
    if question.multi_select:
        picks = draft.picks.setdefault(question.id, [])
        picks.remove(option.id) if option.id in picks else picks.append(option.id)
        return None
    if len(prompt.questions) == 1:
        return Ready(option.label, _fields({question.id: [option.id]}, {}), twice(option, prompt.warning))
    draft.picks[question.id] = [option.id]
    step(prompt, draft, 1)
    return None


def decide(prompt: Prompt, draft: Draft, question: Question, option: Option) -> Ready | None:
    """A button: with a yes go the fields of the form; with a no, the words that say why."""
    refuses = option.effect in REFUSES
    choices: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    if not refuses:
        others = [each for each in prompt.questions if each.id != question.id]
        if not _whole(prompt, draft, others):
            return None
        choices, texts = _filled(others, draft)
    text = draft.texts.get(question.id, "")
    if text.strip() and option.effect not in ALLOWS:
        texts[question.id] = text
    choices[question.id] = [option.id]
    return Ready(option.label, _fields(choices, texts), twice(option, prompt.warning))


def edited(prompt: Prompt, command: str, judged: Judged) -> Ready | None:
    """Another command than the one that was asked for, allowed once. `judged`: what the daemon says of it."""
    match = edits(prompt)
    if match is None or not command.strip():
        return None
    question, option = match
    given = {
        "choices": json.dumps({question.id: [option.id]}),
        "input": json.dumps(prompt.with_command(command)),
    }
    why = judged.confirm.get(option.id) or (judged.risk.reason if judged.risk.level != "low" else "")
    return Ready(f"{option.label} `{command}`", given, why or "It is not what was asked for.")


def edits(prompt: Prompt) -> tuple[Question, Option] | None:
    """The yes that another command may go with."""
    question = decision(prompt)
    option = next((o for o in question.options if o.effect == "allow_once"), None) if question else None
    return (question, option) if question is not None and option is not None and prompt.editable_command else None


def submit(prompt: Prompt, draft: Draft) -> Ready | None:
    """All that was filled in, for prompts without buttons of their own."""
    if not _whole(prompt, draft, list(prompt.questions)):
        return None
    choices, texts = _filled(list(prompt.questions), draft)
    return Ready("Submit", _fields(choices, texts), prompt.warning) if choices or texts else None


def refusal(prompt: Prompt) -> tuple[Question, Option] | None:
    """The plainest no that takes a reason: one that lets the agent go on, or else one that stops it."""
    question = decision(prompt)
    if question is None or not question.free_text:
        return None
    for effect in ("deny", "stop"):
        for option in question.options:
            if option.effect == effect:
                return question, option
    return None


def step(prompt: Prompt, draft: Draft, by: int) -> None:
    """To the next question, around the end."""
    if prompt.questions:
        draft.at = (draft.at + by) % len(prompt.questions)
        draft.cursor = -1


def _whole(prompt: Prompt, draft: Draft, questions: list[Question]) -> bool:
    draft.wrong = {q.id: words for q in questions if (words := objection(q, draft))}
    if draft.wrong:
        draft.at = next(n for n, q in enumerate(prompt.questions) if q.id in draft.wrong)
        draft.cursor = -1
    return not draft.wrong


def objection(question: Question, draft: Draft) -> str:
    picks, text = draft.picks.get(question.id, []), draft.texts.get(question.id, "").strip()
    if not picks and not text:
        if not question.required:
            return ""
        return "Choose one, please." if question.options else "This one is needed."
    if not text or question.type not in ("number", "integer"):
        return ""
    whole = question.type == "integer"
    if not re.fullmatch(r"[+-]?\d+" if whole else r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text):
        return "A whole number, please." if whole else "A number, please."
    if question.minimum is not None and float(text) < question.minimum:
        return f"At least {question.minimum:g}, please."
    if question.maximum is not None and float(text) > question.maximum:
        return f"At most {question.maximum:g}, please."
    return ""


def _filled(questions: list[Question], draft: Draft) -> tuple[dict[str, list[str]], dict[str, str]]:
    choices = {q.id: list(picks) for q in questions if (picks := draft.picks.get(q.id))}
    texts: dict[str, str] = {}
    for question in questions:
        text = draft.texts.get(question.id, "")
        if text.strip():
            texts[question.id] = text.strip() if question.type in ("number", "integer") else text
    return choices, texts


def _fields(choices: dict[str, list[str]], texts: dict[str, str]) -> dict[str, str]:
    """As `answer.give` takes them: each field as JSON text."""
    fields = {"choices": json.dumps(choices)} if choices else {}
    return fields | ({"texts": json.dumps(texts)} if texts else {})
