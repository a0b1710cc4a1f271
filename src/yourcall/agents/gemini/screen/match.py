"""Which call is the dialog on the screen about? What Gemini CLI's hooks told, laid beside what the screen shows.

Rule: the dialog must show what was told, as far as it shows anything; of several calls that would fit and differ,
none is meant. Then the person sees only the screen, and what the screen cuts is not allowed from afar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from yourcall.agents.gemini import tools
from yourcall.agents.gemini.screen.offer import offer, only_at_the_desk, rows
from yourcall.agents.gemini.wire import Details
from yourcall.agents.kit.composer import squeezed
from yourcall.agents.kit.dialogs import CUT, DECISION
from yourcall.agents.kit.wire import fields_of, text_of
from yourcall.agents.screen_spec import MatchedCall, Offer, Snapshot
from yourcall.agents.sightings import AnnouncedCall
from yourcall.model.prompts import Option, Question
from yourcall.model.screen import Reading

PLAN_FEEDBACK = "feedback"
_MCP_ASKS = re.compile(r'MCP tool "([^"]+)" from server "([^"]+)"')
_HEAD_JSON = re.compile(r"\{.*", re.DOTALL)


class _Fit(msgspec.Struct, frozen=True):
    """An asked dialog, with the call behind it if that was told too."""

    asked: AnnouncedCall
    details: Details
    tool: str
    input: bytes
    mark: str
    call: AnnouncedCall | None = None


def explain(shot: Snapshot, told: Sequence[AnnouncedCall]) -> MatchedCall | None:
    """The dialog with what was told of it, if exactly one call (or several alike) can be meant."""
    reading = shot.reading
    fits = [fit for each in told if each.asked for fit in _fits(reading, shot, each, told)]
    if not fits or len({(fit.mark, fit.input) for fit in fits}) > 1:
        return None
    first = min(fits, key=lambda fit: fit.asked.at)
    made = _offer(shot, first)
    ids = (first.asked.id, *([first.call.id] if first.call else []))
    return None if made is None else MatchedCall(made, ids, first.tool, first.input, first.mark)


def _same_call(details: Details, call: AnnouncedCall) -> bool:
    fields = fields_of(call.input)
    match details.type:
        case "exec":
            return call.tool == tools.SHELL and text_of(fields, "command") == details.command
        case "edit":
            path = text_of(fields, "file_path")
            same = path == details.filePath or details.filePath.endswith("/" + path.removeprefix("./"))
            content = text_of(fields, "content")
            return call.tool in tools.WRITES and bool(path) and same and content in ("", details.newContent)
        case "mcp":
            return call.tool.endswith(f"_{details.toolName}") and details.serverName in call.tool
        case "ask_user":
            return call.tool == tools.ASK
        case "exit_plan_mode":
            return call.tool == tools.PLAN
        case "info":
            text = text_of(fields, "prompt")
            return text == details.prompt if text else call.tool not in (*tools.WRITES, tools.SHELL, tools.ASK)
        case _:
            return False


def _fits(
    reading: Reading, shot: Snapshot, announced: AnnouncedCall, calls: Sequence[AnnouncedCall]
) -> list[_Fit]:
    """The asked dialog with each call that may be behind it, as far as the screen agrees."""
    details = tools.details_of(announced.input)
    behind = [each for each in calls if not each.asked and _same_call(details, each)]
    fits = [
        _Fit(announced, details, call.tool, call.input, call.prompt.fingerprint, call)
        for call in behind
        if _shows(reading, shot, details, call)
    ]
    if fits or behind or not _shows(reading, shot, details, None):
        return fits
    name = announced.prompt.tool.name if announced.prompt.tool else ""
    return [_Fit(announced, details, name, b"", announced.prompt.fingerprint)]


def _shows(reading: Reading, shot: Snapshot, details: Details, call: AnnouncedCall | None) -> bool:
    """Does the dialog show this, as far as it shows anything?"""
    target = reading.target or ""
    match details.type:
        case "exec" if reading.kind == "permission":
            return _tail(target, details.command, cut=reading.clipped) and not _MCP_ASKS.search(
                reading.question or ""
            )
        case "edit" if reading.kind == "permission":
            name = details.fileName or details.filePath
            return bool(target) and (name.endswith(target) or details.filePath.endswith(target))
        case "mcp" if reading.kind == "permission":
            named = _MCP_ASKS.search(reading.question or "")
            known = (details.toolName, details.toolDisplayName)
            if named is None or named[1] not in known or named[2] != details.serverName:
                return False
            return call is None or _arguments(shot, call)
        case "info" if reading.kind == "permission":
            urls = details.urls or []
            text = squeezed(target)
            return all(squeezed(url) in text for url in urls) if urls else squeezed(details.title) in text
        case "ask_user" if reading.kind == "question" and call is not None:
            asked = [squeezed(question.text) for question in tools.questions_of(call.input)]
            text = squeezed(reading.question or "")
            return bool(text) and any(text in each or each in text for each in asked)
        case "exit_plan_mode":
            return reading.kind == "plan"
        case _:
            return False


def _tail(text: str, command: str, *, cut: bool) -> bool:
    """A tall command is cut at its top: what is left must be its end."""
    seen, whole = squeezed(text), squeezed(command)
    return seen == whole or (cut and bool(seen) and whole.endswith(seen))


def _arguments(shot: Snapshot, call: AnnouncedCall) -> bool:
    """The heading shows the beginning of the arguments."""
    heading = next((line for line in shot.text.split("\n") if line.startswith("?")), "")
    match = _HEAD_JSON.search(heading)
    if match is None:
        return True
    text = squeezed(match[0].rstrip("… "))
    return text in squeezed(msgspec.json.encode(fields_of(call.input)).decode()) or text in squeezed(
        call.input.decode("utf-8", "replace")
    )


def _offer(shot: Snapshot, fit: _Fit) -> Offer | None:
    reading = shot.reading
    fields = fields_of(fit.input)
    told = fit.asked.prompt
    title = tools.title_of(fit.tool, fields) if fields else told.title
    if reading.kind == "question":
        asked = tools.questions_of(fit.input)
        return Offer("question", title, _beside(asked), asked) if asked else None
    if reading.kind == "plan":
        return _plan(shot, title)
    why = only_at_the_desk(reading)
    if why:
        return None
    whole = bool(fields) or fit.details.type in ("exec", "edit")
    options = tuple(each for _, each in rows(reading) if whole or not reading.clipped or each.effect == "deny")
    body = (tools.body_of(fit.tool, fields, fit.details) if fields else "") or told.body or shot.text
    asked = Question(DECISION, reading.question or title, options)
    return Offer("permission", title, body, (asked,), "" if whole or not reading.clipped else CUT)


def _plan(shot: Snapshot, title: str) -> Offer:
    """The plan itself is only on the screen: it can be approved if it is there whole."""
    yes = tuple(option for _, option in rows(shot.reading) if not shot.reading.clipped)
    no = Option(PLAN_FEEDBACK, "Send it back", "deny", "Refuses the plan; your words tell what to change.")
    question = Question(DECISION, shot.reading.question or title, (*yes, no), free_text=True)
    return Offer("plan", title, shot.text, (question,), CUT if shot.reading.clipped else "")


def _beside(questions: tuple[Question, ...]) -> str:
    return "" if len(questions) < 2 else f"{len(questions)} questions; all are answered together."


def offered(shot: Snapshot) -> Offer:
    """For a dialog that nobody told of."""
    if shot.reading.kind == "plan" and shot.reading.selected is not None:
        return _plan(shot, offer(shot).title)
    return offer(shot)
