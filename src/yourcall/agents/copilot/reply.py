"""An answer as the message that our extension carries to exactly that request.

Rule: one request, one message; an option without a reply here is refused, never guessed, and nothing is granted
that was not asked for.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from yourcall.agents.copilot import requests
from yourcall.agents.copilot.requests import DECISION, PLANS, Request, lasting
from yourcall.agents.copilot.wire import Form, Permission, decoded
from yourcall.agents.kit import forms
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Prompt, Refused

GONE = Refused("What Copilot asked is no longer on record; answer it at the desk.")
NEITHER = Refused("Choose one option.")


class Reply(Struct, frozen=True):
    """A message to the extension: what it is to do (`verb`), with which request, and the answer."""

    verb: str
    id: str
    request: str = ""
    result: object = None
    text: str = ""


def reply(prompt: Prompt, answer: Answer, body: bytes) -> Reply | Refused:
    request = decoded(Request, body)
    if request is None:
        return GONE
    if answer.input is not None:
        return Refused(
            "Copilot runs what it asked for or nothing: its input cannot be edited. Deny it with words."
        )
    match request.event:
        case requests.PERMISSION:
            return _permission(prompt, answer, request)
        case requests.FORM:
            return _form(prompt, answer, request)
        case requests.PLAN:
            return _plan(prompt, answer, request)
        case _:
            return GONE


def _permission(prompt: Prompt, answer: Answer, request: Request) -> Reply | Refused:
    permission = decoded(Permission, request.data)
    options = chosen(prompt, answer)
    if permission is None:
        return GONE
    if len(options) != 1:
        return NEITHER
    text = answer.texts.get(DECISION, "").strip()
    match options[0].id:
        case "allow":
            result: dict[str, object] = {"kind": "approve-once"}
        case "session":
            offers = [said for option, said in lasting(permission.promptRequest) if option.id == "session"]
            if not offers:
                return NEITHER
            result = offers[0]
        case "deny" | "stop":
            result = {"kind": "reject", **({"feedback": text} if text else {})}
        case _:
            return NEITHER
    if text and options[0].id not in ("deny", "stop"):
        return Refused("Copilot takes words only with a no. Allow it without words, or deny it and say why.")
    verb = "stop" if options[0].id == "stop" else "permission"
    return Reply(verb, answer.id, request.id, result)


def _form(prompt: Prompt, answer: Answer, request: Request) -> Reply | Refused:
    form = decoded(Form, request.data)
    if form is None:
        return GONE
    action = "accept"
    if prompt.kind == "elicitation":
        (action,) = answer.choices.get(forms.ACTION, ("",))
        if action not in ("accept", "decline", "cancel"):
            return NEITHER
    if action != "accept" or form.mode == "url":
        return Reply("form", answer.id, request.id, {"action": action})
    schema = bytes(form.requestedSchema)
    content = forms.content(schema, answer)
    if isinstance(content, Refused):
        return content
    if prompt.kind == "question":
        content |= _own_words(prompt, answer, schema)
    return Reply("form", answer.id, request.id, {"action": action, "content": content})


def _own_words(prompt: Prompt, answer: Answer, schema: bytes) -> dict[str, object]:
    """What was written where there is a list to choose from: it takes the place of a choice, or joins several."""
    form = msgspec.json.decode(schema, type=forms.Schema)
    fields: dict[str, object] = {}
    for question in prompt.questions:
        text, field = answer.texts.get(question.id, ""), form.properties.get(question.id)
        if not text or not question.options or field is None:
            continue
        picked = answer.choices.get(question.id, ())
        values = forms.choices_of(field) or []
        ticked = [value for n, (_, value) in enumerate(values, 1) if f"o{n}" in picked]
        fields[question.id] = [*ticked, text] if question.multi_select else text
    return fields


def _plan(prompt: Prompt, answer: Answer, request: Request) -> Reply | Refused:
    options, text = chosen(prompt, answer), answer.texts.get(DECISION, "").strip()
    if len(options) > 1 or not (options or text):
        return NEITHER
    if not options or options[0].id == "revise":
        response: dict[str, object] = {"approved": False, **({"feedback": text} if text else {})}
    else:
        action = next((name for name, option in PLANS.items() if option.id == options[0].id), "")
        if not action:
            return NEITHER
        if text:
            return Refused("Copilot takes words only with a no. Approve the plan without words, or keep planning.")
        response = {"approved": True, "selectedAction": action}
    return Reply("plan", answer.id, request.id, response)
