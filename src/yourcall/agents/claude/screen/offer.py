"""A dialog read from Claude's screen, as a prompt: what is asked, and which rows can be picked from afar.

Rule: an option is offered only if it can be picked with verified single keys (keys.py) and decides at once; rows
that want a text, and dialogs that show only a part of themselves, are left to the desk, with the reason.
"""

from __future__ import annotations

import re
from functools import partial

from yourcall.agents.claude import pauses
from yourcall.agents.claude.screen import form
from yourcall.agents.kit.dialogs import (
    BEING_WRITTEN,
    DECISION,
    KEY_BAR,
    NO_HIGHLIGHT,
    NOTHING_TO_PICK,
    ONLY_A_PERSON,
    first_word,
    numbered,
    plainly,
    row_option,
    title,
    unknown_title,
)
from yourcall.agents.screen_spec import Offer, Snapshot, key_options
from yourcall.model.prompts import Effect, Kind, Option, Prompt, Question
from yourcall.model.screen import Reading, ScreenOption

TEXT_ROW = re.compile(r"Type (?:here|something)\b|Tell Claude\b", re.I)
_LASTING = re.compile(r"\b(?:always|don['’]t ask)\b", re.I)
_AUTO = re.compile(r"\bauto(?: mode|-accept)\b", re.I)
_SESSION = re.compile(r"\bsession\b", re.I)
_BYPASS = re.compile(r"\bbypass\b", re.I)
_STOPS = "Refuses this and stops the turn; Claude waits for you."

REVISE = "revise"
TELL = "tell"
REVIEW = "Review your answers"
CHAT = "Chat about this"

# At the left edge, where the model cannot write; what it counts down is left out.
_RETRIES = re.compile(r"[·✢✳✶✻✽∗*] (.*?) · Retrying in \d")


def offer(shot: Snapshot) -> Offer:
    reading = shot.reading
    kind: Kind = reading.kind or "unknown"
    why = _only_at_the_desk(shot)
    if kind == "elicitation" and not why:
        return Offer(kind, _title(reading, kind), shot.text, form.questions(shot))
    question = reading.question or reading.title or "What now?"
    options = (
        () if why else key_options(KEY_BAR) if kind == "unknown" else tuple(each for _, each in rows(reading))
    )
    text_row = any(TEXT_ROW.match(choice.label) for choice in reading.options)
    if options and kind == "plan" and text_row:
        options = (*options, Option(REVISE, "Keep planning", "deny", "Claude plans on, with your words."))
    amends = kind == "permission" and amendable(shot)
    if options and amends:
        tells = Option(TELL, "No, and tell Claude", "deny", "Refuses this in your words; Claude goes on.")
        options = (*options, tells)
    several = reading.multi_select and not is_review(reading)
    if several:
        options = tuple(option for option in options if option.label not in (CHAT, "Submit", "Next"))
    words = (text_row and kind in ("question", "plan") and not several) or amends
    asked = (Question(DECISION, question, options, several, words),) if options else ()
    return Offer(kind, _title(reading, kind), shot.text, asked, why)


def trouble(shot: Snapshot) -> Offer | None:
    """Claude calls its service again and again: a line of its own above the input box says so."""
    if shot.reading.state != "working":
        return None
    said = next((match[1] for line in shot.text.split("\n")[::-1] if (match := _RETRIES.match(line))), None)
    now = pauses.retrying(said) if said else None
    return Offer(now.kind, now.title, now.body) if now else None


def amendable(shot: Snapshot) -> bool:
    """Words can be put behind its plain No."""
    last = shot.text.rstrip().split("\n")[-1]
    options = shot.reading.options
    return "Tab to amend" in last and bool(options) and options[-1].label == "No" and bool(shot.reading.target)


def is_review(reading: Reading) -> bool:
    """The last page of several: what was answered so far, to be submitted."""
    return reading.kind == "question" and reading.title == REVIEW


def lone(reading: Reading) -> bool:
    """The only question of its dialog: with several, no single one gives the dialog its name."""
    return reading.title is not None


def previews(shot: Snapshot) -> bool:
    """Beside its rows the highlighted one is shown in a box, and there a digit only moves the highlight."""
    return "n to add notes" in "\n".join(shot.text.rstrip().split("\n")[-3:])


def own_words(reading: Reading, asked: Question) -> int:
    """The row for a person's own words: the one behind the last option, whatever is written in it by now."""
    options = [option.label for option in asked.options if option.label != CHAT and option.id != REVISE]
    places = [n for n, choice in enumerate(reading.options) if choice.label in options]
    return max(places, default=-1) + 1


def rows(reading: Reading) -> list[tuple[int, Option]]:
    """The rows that one person can pick with keys, each with its place on the screen."""
    return numbered(reading, partial(_option, reading), lambda _, choice: not TEXT_ROW.match(choice.label))


