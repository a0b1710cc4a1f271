"""An answer to a request, as the message that our plugin carries out.

Rule: it names the very request, by the id that opencode gave it; nothing is answered by place or by kind.
"""

from __future__ import annotations

from yourcall.agents.kit.wire import decoded
from yourcall.agents.opencode.requests import ALWAYS, DECISION, DISMISS, ONCE, REJECT, Kept
from yourcall.agents.opencode.wire import encoded
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Prompt, Refused

WORDS = {ONCE: "once", ALWAYS: "always", REJECT: "reject"}
LOST = "What was asked is no longer on record; answer it at the desk."


def reply(prompt: Prompt, answer: Answer, request: bytes) -> tuple[str, bytes] | Refused:
    """What it asks for (`once`, `always`, `reject`, `answers`), and the message."""
    kept = decoded(Kept, request)
    if kept is None:
        return Refused(LOST)
    if answer.input is not None:
        return Refused("An edited input can't be sent: reject it, and write what to do instead.")
    picked = chosen(prompt, answer)
    if kept.kind == "question":
        if any(option.id == DISMISS for option in picked):
            return "reject", encoded(type="dismiss", id=kept.id)
        return "answers", encoded(type="question", id=kept.id, answers=answers(prompt, answer, kept))
    if len(picked) != 1 or picked[0].id not in WORDS:
        return Refused("Choose one option; a text goes with a rejection.")
    word = WORDS[picked[0].id]
    text = answer.texts.get(DECISION, "").strip()
    if text and word != "reject":
        return Refused("A text can only go with a rejection: allow this without one, and give an instruction.")
    return word, encoded(type="permission", id=kept.id, reply=word, message=text)


def answers(prompt: Prompt, answer: Answer, kept: Kept) -> list[list[str]]:
    """For each question the labels that were chosen, as they were offered, and the own text."""
    found: list[list[str]] = []
    for question, labels in zip(prompt.questions, kept.labels, strict=False):
        picked = [labels[int(id[1:])] for id in answer.choices.get(question.id, ()) if id != DISMISS]
        text = answer.texts.get(question.id, "").strip()
        found.append([*picked, text] if text else picked)
    return found
