"""A dialog read from Codex's screen, as a prompt: what is asked, and which rows can be picked from afar.

Rule: an option is offered only if it can be picked with verified single keys (keys.py) and decides at once. What
shows only a part of itself is not allowed from afar; signing in, and forms, are left to the desk, with the reason.
"""

from __future__ import annotations

import re
from functools import partial

from yourcall.agents.codex.screen.dialog import field_open
from yourcall.agents.kit.dialogs import (
    BEING_WRITTEN,
    DECISION,
    KEY_BAR,
    NO_HIGHLIGHT,
    NOTHING_TO_PICK,
    ONLY_A_PERSON,
    first_word,
    numbered,
    row_option,
    title,
    unknown_title,
)
from yourcall.agents.screen_spec import Offer, Snapshot, key_options
from yourcall.model.prompts import Effect, Kind, Option, Question
from yourcall.model.screen import Reading, ScreenOption

# A page of a form, or of an MCP server's request; `1/1` has nothing behind it.
_PAGE = re.compile(r"Field (\d+)/(\d+)\b")
_CANNOT_DRAW = re.compile(r"\bneeds your approval\.$")
_SIGN_IN = re.compile(r"(?:Sign in|Log in|Use an? \S+ API key|Use Amazon)\b", re.I)
_RULE = re.compile(r"\bdon['’]t ask again for commands that start with\b", re.I)
_SESSION = re.compile(r"\bsession\b|\bthese files\b", re.I)
_LASTING = re.compile(r"\balways\b|\bdon['’]t ask\b", re.I)
_STOPS = "Refuses this and stops the turn; Codex waits for you."


def offer(shot: Snapshot, whole: bool = False) -> Offer:
    """`whole`: the person sees all of it by other means, even if the screen shows only a part."""
    reading = shot.reading
    kind: Kind = reading.kind or "unknown"
    why = _only_at_the_desk(shot, whole)
    question = reading.question or reading.title or "What now?"
    seen = [each for _, each in rows(reading) if whole or not reading.clipped or each.effect in ("deny", "stop")]
    options = () if why else key_options(KEY_BAR) if kind == "unknown" else tuple(seen)
    asked = (Question(DECISION, question, options),) if options else ()
    if not why and reading.clipped and kind == "plan":
        why = "Only a part of the plan fits on the screen, so it can be declined from here but not approved."
    return Offer(kind, _title(reading, kind), shot.text, asked, why)


def rows(reading: Reading) -> list[tuple[int, Option]]:
    """The rows that one person can pick with keys, each with its place on the screen."""
    return numbered(reading, partial(_option, reading))


def by_highlight(reading: Reading) -> bool:
    """Is a row of this dialog picked by moving the highlight, and Enter once it is seen there?

    On start-up pages a digit decides in one version (0.142.5: hooks), only moves the highlight in another (0.166:
    hooks), or does one thing for one row and another for the next (0.166.0: trust). Arrows always mean the same.
    """
    return reading.kind in ("trust", "startup") or _PAGE.match(reading.title or "") is not None


def _only_at_the_desk(shot: Snapshot, whole: bool) -> str:
    reading = shot.reading
    if reading.kind == "unknown":
        return ""
    if reading.clipped and not whole and reading.kind != "plan":
        return "Only a part of the dialog fits on the screen: make the window larger, or answer it at the desk."
    if any(_SIGN_IN.match(choice.label) for choice in reading.options) and reading.kind == "startup":
        return "Codex is not signed in. Do that at the desk: it needs a browser or a key."
    if reading.kind == "elicitation" and not _single(reading):
        return "This form cannot be filled in from here: answer it at the desk."
    if reading.multi_select:
        return "Several boxes can be ticked here: answer it at the desk."
    if reading.selected is None:
        return NO_HIGHLIGHT
    if reading.kind == "question" and field_open(shot.text):
        return BEING_WRITTEN
    return "" if rows(reading) else NOTHING_TO_PICK


def _single(reading: Reading) -> bool:
    """One field whose rows are all there is to it. (A form that Codex cannot draw would be sent empty.)"""
    page = _PAGE.match(reading.title or "")
    return page is not None and page[1] == page[2] == "1" and bool(reading.options) and not reading.text_input


