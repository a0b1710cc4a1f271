"""An answer, in Claude's own words: what the held hook will print.

Rule: `allow` always carries the input (older versions insist on it); what stops the turn is marked `strict`, to be
written only while the dialog is known to be open.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from yourcall.agents.claude import requests
from yourcall.agents.kit import forms
from yourcall.agents.spec import HookReply
from yourcall.core.safety import chosen
from yourcall.model.prompts import Answer, Effect, Prompt, Refused


class Request(msgspec.Struct, frozen=True):
    tool_name: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"{}")
    permission_suggestions: list[msgspec.Raw] = []
    elicitation: msgspec.Raw = msgspec.Raw(b"{}")
    hook: str = ""


_request = msgspec.json.Decoder(Request)

DECLINED = "The user declined this call."
STOPPED = "The user declined this call and stopped the turn."


def plan(prompt: Prompt, answer: Answer, request: bytes) -> HookReply | Refused:
    """The one reply that carries this answer, or the reason why there is none."""
    try:
        asked = _request.decode(request)
    except (ValueError, RecursionError):
        return Refused("What the agent asked is no longer on record; answer it at the desk.")
    if prompt.kind == "elicitation":
        return _form(prompt, answer, bytes(asked.elicitation))
    text = answer.texts.get(requests.DECISION, "")
    if prompt.kind == "question":
        return _reply({"behavior": "allow", "updatedInput": _answers(prompt, answer, asked)})
    options = chosen(prompt, answer)
    if len(options) != 1:
        return Refused("Choose one option; free text goes with it.")
    option = options[0]
    if asked.hook == "PreToolUse":
        return _before(option.effect, answer, text)
    match option.effect:
        case "deny":
            message = requests.OUTLINE if option.id == "outline" else text or DECLINED
            return _reply(
                {"behavior": "deny", "message": f"{message}\n\n{text}" if message != text and text else message}
            )
        case "stop":
            decision = {"behavior": "deny", "message": text or STOPPED, "interrupt": True}
            return msgspec.structs.replace(_reply(decision), strict=True)
        case "allow_once" | "allow_session" | "allow_always":
            return _allow(option.id, answer, asked)
        case _:  # whatever an option may say one day: a yes is only ever meant
            return Refused("This option is neither a yes nor a no; answer it at the desk.")


def _before(effect: Effect, answer: Answer, text: str) -> HookReply | Refused:
    """A rule's word before the tool runs; there is no dialog yet."""
    match effect:
        case "allow_once":
            said = {"permissionDecision": "allow", "permissionDecisionReason": f"yourcall: {answer.by}"}
        case "deny":
            said = {"permissionDecision": "deny", "permissionDecisionReason": text or DECLINED}
        case _:
            return Refused("Before a tool runs there is only a yes or a no.")
    return HookReply(_pre_tool_use(said))


def insist(why: str) -> bytes:
    """Before the tool runs: Claude is to ask, whatever its permission mode."""
    return _pre_tool_use({"permissionDecision": "ask", "permissionDecisionReason": f"yourcall: {why}"})


def _pre_tool_use(said: Mapping[str, str]) -> bytes:
    return msgspec.json.encode({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}})


def _allow(option_id: str, answer: Answer, request: Request) -> HookReply | Refused:
    given = request.tool_input
    if answer.input is not None:
        try:
            given = msgspec.Raw(msgspec.json.encode(msgspec.json.decode(answer.input, type=dict[str, object])))
        except (ValueError, RecursionError):
            return Refused("The edited input is not a JSON object.")
    decision: dict[str, object] = {"behavior": "allow", "updatedInput": given}
    number = option_id.removeprefix("remember")
    if number.isdecimal() and 0 < int(number) <= len(request.permission_suggestions):
        decision["updatedPermissions"] = [request.permission_suggestions[int(number) - 1]]
    elif option_id == "approve_edits":
        mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        decision["updatedPermissions"] = [mode]
    return _reply(decision)


def _answers(prompt: Prompt, answer: Answer, request: Request) -> dict[str, object]:
    """As the dialog itself sends them: the label or the person's own words; a word beside a label is a note."""
    fields = msgspec.json.decode(request.tool_input, type=dict[str, object])
    answers: dict[str, str] = {}
    annotations: dict[str, dict[str, str]] = {}
    for question in prompt.questions:
        picked = [o for o in question.options if o.id in answer.choices.get(question.id, ())]
        text = answer.texts.get(question.id, "")
        noted: dict[str, str] = {}
        if picked and not question.multi_select:
            noted = {"preview": picked[0].preview, "notes": text}
            text = ""
        # In a list of boxes the person's own words are one more box that is ticked.
        answers[question.text] = ", ".join([*(o.label for o in picked), *([text] if text else [])])
        if noted := {name: words for name, words in noted.items() if words}:
            annotations[question.text] = noted
    return {**fields, "answers": answers, **({"annotations": annotations} if annotations else {})}


def _form(prompt: Prompt, answer: Answer, schema: bytes) -> HookReply | Refused:
    (action,) = answer.choices.get(forms.ACTION, ("",))
    output: dict[str, object] = {"hookEventName": "Elicitation", "action": action}
    if action == "accept":
        filled = {} if len(prompt.questions) == 1 else forms.content(schema, answer)
        if isinstance(filled, Refused):
            return filled
        output["content"] = filled
    return HookReply(msgspec.json.encode({"hookSpecificOutput": output}))


def _reply(decision: Mapping[str, object]) -> HookReply:
    output = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
    return HookReply(msgspec.json.encode(output))
