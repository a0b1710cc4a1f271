"""May this answer still be delivered, and is it one at all?

Rule: every 'no' is a sentence for the person who answered; nothing here ever turns an answer into another one.
"""

from __future__ import annotations

from math import isfinite

import msgspec

from yourcall.core.identity import DISMISSED, desk_word
from yourcall.core.lifecycle import CLOSED, IN_FLIGHT
from yourcall.core.prompt_version import version_of
from yourcall.model.prompts import Answer, Effect, Option, Prompt, Question, Refused, Risk, Verdict

# A reason or a reply is written by a person; more than this is a file, and belongs in the project.
LONGEST_TEXT = 100_000

# An edited input may hold a whole file that the agent wants to write; beyond this nobody has read it.
LONGEST_INPUT = 4_000_000

# What lets the agent do it.
ALLOWING: frozenset[Effect] = frozenset({"allow_once", "allow_session", "allow_always"})

REFUSING: frozenset[Effect] = frozenset({"deny", "stop"})
LASTS = "It allows more than this once."

# Ids and labels are repeated in a 'no'; they may be anybody's, and a person must be able to read the rest.
LONGEST_NAME = 80

# The ways an answer comes in, in words that go behind a name.
WHERE = {"socket": ", in a terminal of this machine", "http": ", from another device", "rule": ", as a rule says"}


def confirmation(option: Option, risk: Risk) -> str:
    """Why this option needs a confirmation, in a sentence; empty if a single press is enough. A no never does."""
    if option.effect in REFUSING:
        return ""
    if risk.level != "low":
        return risk.reason
    return LASTS if option.effect in ALLOWING - {"allow_once"} else ""


def chosen(prompt: Prompt, answer: Answer) -> list[Option]:
    """The options an answer names, in the order of the questions."""
    return [
        option
        for question in prompt.questions
        for option in question.options
        if option.id in answer.choices.get(question.id, ())
    ]


def too_late(prompt: Prompt, device: str = "") -> Verdict | None:
    """Who was first, if somebody was. `device`: the paired device that answers now, which may have been first."""
    if prompt.state == "open":
        return None
    if prompt.answer is not None and prompt.state in IN_FLIGHT | {"confirmed", "unsure"}:
        first = next((m for m in prompt.history if m.answer_id == prompt.answer.id), None)
        at = first.at if first else prompt.opened_at
        doubt = "; it is not known whether the agent took that" if prompt.state == "unsure" else ""
        if device and (device, "http") == (prompt.answer.by, prompt.answer.via):
            text = ", ".join(option.label for option in chosen(prompt, prompt.answer)) or "as free text"
            return Verdict("too_late", f"you already answered: {_short(text)}{doubt}", device, at)
        where = WHERE.get(prompt.answer.via, "")
        return Verdict("too_late", f"already answered by {prompt.answer.by}{where}{doubt}", prompt.answer.by, at)
    last = prompt.history[-1] if prompt.history else None
    at = prompt.closed_at or (last.at if last else prompt.opened_at)
    match prompt.state:
        case "desk" if _by_hook(prompt):
            return Verdict("too_late", "already answered by another program, through a hook", "hook", at)
        case "desk":
            return Verdict("too_late", f"already {desk_word(prompt.outcome)} at the desk", "desk", at)
        case "ended" if last is not None and last.detail == DISMISSED:
            return Verdict("too_late", f"it was dismissed by {last.by}", last.by, at)
        case "ended" if _withdrawn(prompt):
            return Verdict("too_late", "the agent no longer asks this", "agent", at)
        case "ended":
            return Verdict("too_late", "the session is over", "session", at)
        case _:
            return Verdict("unsure", "it cannot be known how this prompt ended", "", at)