def _title(reading: Reading, kind: Kind) -> str:
    heading = (reading.title or "").rstrip(":")
    asked = reading.question or heading
    match kind:
        case "trust":
            text = f"Trust this folder? {reading.target or ''}"
        case "permission" if reading.target and asked.startswith("Would you like to"):
            text = f"{_subject(asked)}: {reading.target}"
        case "permission" | "question" | "plan" | "elicitation":
            text = asked
        case "unknown":
            text = unknown_title(heading)
        case _:
            text = heading or asked
    return title(text)


def _subject(asked: str) -> str:
    """What a request is about, in one word or two."""
    for word, subject in (
        ("command", "Command"),
        ("edits", "Edit"),
        ("permissions", "Permissions"),
        ("send input", "Input"),
    ):
        if word in asked:
            return subject
    return "Permission"


def _option(reading: Reading, place: int, choice: ScreenOption, taken: set[str]) -> Option:
    effect, says = _effect(reading, choice.label)
    preferred_id = {"allow_once": "allow", "stop": "deny"}.get(effect, effect)
    if reading.kind in ("trust", "startup"):
        # `allow` means this once, and these are for good: they are called by what is on the screen.
        preferred_id = first_word(choice.label)
    named = effect != "choose" or reading.kind in ("trust", "startup")
    unnamed = not named or not preferred_id.isascii()
    return row_option(place, choice, taken, "" if unnamed else preferred_id, effect, says)


def _effect(reading: Reading, label: str) -> tuple[Effect, str]:
    """What a row does in Codex, told by its first word and a few others; `choose` where that says nothing."""
    first = first_word(label)
    match reading.kind:
        case "trust" | "startup":
            return _at_the_start(reading, first)
        case "plan" if first == "yes":
            if "clear context" in label.lower():
                return "allow_session", "Approves the plan; Codex starts afresh with nothing but the plan."
            return "allow_once", "Approves the plan; Codex begins to work on it."
        case "plan" if first == "no":
            return "deny", "Codex stays in plan mode and waits for you."
        case "permission" | "elicitation" if first == "cancel":
            return "stop", "Cancels this call."
        case "elicitation" if first in ("deny", "no"):
            return "deny", "Declines this request; the turn goes on."
        case "permission" if first == "no":
            goes_on = "continue" in label.lower()
            return ("deny", "Refuses this; the turn goes on.") if goes_on else ("stop", _STOPS)
        case "permission" if first in ("yes", "allow", "always"):
            return _allowing(label)
        case "elicitation" if first in ("yes", "allow"):
            return "allow_once", "Lets the server go on."
        case _:
            return "choose", ""


def _allowing(label: str) -> tuple[Effect, str]:
    if _RULE.search(label):
        return (
            "allow_always",
            "Allows this, and writes a rule: Codex never asks for such commands again.",
        )
    if _SESSION.search(label):
        return "allow_session", "Allows this, and the like until this session ends."
    if _LASTING.search(label):
        return "allow_always", "Allows this, and Codex no longer asks for the like."
    if re.fullmatch(r"(?:yes|yes, proceed|allow)", label, re.I):
        return "allow_once", "Allows this once."
    if "turn" in label.lower():
        return "allow_once", "Grants this until the turn ends."
    return "allow_always", "Allows more than this once."


def _at_the_start(reading: Reading, first: str) -> tuple[Effect, str]:
    if reading.kind == "trust" and first in ("trust", "yes"):
        says = "Codex may read, change and run what is in this folder, now and later."
        return "allow_always", f"{says} {ONLY_A_PERSON}"
    if first == "trust":
        return "allow_always", f"Codex runs these hooks from now on, outside its sandbox. {ONLY_A_PERSON}"
    if first in ("quit", "exit") or (reading.kind == "trust" and first == "no"):
        return "stop", "Codex leaves."
    if first == "back":
        return "deny", "The folder is not trusted; Codex goes back to its list of agents."
    if first == "continue":
        return "deny", "Codex goes on without it."
    return "choose", ONLY_A_PERSON
