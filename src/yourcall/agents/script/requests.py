"""What a script asks, as a prompt any front end can show; and what was answered, as a script reads it.

Rule: pure. A script is an agent like any other: what it asks is shown and never trusted, its words decide nothing.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from yourcall.core.safety import chosen
from yourcall.model.prompts import Effect, Option, Outcome, Prompt, Question, Refused, Tool
from yourcall.model.sessions import Link, Session

AGENT = "script"
LINK = "ask"
QUESTION = "answer"  # a script asks one thing at a time
LONGEST_TITLE = 200

Id = Annotated[str, Meta(pattern="^([a-z0-9]{8,32})?$")]
Label = Annotated[str, Meta(min_length=1, max_length=500)]


class Choice(Struct, frozen=True, forbid_unknown_fields=True):
    """One option; `id` is what the script gets back, the label if it is empty."""

    label: Label
    id: Annotated[str, Meta(max_length=500)] = ""
    description: Annotated[str, Meta(max_length=2000)] = ""
    effect: Effect = "choose"


class ToolCall(Struct, frozen=True, forbid_unknown_fields=True):
    """The tool that a permission is asked for."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    input: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class Ask(Struct, frozen=True, forbid_unknown_fields=True):
    """A question of a script's. `name`: who asks. `id`: the script's own word for it; told again, it is the same
    question. `attended`: somebody waits for the answer, and without them it is withdrawn."""

    question: Annotated[str, Meta(min_length=1, max_length=10_000)]
    options: Annotated[tuple[Label | Choice, ...], Meta(max_length=50)] = ()
    free_text: bool = False
    multi_select: bool = False
    body: Annotated[str, Meta(max_length=100_000)] = ""
    name: Annotated[str, Meta(max_length=100)] = ""
    cwd: Annotated[str, Meta(max_length=4096)] = ""
    kind: Literal["question", "permission"] = "question"
    tool: ToolCall | None = None
    id: Id = ""
    attended: bool = True


class AskBody(Struct):
    """The stored body of such a prompt; views read `tool_input` by this name. `raised_by`: the names
    by which whoever asked is known, its process and its agent's sessions."""

    attended: bool = True
    tool_input: Raw = Raw(b"null")
    raised_by: tuple[str, ...] = ()


def asked(
    ask: Ask, id: str, at: float, raised_by: tuple[str, ...] = ()
) -> tuple[Session, Prompt, bytes] | Refused:
    """The session that asks, the prompt, and its body."""
    options = tuple(_option(each) for each in ask.options)
    ids = [option.id for option in options]
    if len(set(ids)) != len(ids):
        return Refused("Two options have the same name; give each its own.")
    if not options and not ask.free_text:
        return Refused("Give at least one option, or allow a text: nobody could answer this.")
    if _half(ask):
        return Refused("The question contains an invalid character (a lone surrogate); write it again.")
    tool_input = _object(ask.tool.input) if ask.tool is not None else b"null"
    if tool_input is None:
        return Refused("The tool's input must be a JSON object.")
    body = msgspec.json.encode(AskBody(ask.attended, Raw(tool_input), raised_by))
    who = f"{AGENT}-{id}"
    cwd = ask.cwd if "\0" not in ask.cwd else ""
    first = ask.question.strip().splitlines()[0] if ask.question.strip() else "?"
    prompt = Prompt(
        id=id,
        kind=ask.kind,
        agent=AGENT,
        session_id=who,
        cwd=cwd,
        title=first if len(first) <= LONGEST_TITLE else first[: LONGEST_TITLE - 1] + "…",
        opened_at=at,
        body="\n\n".join(part for part in (f"{ask.name} asks" if ask.name else "", ask.body) if part),
        tool=Tool(ask.tool.name) if ask.tool is not None else None,
        questions=(Question(QUESTION, ask.question, options, ask.multi_select, ask.free_text),),
        request=hashlib.sha256(body).hexdigest(),
        fingerprint=hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(ask, id=""))).hexdigest(),
        link=LINK,
        answerable=True,
    )
    session = Session(
        who, AGENT, cwd, "waiting", mode=AGENT, links=(Link(LINK),), note=ask.name, started_at=at, seen_at=at
    )
    return session, prompt, body


def attended(body: bytes | None) -> bool:
    """Does somebody wait for the answer to the prompt with this body?"""
    return _read(body).attended


def raised_by(body: bytes | None) -> tuple[str, ...]:
    return _read(body).raised_by


def _read(body: bytes | None) -> AskBody:
    try:
        return msgspec.json.decode(body or b"{}", type=AskBody)
    except (ValueError, RecursionError):
        return AskBody()


def outcome(prompt: Prompt) -> Outcome:
    """What the answer that this prompt has comes to; a choice is neither a yes nor a no."""
    effects = {option.effect for option in chosen(prompt, prompt.answer)} if prompt.answer else set[Effect]()
    if effects & {"deny", "stop"}:
        return "stopped" if "stop" in effects else "denied"
    return "allowed" if effects - {"choose", "reply"} else "unknown"


def _option(each: str | Choice) -> Option:
    if isinstance(each, str):
        return Option(each, each, "choose")
    return Option(each.id or each.label, each.label, each.effect, each.description)


def _object(given: Raw) -> bytes | None:
    try:
        msgspec.json.decode(given, type=dict[str, Raw])
        bytes(given).decode()
    except (ValueError, RecursionError):
        return None
    return bytes(given)


def _half(ask: Ask) -> bool:
    """JSON can spell half of a letter, and no database keeps it."""
    try:
        msgspec.json.encode(ask)
    except UnicodeEncodeError:
        return True
    return False
