"""A dialog of Gemini CLI as a prompt: what is asked, and which rows can be picked from afar.

Rule: an option is offered only if one digit picks it and decides at once; and nothing is allowed from afar that
could not be seen whole: where the screen cuts it and no hook told it, only a no is offered.
"""

from __future__ import annotations

import re
from functools import partial

from yourcall.agents.gemini.tools import shortened
from yourcall.agents.kit.dialogs import (
    CUT,
    DECISION,
    KEY_BAR,
    NOTHING_TO_PICK,
    ONLY_A_PERSON,
    no_digit,
    numbered,
    plainly,
    row_option,
    trust_id,
    unknown_title,
)
from yourcall.agents.screen_spec import Offer, Snapshot, key_options
from yourcall.model.prompts import Effect, Kind, Option, Question
from yourcall.model.screen import Reading, ScreenOption

# Rows that open something at the desk: an editor, a text field.
AT_THE_DESK = re.compile(r"Modify with\b|Enter a custom value|Type your\b", re.I)
OWN_WORDS = re.compile(r"Enter a custom value|Type your\b", re.I)
_SECRET = re.compile(r"\bAPI key\b|\bpassword\b|\btoken\b", re.I)
_REFUSES = re.compile(r"(?:No|Cancel|Don['’]t|Stop|Decline|Reject)\b", re.I)
_ALLOWS = re.compile(r"(?:Allow|Yes|Trust|Proceed|Approve)\b", re.I)
_SESSION = re.compile(r"\bsession\b|\bautomatically\b", re.I)
_LASTING = re.compile(r"\b(?:always|future|all sessions|permanent)", re.I)
LIMIT = "Usage limit reached"


def offer(shot: Snapshot) -> Offer:
    """The dialog as the screen alone shows it."""
    reading = shot.reading
    kind: Kind = reading.kind or "unknown"
    why = only_at_the_desk(reading)
    question = reading.question or reading.title or "What now?"
    if kind == "unknown":
        options = () if why else key_options(KEY_BAR)
    else:
        options = () if why else tuple(each for _, each in rows(reading))
    if not why and reading.clipped and kind != "unknown":
        options, why = tuple(o for o in options if o.effect in ("deny", "stop")), CUT
    asked = (Question(DECISION, question, options),) if options else ()
    limited = kind == "startup" and (reading.title or "").startswith(LIMIT)
    return Offer(kind, _title(reading, kind), shot.text, asked, why, limited)


def rows(reading: Reading) -> list[tuple[int, Option]]:
    """The rows that one digit picks, each with its place on the screen."""
    own = own_row(reading)

    def offered(place: int, choice: ScreenOption) -> bool:
        return choice.key is not None and place != own and not AT_THE_DESK.match(choice.label)

    return numbered(reading, partial(_option, reading), offered)


def own_row(reading: Reading) -> int | None:
    """The row for the person's own words. Words typed there take the place of its label, and stay there in the
    next dialog; it is always the last one."""
    named = next((n for n, each in enumerate(reading.options) if OWN_WORDS.match(each.label)), None)
    if named is not None or reading.kind != "plan":
        return named
    return len(reading.options) - 1 if len(reading.options) > 1 else None


def only_at_the_desk(reading: Reading) -> str:
    """Why nothing can be picked from afar, if so."""
    text = f"{reading.title} {reading.question}"
    if reading.kind == "startup" and reading.text_input:
        secret = " It asks for a secret, which yourcall never carries." if _SECRET.search(text) else ""
        return f"This is typed at the desk.{secret}"
    if reading.kind == "unknown":
        return ""
    if reading.multi_select:
        return "Several boxes can be ticked here, and no hook told which: answer it at the desk."
    if why := no_digit(reading):
        return why
    return "" if rows(reading) else NOTHING_TO_PICK


def _title(reading: Reading, kind: Kind) -> str:
    heading = (reading.title or "").rstrip(":")
    match kind:
        case "permission":
            text = ": ".join(part for part in (heading, reading.target or reading.question) if part)
        case "question" | "plan":
            text = reading.question or heading
        case "unknown":
            text = unknown_title(heading)
        case _:
            text = heading or reading.question or ""
    return shortened(text) or "A dialog on the screen"


def _option(reading: Reading, place: int, choice: ScreenOption, taken: set[str]) -> Option:
    effect, says = _effect(reading, choice.label)
    preferred_id = {"allow_once": "allow", "choose": ""}.get(effect, effect)
    if reading.kind == "trust":
        preferred_id = trust_id(choice.label, effect)
    return row_option(place, choice, taken, preferred_id, effect, says)


def _effect(reading: Reading, label: str) -> tuple[Effect, str]:
    """What a row does in Gemini CLI, told by its first word and a few others; `choose` where that says nothing."""
    match reading.kind:
        case "trust":
            if _REFUSES.match(label):
                return "deny", f"Gemini works here, in a restricted mode. {ONLY_A_PERSON}"
            where = "the folder above, with all in it," if "parent" in label.lower() else "this folder"
            return "allow_always", f"Gemini trusts {where} now and later: its settings and tools. {ONLY_A_PERSON}"
        case "permission" if _REFUSES.match(label):
            return "deny", "Refuses this one. If nothing else of the turn is allowed, the turn stops."
        case "permission" if _ALLOWS.match(label):
            if _LASTING.search(label):
                return "allow_always", "Allows this, and the like from now on, in later sessions too."
            if _SESSION.search(label):
                return "allow_session", "Allows this, and the like until this session ends."
            return plainly(label, "allow once")
        case "plan" if _ALLOWS.match(label):
            if _SESSION.search(label):
                return "allow_session", "Approves the plan; edits that follow are no longer asked for."
            return "allow_once", "Approves the plan; each edit is still asked for."
        case "startup":
            return "choose", ONLY_A_PERSON
        case _:
            return "choose", ""
