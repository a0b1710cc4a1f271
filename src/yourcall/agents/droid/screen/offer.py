"""A dialog of droid as a prompt: what is asked, and which rows can be picked from afar.

Rule: a permission is allowed from afar only if the call is known whole (told by a hook, or not cut on the screen)
and the highlight is seen; else it can only be refused. Several commands in one dialog are allowed all or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from yourcall.agents.droid import tools
from yourcall.agents.kit import prompts
from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.dialogs import (
    CUT,
    DECISION,
    KEY_BAR,
    NO_HIGHLIGHT,
    ONLY_A_PERSON,
    numbered,
    row_option,
    trust_id,
    unknown_title,
)
from yourcall.agents.kit.wire import fields_of, text_of
from yourcall.agents.screen_spec import MatchedCall, Offer, Snapshot, key_options
from yourcall.agents.sightings import AnnouncedCall
from yourcall.model.prompts import Effect, Option, Question
from yourcall.model.screen import Reading, ScreenOption

MANUAL = "Proceed with Manual Approvals"
PROCEED = "Proceed with the proposal"
SEND_BACK = "No and explain why"
_TOLD_ELSEWHERE = "Nothing but the screen tells of these questions, so they are answered at the desk."


def offer(shot: Snapshot) -> Offer:
    """The dialog as the screen alone shows it."""
    reading = shot.reading
    match reading.kind:
        case "permission":
            return _permission(
                shot, prompts.line(f"{reading.title}: {reading.target}"), shot.text, not reading.clipped
            )
        case "plan":
            return _plan(shot, shot.text)
        case "trust":
            asked = Question(DECISION, reading.question or "", tuple(each for _, each in rows(reading)))
            return Offer("trust", prompts.line(f"Trust {reading.target or 'this folder'}?"), shot.text, (asked,))
        case "question":
            options = tuple(o for _, o in rows(reading))
            asked = Question("q1", reading.question or "", options, reading.multi_select, free_text=True)
            several = reading.multi_select or any(
                line.lstrip().startswith(("○", "●")) for line in shot.text.split("\n")
            )
            title = prompts.line(reading.question or "", "A question")
            return Offer(
                "question", title, shot.text, () if several else (asked,), _TOLD_ELSEWHERE if several else ""
            )
        case _:
            asked = Question(DECISION, "Which key?", key_options(KEY_BAR))
            return Offer("unknown", unknown_title(""), shot.text, (asked,))


def _permission(shot: Snapshot, title: str, body: str, whole: bool) -> Offer:
    reading = shot.reading
    options = tuple(each for _, each in rows(reading))
    if reading.selected is None or not whole:
        options = tuple(each for each in options if each.effect == "deny")
    why = NO_HIGHLIGHT if reading.selected is None else "" if whole else CUT
    return Offer("permission", title, body, (Question(DECISION, reading.question or title, options),), why)


def _plan(shot: Snapshot, body: str) -> Offer:
    options = tuple(each for _, each in rows(shot.reading))
    if shot.reading.clipped:
        options = tuple(each for each in options if each.effect == "deny")
    asked = Question(DECISION, "How shall it go on?", options)
    return Offer("plan", "A plan is ready", body, (asked,), CUT if shot.reading.clipped else "")


def rows(reading: Reading) -> list[tuple[int, Option]]:
    """The rows that can be picked, each with its place on the screen."""

    def option(place: int, choice: ScreenOption, taken: set[str]) -> Option:
        effect, says = _effect(reading, choice.label)
        preferred_id = {"allow_once": "allow", "choose": ""}.get(effect, effect)
        if reading.kind == "trust":
            preferred_id = trust_id(choice.label, effect)
        return row_option(place, choice, taken, preferred_id, effect, says)

    return numbered(reading, option, lambda _place, choice: _is_offered(reading, choice))


def _is_offered(reading: Reading, choice: ScreenOption) -> bool:
    """Rows that open something else are picked at the desk."""
    if reading.kind == "plan":
        return choice.label in (PROCEED, SEND_BACK) or choice.label.endswith((" autonomy", "Manual Approvals"))
    return reading.kind == "permission" or choice.key is not None


def _effect(reading: Reading, label: str) -> tuple[Effect, str]:
    match reading.kind:
        case "permission" if label.startswith("No"):
            return "deny", "Refuses it, and stops the turn."
        case "permission":
            if label in ("Yes, allow", "Yes, allow all"):
                return "allow_once", "Allows this once." if label == "Yes, allow" else "Allows all of them, once."
            return "allow_always", "Allows this, and everything of that risk from now on."
        case "plan":
            if label == SEND_BACK:
                return "deny", "Goes on planning; say what to change as the next instruction."
            if label in (PROCEED, MANUAL):
                return "allow_once", "Approves the plan; each change is asked for as before."
            return "allow_session", "Approves the plan, and allows more without asking."
        case "trust":
            if label.startswith("Exit"):
                return "deny", f"droid ends. {ONLY_A_PERSON}"
            return "allow_always", f"droid trusts this folder now and later. {ONLY_A_PERSON}"
        case _:
            return "choose", ""


# --- with what a hook told ------------------------------------------------------------------------------------


def explain(shot: Snapshot, told: Sequence[AnnouncedCall]) -> MatchedCall | None:
    """The dialog with the call that a hook told of, if exactly one call (or several alike) can be meant."""
    fits = [each for each in told if _shows(shot, each)]
    if not fits or len({each.prompt.fingerprint for each in fits}) > 1:
        return None
    first = min(fits, key=lambda each: each.at)
    fields = fields_of(first.input)
    match shot.reading.kind:
        case "question":
            asked = tools.questions_of(text_of(fields, "questionnaire"))
            beside = "" if len(asked) < 2 else f"{len(asked)} questions; all are answered together."
            made = Offer("question", first.prompt.title, beside, asked)
        case "plan":
            whole = replace(shot.reading, clipped=False)
            made = _plan(Snapshot(whole, shot.text, shot.mark), first.prompt.body or shot.text)
        case _:
            made = _permission(shot, first.prompt.title, first.prompt.body or shot.text, whole=True)
    return MatchedCall(made, (first.id,), first.tool, first.input, first.prompt.fingerprint)


def _shows(shot: Snapshot, call: AnnouncedCall) -> bool:
    """Does the dialog show this call, as far as it shows anything?"""
    reading, fields = shot.reading, fields_of(call.input)
    target = reading.target or ""
    match reading.kind:
        case "permission" if reading.title == "Command":
            several = "\n" in target
            return not several and call.tool == tools.SHELL and _is_cut_of(target, text_of(fields, "command"))
        case "permission":
            path = text_of(fields, "file_path")
            return call.tool in tools.WRITES and bool(target) and (path == target or path.endswith(f"/{target}"))
        case "question":
            asked = tools.questions_of(text_of(fields, "questionnaire")) if call.tool == tools.ASK else ()
            return any(squeezed(each.text) == squeezed(reading.question or "") for each in asked)
        case "plan":
            # The page after it, where one chooses how much is asked, is the same plan.
            return call.tool == tools.PLAN
        case _:
            return False


def _is_cut_of(shown: str, command: str) -> bool:
    """New lines are shown as ⏎; of a long command the middle is left out."""
    whole = squeezed(command.replace("\n", "⏎"))
    head, dots, tail = squeezed(shown).partition("...")
    if not dots:
        return head == whole
    return (
        len(head) + len(tail) < len(whole)
        and whole.startswith(head)
        and whole.endswith(tail)
        and bool(head + tail)
    )