def _only_at_the_desk(shot: Snapshot) -> str:
    reading = shot.reading
    if reading.clipped:
        return "Only a part of the dialog fits on the screen: make the window larger, or answer it at the desk."
    if reading.kind == "unknown":
        return ""
    if reading.kind == "elicitation":
        return form.only_at_the_desk(shot)
    if reading.selected is None:
        return NO_HIGHLIGHT
    if reading.text_input and reading.kind == "permission":
        return BEING_WRITTEN
    return "" if rows(reading) else NOTHING_TO_PICK


def _title(reading: Reading, kind: Kind) -> str:
    heading = (reading.title or "").rstrip(":")
    match kind:
        case "trust":
            text = f"Trust this folder? {reading.target or ''}"
        case "permission":
            text = ": ".join(part for part in (heading, reading.target or reading.question) if part)
        case "question" | "plan":
            text = reading.question or heading
        case "unknown":
            text = unknown_title(heading)
        case _:
            text = heading or reading.question or ""
    return title(text)


def _option(reading: Reading, place: int, choice: ScreenOption, taken: set[str]) -> Option:
    effect, says = _effect(reading, choice.label)
    preferred_id = {"allow_once": "allow", "stop": "deny"}.get(effect, effect)
    if reading.kind in ("trust", "startup"):
        # `allow` means this once, and these are for good: they are called by what is on the screen.
        preferred_id = first_word(choice.label)
    unnamed = effect == "choose" or not preferred_id.isascii()
    return row_option(place, choice, taken, "" if unnamed else preferred_id, effect, says)


def _effect(reading: Reading, label: str) -> tuple[Effect, str]:
    """What a row does in Claude, told by its first word and a few others; `choose` where that says nothing."""
    first = first_word(label)
    match reading.kind:
        case "trust" | "startup":
            return _at_the_start(reading, label, first)
        case "plan" if first == "yes":
            if _AUTO.search(label) or _SESSION.search(label):
                return "allow_session", "Approves the plan; what follows is no longer asked one by one."
            return "allow_once", "Approves the plan; each edit is still asked for."
        case "permission" | "plan" if first == "no":
            return "stop", _STOPS
        case "permission" if first == "yes":
            if _AUTO.search(label):
                return "allow_session", "Allows this, and from now on Claude decides by itself what to ask."
            if _SESSION.search(label):
                return "allow_session", "Allows this, and the like until this session ends."
            if _LASTING.search(label):
                return "allow_always", "Allows this, and Claude no longer asks for the like."
            return plainly(label, "yes")
        case _:
            return "choose", ""


def _at_the_start(reading: Reading, label: str, first: str) -> tuple[Effect, str]:
    if first == "no":
        leaves = "exit" in label.lower()
        return ("stop", "Claude leaves.") if leaves else ("deny", "Claude goes on without it.")
    if first != "yes":
        return "choose", ONLY_A_PERSON
    if reading.kind == "trust":
        says = "Claude may read, change and run what is in this folder, now and later."
    elif _BYPASS.search(f"{reading.title} {reading.question}"):
        says = "From now on Claude does anything without asking."
    elif _AUTO.search(label):
        says = "In every project, from now on, Claude decides by itself; you are hardly asked any more."
    else:
        says = "Claude remembers this."
    return "allow_always", f"{says} {ONLY_A_PERSON}"


SHORTEST = 3  # a name shorter than this stands in any text


def shows(prompt: Prompt, shot: Snapshot) -> bool:
    reading = shot.reading
    if reading.state != "waiting" or reading.clipped or reading.kind != prompt.kind:
        return False
    asked = _squeezed(reading.question or "")
    match prompt.kind:
        case "plan":
            return True
        case "question":
            return any(asked == _squeezed(question.text) for question in prompt.questions)
        case "elicitation":
            return bool(asked) and asked in _squeezed(prompt.body)
        case "permission":
            return prompt.tool is not None and about(prompt, reading.target or "")
        case _:
            return False


def about(prompt: Prompt, target: str) -> bool:
    """The command, the file, the address or the tool that the dialog names is that of the request."""
    known = _squeezed(f"{prompt.title}\n{prompt.body}")
    tool = prompt.tool.name if prompt.tool else ""
    if tool.startswith("mcp__"):
        words = re.findall(r"\w+", target.lower())
        return bool(words) and all(word in tool.lower() for word in words)
    if not target or _squeezed(target) in known:
        return bool(target)
    name = target.rstrip("/").rsplit("/", 1)[-1]
    return tool not in ("", "Bash") and len(name) >= SHORTEST and _squeezed(name) in known


def _squeezed(text: str) -> str:
    """Without blanks, and without the bar that is drawn beside a call of several lines."""
    return "".join(text.split()).replace("│", "")