def objection(prompt: Prompt, answer: Answer) -> Refused | None:
    """What is wrong with this answer to this open prompt, if anything."""
    if prompt.state in CLOSED:
        return Refused("This prompt is closed.")
    if answer.seen and answer.seen != version_of(prompt):
        return Refused("The request has changed since you saw it. Look again, then answer.")
    known = {q.id: q for q in prompt.questions}
    if not known or len(known) != len(prompt.questions):
        return Refused("This prompt has no question that can be answered from here: answer it at the desk.")
    for question_id in [*answer.choices, *answer.texts]:
        if question_id not in known:
            return Refused(f"There is no question {_name(question_id)}; ask for one of: {_list(list(known))}.")
    refuses = any(option.effect in ("deny", "stop") for option in chosen(prompt, answer))
    for question in prompt.questions:
        wrong = _objection_to(question, answer, needed=question.required and not refuses)
        if wrong:
            return wrong
    if answer.input is not None:
        wrong = _objection_to_input(prompt, answer, answer.input)
        if wrong:
            return wrong
    if prompt.needs_confirmation and not answer.sure and not refuses:
        return Refused("A rule requires confirmation: answer again, and say that you are sure.")
    if not prompt.answerable:
        return Refused("This request is no longer held open: answer it in the agent's own dialog, at the desk.")
    return None


def _objection_to(question: Question, answer: Answer, needed: bool) -> Refused | None:
    picked = answer.choices.get(question.id, ())
    text = answer.texts.get(question.id, "")
    ids = [option.id for option in question.options]
    for option_id in picked:
        if option_id not in ids:
            return Refused(f"There is no option {_name(option_id)}; choose one of: {_list(ids)}.")
        if ids.count(option_id) > 1:
            return Refused(f"Two options are called {_name(option_id)}: answer this one at the desk.")
    if len(set(picked)) != len(picked):
        return Refused(f"Choose each option of {_name(question.text)} once.")
    if len(picked) > 1 and not question.multi_select:
        return Refused(f"Choose one option for {_name(question.text)}.")
    if text and not question.free_text:
        return Refused(f"{_name(question.text)} takes no free text.")
    if len(text) > LONGEST_TEXT:
        return Refused(f"The text is longer than {LONGEST_TEXT:,} characters; shorten it.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        return Refused("The text contains an invalid character (a lone surrogate); write it again.")
    if text and question.type in ("number", "integer"):
        return _objection_to_number(question, text)
    if picked or (text and not _decides(question)):
        return None
    if not needed and not text:
        return None
    how = f"choose one of: {_list(ids)}" if ids else "write a text"
    return Refused(f"{_name(question.text)} is not answered; {how}.")


def _objection_to_number(question: Question, text: str) -> Refused | None:
    try:
        value = int(text) if question.type == "integer" else float(text)
    except ValueError:
        return Refused(f"{_name(question.text)} must be a{' whole' if question.type == 'integer' else ''} number.")
    if isinstance(value, float) and not isfinite(value):
        return Refused(f"{_name(question.text)} must be a number.")
    if question.minimum is not None and value < question.minimum:
        return Refused(f"{_name(question.text)} must be at least {question.minimum:g}.")
    if question.maximum is not None and value > question.maximum:
        return Refused(f"{_name(question.text)} must be at most {question.maximum:g}.")
    return None


def _objection_to_input(prompt: Prompt, answer: Answer, given: str) -> Refused | None:
    effects = {option.effect for option in chosen(prompt, answer)}
    if not effects & ALLOWING:
        return Refused("An edited input goes with an option that allows.")
    if len(given) > LONGEST_INPUT:
        return Refused(f"The edited input is longer than {LONGEST_INPUT:,} characters; edit it at the desk.")
    try:
        msgspec.json.decode(given, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return Refused("The edited input is not a JSON object; correct it.")
    return None


def _decides(question: Question) -> bool:
    """A yes or no must be chosen: a text alone, however clear, is not taken for one."""
    return any(option.effect not in ("choose", "reply") for option in question.options)


def _by_hook(prompt: Prompt) -> bool:
    return any(
        m.by == "hook" and m.state == "desk" and not m.detail.startswith("too late:") for m in prompt.history
    )


def _withdrawn(prompt: Prompt) -> bool:
    end = next((m for m in prompt.history if m.state == "ended"), None)
    return end is not None and end.by == "agent"


def _name(text: str) -> str:
    return repr(_short(text))


def _list(ids: list[str]) -> str:
    lines = [_short(i) if i.isprintable() else _name(i) for i in ids[:20]]
    return ", ".join([*lines, "…"] if len(ids) > len(lines) else lines)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
