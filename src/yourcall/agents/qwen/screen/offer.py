"""A dialog of Qwen Code as a prompt: what is asked, and which rows can be picked from afar.

Rule: an option is offered only if one digit picks it and decides at once; and nothing is allowed from afar that
could not be seen whole: of what the screen cuts or wraps, only a no is offered. The channel tells it whole.
"""

from __future__ import annotations

import re
from functools import partial

from yourcall.agents.kit import prompts
from yourcall.agents.kit.dialogs import (
    CUT,
    KEY_BAR,
    NOTHING_TO_PICK,
    ONLY_A_PERSON,
    no_digit,
    numbered,
    row_option,
    trust_id,
    unknown_title,
)
from yourcall.agents.qwen.requests import DECISION
from yourcall.agents.screen_spec import Offer, Snapshot, key_options
from yourcall.model.prompts import Effect, Kind, Option, Question
from yourcall.model.screen import Reading, ScreenOption

OWN_WORDS = re.compile(r"(?:> )?Type something\.\.\.$|> ")
_REFUSES = re.compile(r"(?:No|Don['’]t|Cancel|Reject)\b", re.I)
_LASTING = re.compile(r"\balways\b.*\b(?:project|user)\b", re.I)
_SESSION = re.compile(r"\balways\b|auto-accept|\bSwitch to\b", re.I)
_ALLOWS = re.compile(r"(?:Yes|Always allow|Allow|Switch to)\b", re.I)
_SEVERAL = re.compile(r"Switch tabs \|")

UNTOLD = "Nothing but the screen tells of these questions, so they are answered at the desk."


def offer(shot: Snapshot) -> Offer:
    """The dialog as the screen alone shows it."""
    reading = shot.reading
    kind: Kind = reading.kind or "unknown"
    why = only_at_the_desk(reading, shot.text)
    question = reading.question or reading.title or "What now?"
    if kind == "unknown":
        options = key_options(KEY_BAR)
    else:
        options = () if why else tuple(each for _, each in rows(reading))
    if options and kind == "permission" and (reading.clipped or shot.text.startswith(WRAPPED)):
        options, why = tuple(o for o in options if o.effect == "deny"), CUT
    asked = (Question(DECISION, question, options),) if options else ()
    if kind == "question" and not why:
        asked = (Question("q1", question, options, reading.multi_select, free_text=True),)
    return Offer(kind, _title(reading, kind), shot.text.removeprefix(WRAPPED), asked, why)


# In front of the text of a dialog whose heading takes several lines: new lines in a command look like wraps.
WRAPPED = "\u200b"


def rows(reading: Reading) -> list[tuple[int, Option]]:
    """The rows that one digit picks, each with its place on the screen."""

    def offered(_place: int, choice: ScreenOption) -> bool:
        return choice.key is not None and not OWN_WORDS.match(choice.label)

    return numbered(reading, partial(_option, reading), offered)


def only_at_the_desk(reading: Reading, text: str = "") -> str:
    """Why nothing can be picked from afar, if so."""
    if reading.kind == "question" and (_SEVERAL.search(text) or not reading.options):
        return UNTOLD
    if reading.kind == "question" and not (reading.text_input and OWN_WORDS.match(reading.options[-1].label)):
        return UNTOLD
    if reading.kind == "unknown":
        return ""
    if why := no_digit(reading):
        return why
    return "" if rows(reading) else NOTHING_TO_PICK


def _title(reading: Reading, kind: Kind) -> str:
    match kind:
        case "permission":
            text = ": ".join(part for part in (reading.title, reading.target or reading.question) if part)
        case "plan":
            text = "A plan is ready"
        case "unknown":
            text = unknown_title(reading.title or "")
        case _:
            text = reading.question or reading.title or ""
    return prompts.line(text, "A dialog on the screen")


def _option(reading: Reading, place: int, choice: ScreenOption, taken: set[str]) -> Option:
    effect, says = _effect(reading, choice.label)
    preferred_id = {"allow_once": "allow", "choose": ""}.get(effect, effect)
    if reading.kind == "trust":
        preferred_id = trust_id(choice.label, effect)
    return row_option(place, choice, taken, preferred_id, effect, says)


def _effect(reading: Reading, label: str) -> tuple[Effect, str]:
    """What a row does, told by its words; `choose` where they say nothing."""
    match reading.kind:
        case "trust":
            if _REFUSES.match(label):
                return "deny", f"Qwen Code works here without this folder's settings. {ONLY_A_PERSON}"
            where = "the folder above, with all in it," if "parent" in label.lower() else "this folder"
            return "allow_always", f"Qwen Code trusts {where} now and later. {ONLY_A_PERSON}"
        case "permission" if _REFUSES.match(label):
            return "deny", "Refuses it, and stops the turn."
        case "permission" if _ALLOWS.match(label):
            if label == "Yes, allow once":
                return "allow_once", "Allows this once."
            if _LASTING.search(label):
                return "allow_always", "Allows this, and the like from now on, in later sessions too."
            if label == "Yes, allow always":
                return "allow_session", "Allows this, and further edits until this session ends."
            return "allow_always", "Allows more than this once."
        case "plan" if _REFUSES.match(label):
            return "deny", "Goes on planning."
        case "plan" if _ALLOWS.match(label):
            if _SESSION.search(label):
                return "allow_session", "Approves the plan; edits that follow are not asked for."
            return "allow_once", "Approves the plan; each edit is asked for as it was before."
        case _:
            return "choose", ""
