"""What an ACP agent asks a person, as prompts; and an answer, as the reply the agent waits for.

Rule: an answer names one of the options of the very request it answers, by that option's own id. Nothing is
concluded from the order of options, and nothing is answered by kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import cast

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from yourcall.agents.acp import wording
from yourcall.agents.acp.table import OTHER, Row
from yourcall.agents.acp.wire import Call, Choice, Elicitation, Permission
from yourcall.agents.kit import forms, prompts
from yourcall.agents.kit.prompts import RequestView, derived_id
from yourcall.agents.kit.wire import decoded, fields_of, text_of
from yourcall.core.safety import chosen
from yourcall.model.action import Action, CallKind
from yourcall.model.events import PromptRaised
from yourcall.model.prompts import Answer, Effect, Option, Outcome, Prompt, Question, Refused
from yourcall.model.sessions import Session

LINK = "stdio"
DECISION = "decision"
STOP = "stop"
PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"

LONGEST_PATH = 4096
MOST_OPTIONS = 30
SHORT_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# A field of this name beside another is that one's free text (claude-agent-acp's questions).
CUSTOM = "_custom"

# How much a choice grants; more than all of these: one of a kind that nobody knows.
WIDTHS = {"reject_once": 0, "reject_always": 0, "allow_once": 1, "allow_always": 2}
ORDER: tuple[Effect, ...] = ("allow_once", "allow_session", "allow_always", "deny", "stop")

CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Request(Struct, frozen=True):
    """A request as it is kept: enough to answer it, and to show it."""

    method: str
    params: Raw
    tool_name: str = ""
    tool_input: Raw = field(default_factory=lambda: Raw(b"null"))


def raised(
    session: Session, key: str, method: str, params: Raw, shown: RequestView, subagent: str, at: float
) -> tuple[PromptRaised, dict[str, bytes]]:
    """The prompt of a request. `key`: what makes it one request among all this session ever had."""
    body = wording.encoded(
        {"method": method, "params": params, "tool_name": shown.tool, "tool_input": shown.input}
    )

    return prompts.raised(
        shown,
        body,
        session,
        id=derived_id(session.id, key),
        fingerprint=derived_id("acp", session.id, key),
        link=LINK,
        at=at,
        subagent=subagent,
        answerable=True,
    )


# --- permissions and plans ------------------------------------------------------------------------------------


def permission(row: Row, asked: Permission, call: Call, plan: str) -> RequestView | None:
    """`call`: all that was told of the call so far. `plan`: the text of the plan it wants approved, if known."""
    if not asked.options or len(asked.options) > MOST_OPTIONS:
        return None
    offered = [_option(row, choice, id) for choice, id in _named(asked.options)]
    # Agents list them in any order, the widest grant first as a rule; a person finds the least one first.
    options = tuple(sorted(offered, key=lambda option: ORDER.index(option.effect)))
    if not any(choice.optionId in row.stops for choice in asked.options):
        does = f"Refuses this and stops the turn; {row.title} waits for you."
        options = (*options, Option(STOP, "Deny and stop", "stop", does))
    file = plan_file(row, call)
    if file or call.kind == "switch_mode":
        text = plan or text_of(fields_of(call.rawInput), "plan") or wording.said(call)
        unseen = "" if text else f"{row.title} does not show the plan itself here."
        question = Question(DECISION, "Approve this plan?", options)
        body = prompts.paragraphs(text, unseen, file)
        return RequestView("plan", "Approve the plan?", body, questions=(question,), call_id=call.toolCallId)
    return _tool(row, call, Question(DECISION, f"May {row.title} do this?", options))


def plan_file(row: Row, call: Call) -> str:
    """The file with the plan that a call wants approved, where its title names one."""
    title, begins = call.title or "", row.plan_title
    return title.removeprefix(begins).strip() if begins and title.startswith(begins) else ""


def _tool(row: Row, call: Call, question: Question) -> RequestView:
    command, why = wording.command_of(call, row.command), wording.reason_of(call, row.reason)
    tool, given = wording.tool_of(call, command, why, row.tool_ends)
    changed, fields = wording.changes(call), fields_of(call.rawInput)
    text = command or call.title or ""
    named = f"{tool}: {text}" if text and tool == wording.name_of(call, row.tool_ends) else text
    title = prompts.line(named, f"{row.title} wants to use a tool")
    if changed:
        body = prompts.paragraphs(wording.diff(changed))
    else:
        raw = "" if command or not fields else wording.encoded(fields).decode("utf-8", "replace")
        body = prompts.paragraphs(
            text if text != title or tool == "Bash" else "",
            why if why != text else "",
            raw,
            "\n".join(wording.paths(call)),
        )
    where = text_of(fields, row.folder) if row.folder else ""
    cwd = where[:LONGEST_PATH] if where.startswith("/") else ""
    return RequestView("permission", title, body, tool, given, (question,), call.toolCallId, cwd)


def _named(choices: list[Choice]) -> list[tuple[Choice, str]]:
    """Each choice with the id it goes by here: its own, unless that is no word. Of several with one id only the
    widest: an agent may take the answer for that one, whichever was meant."""
    widest: dict[str, Choice] = {}
    for choice in choices:
        before = widest.setdefault(choice.optionId, choice)
        if WIDTHS.get(choice.kind, len(WIDTHS)) > WIDTHS.get(before.kind, len(WIDTHS)):
            widest[choice.optionId] = choice
    return [
        (choice, own if SHORT_ID.fullmatch(own) and own != STOP else _free_name(number, widest))
        for number, (own, choice) in enumerate(widest.items(), 1)
    ]


def _free_name(number: int, taken: Collection[str]) -> str:
    name = f"o{number}"
    while name in taken:
        name += "_"
    return name


def _option(row: Row, choice: Choice, id: str) -> Option:
    known = row.name != OTHER.name  # of an agent that nobody has looked at, nothing is promised
    goes_on = f" {row.title} goes on." if known else ""
    effect: Effect
    match choice.kind:
        case "allow_once":
            effect, does = "allow_once", "Does this once; the next one is asked again."
        case "allow_always" if choice.optionId in row.for_session:
            effect, does = (
                "allow_session",
                "Does this, and is not asked again for the like until this session ends.",
            )
        case "allow_always":
            effect, does = "allow_always", "Does this, and is not asked again for what the label says."
        case "reject_once" | "reject_always" if choice.optionId in row.stops:
            effect, does = "deny", f"Refuses this and ends the turn; {row.title} waits for you."
        case "reject_once":
            effect, does = "deny", f"Refuses this.{goes_on}"
        case "reject_always":
            effect, does = "deny", f"Refuses this, and the like from now on, unasked.{goes_on}"
        case _:
            # The most that it could mean, so that nobody and no rule takes it for less.
            effect, does = "allow_always", "The agent does not say what this does."
    return Option(id, prompts.line(choice.name, id), effect, does)


# --- forms and questions --------------------------------------------------------------------------------------


def elicitation(row: Row, asked: Elicitation) -> RequestView | None:
    message = asked.message.strip()
    if asked.mode == "url":
        if not asked.url:
            return None
        body = prompts.paragraphs(message, f"Open this address, if you trust it:\n{asked.url}")
        action = (forms.action(True, row.title),)
        title = prompts.line(message, "Open an address")
        return RequestView("elicitation", title, body, questions=action, form=asked.elicitationId or "")
    fields = forms.questions(bytes(asked.requestedSchema)) if asked.mode == "form" else None
    if fields is None:
        # There is no desk to send anybody to: what cannot be shown can at least be declined.
        action = forms.action(False, row.title)
        unfillable = replace(action, options=action.options[1:])
        body = prompts.paragraphs(message, "This form has a field that yourcall cannot ask for.")
        title = prompts.line(message, "A form")
        call_id = asked.toolCallId or ""
        return RequestView("elicitation", title, body, questions=(unfillable,), call_id=call_id)
    if asked.toolCallId and (questions := _merged(fields, message)):
        title = prompts.line(message, "A question")
        return RequestView("question", title, "", questions=questions, call_id=asked.toolCallId)
    action = forms.action(False, row.title)
    title, body = prompts.line(message, "A form"), prompts.cut(message)
    questions = (*fields, action)
    return RequestView("elicitation", title, body, questions=questions, call_id=asked.toolCallId or "")


def _merged(fields: tuple[Question, ...], message: str) -> tuple[Question, ...]:
    """Fields that are one question each, with a second field for an own answer; empty if they are not."""
    own = {each.id for each in fields if not each.options}
    questions = [each for each in fields if each.options]
    if not questions or own != {each.id + CUSTOM for each in questions}:
        return ()
    alone = len(questions) == 1
    return tuple(
        replace(each, text=message if alone and message else each.text, free_text=True, required=True)
        for each in questions
    )


# --- the reply ------------------------------------------------------------------------------------------------


def reply(prompt: Prompt, answer: Answer, request: bytes) -> tuple[object, Outcome] | Refused:
    """What the request is answered with, and what that asks for. A stop is for the talk to carry out, too."""
    kept_request = decoded(Request, request)
    if kept_request is None:
        return Refused("The request is not on record any more: stop the turn, and ask for it again.")
    picked = chosen(prompt, answer)
    effects = {option.effect for option in picked}
    wants: Outcome = "stopped" if "stop" in effects else "denied" if "deny" in effects else "allowed"
    if kept_request.method == PERMISSION:
        asked = decoded(Permission, kept_request.params)
        ids = {id: choice.optionId for choice, id in _named(asked.options)} if asked else {}
        if len(picked) != 1:
            return Refused("Choose one option.")
        if picked[0].id == STOP:
            return CANCELLED, "stopped"
        if picked[0].id not in ids:
            return Refused("The agent does not offer this.")
        return {"outcome": {"outcome": "selected", "optionId": ids[picked[0].id]}}, wants
    form = decoded(Elicitation, kept_request.params)
    if form is None:
        return Refused("The form is not on record any more: stop the turn, and ask for it again.")
    schema = bytes(form.requestedSchema)
    if prompt.kind == "question":
        return _own_words(prompt, answer, schema)
    action = next((id for id in answer.choices.get(forms.ACTION, ())), "")
    if action in ("decline", "cancel"):
        # Neither ends the turn here: the agent is told, and goes on.
        return {"action": action}, "stopped" if action == "cancel" else "denied"
    if form.mode == "url":
        return {"action": "accept"}, "allowed"
    content = forms.content(schema, answer)
    return content if isinstance(content, Refused) else ({"action": "accept", "content": content}, "allowed")


def _own_words(prompt: Prompt, answer: Answer, schema: bytes) -> tuple[object, Outcome] | Refused:
    """An own answer wins over the choice beside it, so what was chosen is said in it, too."""
    content = forms.content(schema, answer)
    if isinstance(content, Refused):
        return content
    for question in prompt.questions:
        text = answer.texts.get(question.id, "").strip()
        if not text:
            continue
        before = content.pop(question.id, None)
        labels = [str(each) for each in cast("list[object]", before)] if isinstance(before, list) else []
        content[question.id + CUSTOM] = ", ".join([*labels, text])
    return {"action": "accept", "content": content}, "allowed"


def withdrawn_reply(method: str) -> object:
    """What a request is answered with that nobody will answer any more."""
    return CANCELLED if method == PERMISSION else {"action": "cancel"}


# As `wording.tool_of` calls them.
TOOLS: dict[str, CallKind] = {"Bash": "command", "Edit": "write", "MultiEdit": "write", "Write": "write"}


def action_of(row: Row, request: bytes) -> Action | None:
    """What the request would do, for the rules; None if it is not a request for a tool, or cannot be read.

    Only an agent whose row says where the exact command stands is believed about a command; a title is for people.
    What is not told exactly is `other`: no rule for commands or files allows it.
    """
    kept_request = decoded(Request, request)
    params = (
        decoded(Permission, kept_request.params)
        if kept_request is not None and kept_request.method == PERMISSION
        else None
    )
    if kept_request is None or params is None:
        return None
    call = params.call
    tool = kept_request.tool_name or call.kind or "other"
    if call.kind == "execute" and row.command:
        command, fields = wording.command_of(call, row.command), fields_of(call.rawInput)
        where = fields.get(row.folder) if row.folder else None
        if not command or (where and not (isinstance(where, str) and where.startswith("/"))):
            return Action(tool)  # run in a folder that we do not know it means something else
        unboxed = bool(row.unboxed and fields.get(row.unboxed))
        spelled = isinstance(fields.get(row.command), str)  # the agent gives it to whatever shell it has
        return Action(tool, "command", command=command, unboxed=unboxed, any_shell=spelled)
    changed = tuple(part.path for part in wording.changes(call))
    # Every place that it names must be one it changes: else it does more than it shows.
    if call.kind == "edit" and row.command and changed and set(wording.paths(call)) == set(changed):
        return Action(tool, "write", paths=changed)
    return Action(tool)
