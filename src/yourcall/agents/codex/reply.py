"""An answer in the words of Codex's protocol: the result of the request, and what is said besides.

Rule: one request, one result; nothing is granted that was not asked for, and an option without a reply here is
refused, never guessed.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from yourcall.agents.codex import requests
from yourcall.agents.codex.requests import DECISION, Params, Request
from yourcall.agents.kit import forms
from yourcall.agents.kit.wire import decoded
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused

GONE = Refused("What Codex asked is no longer on record; answer it at the desk.")
NEITHER = Refused("This option is neither a yes nor a no; answer it at the desk.")


class Planned(Struct, frozen=True):
    """`result` answers the request. `then`: words for Codex besides. `wants`: what it asks to become of it."""

    result: object
    wants: Outcome
    then: str = ""


def plan(prompt: Prompt, answer: Answer, request: bytes) -> Planned | Refused:
    kept_request = decoded(Request, request)
    params = decoded(Params, kept_request.params) if kept_request else None
    if kept_request is None or params is None:
        return GONE
    if answer.input is not None:
        return Refused(
            "Codex runs what it asked for or nothing: its input cannot be edited. Deny it with a reason."
        )
    match kept_request.method:
        case requests.INPUT:
            return Planned({"answers": _answers(prompt, answer)}, "allowed")
        case requests.ELICITATION if prompt.kind == "elicitation":
            return _form(prompt, answer, params)
        case requests.COMMAND | requests.CHANGE | requests.PERMISSIONS | requests.ELICITATION:
            return _decision(kept_request.method, prompt, answer, params, kept_request.params)
        case _:
            return GONE


def _decision(method: str, prompt: Prompt, answer: Answer, params: Params, given: Raw) -> Planned | Refused:
    options = chosen(prompt, answer)
    if len(options) != 1:
        return Refused("Choose one option.")
    option, text = options[0], answer.texts.get(DECISION, "").strip()
    wants: Outcome = {"deny": "denied", "stop": "stopped"}.get(option.effect, "allowed")  # pyright: ignore[reportAssignmentType]
    if method == requests.PERMISSIONS:
        result = _granted(option.id, given)
    elif method == requests.ELICITATION:
        result = _mcp(option.id)
    else:
        result = _decided(option.id, params)
    return NEITHER if result is None else Planned(result, wants, text)


def _decided(option: str, params: Params) -> object | None:
    for offer, decision in requests.offers(params):
        if offer.id == option:
            return {"decision": decision}
    text = {"allow": "accept", "session": "acceptForSession", "deny": "decline", "stop": "cancel"}.get(option)
    return {"decision": text} if text else None


class Wanted(Struct, frozen=True):
    permissions: Raw


def _granted(option: str, given: Raw) -> object | None:
    """Exactly what was asked for, back again."""
    if option == "deny":
        return {"permissions": {}}
    scope = {"allow": "turn", "session": "session"}.get(option)
    wanted = decoded(Wanted, given)
    return {"permissions": wanted.permissions, "scope": scope} if scope and wanted else None


def _mcp(option: str) -> object | None:
    match option:
        case "allow":
            return {"action": "accept", "content": {}}
        case "session" | "always":
            return {"action": "accept", "content": {}, "_meta": {"persist": option}}
        case "deny":
            return {"action": "decline"}
        case _:
            return None


def _form(prompt: Prompt, answer: Answer, params: Params) -> Planned | Refused:
    (action,) = answer.choices.get(forms.ACTION, ("",))
    wants: dict[str, Outcome] = {"accept": "allowed", "decline": "denied", "cancel": "stopped"}
    if action not in wants:
        return NEITHER
    result: dict[str, object] = {"action": action}
    if action == "accept" and params.mode != "url":
        filled = {} if len(prompt.questions) == 1 else forms.content(bytes(params.requestedSchema), answer)
        if isinstance(filled, Refused):
            return filled
        result["content"] = filled
    return Planned(result, wants[action])


def _answers(prompt: Prompt, answer: Answer) -> dict[str, object]:
    """The labels that were chosen; what was written goes with them as a note, as in Codex's own dialog."""
    payload: dict[str, object] = {}
    for question in prompt.questions:
        picked = [o.label for o in question.options if o.id in answer.choices.get(question.id, ())]
        text = answer.texts.get(question.id, "")
        note = [f"user_note: {text}"] if text else []
        if picked or note:
            payload[question.id] = {"answers": [*picked, *note]}
    return payload


def answers_told(prompt: Prompt, answer: Answer) -> bytes:
    """What the record of a question will hold if this answer decided."""
    return msgspec.json.encode({"answers": _answers(prompt, answer)})
