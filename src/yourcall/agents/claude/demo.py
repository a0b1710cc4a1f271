"""The demo's agent: it speaks Claude Code's language, under a name of its own.

Rule: nobody can take its prompts for real ones: the mark is in the title, so whatever shows one shows it.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.claude.hooks import read_hook
from yourcall.agents.claude.reply import plan
from yourcall.agents.sightings import HookCall, HookResult
from yourcall.agents.spec import HookReply
from yourcall.core.safety import chosen
from yourcall.model.events import AnyEvent, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Kind, Prompt, Question, Refused

NAME = "demo"
MARK = "[demo] "

# The tool by which it asks what Claude Code asks on its screen only; its input is the prompt itself.
ASK = "DemoAsk"


class Asks(Struct, frozen=True):
    kind: Kind
    title: str
    asks: tuple[Question, ...]
    body: str = ""


class Call(Struct, frozen=True):
    tool_name: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"{}")


def read_demo_hook(call: HookCall) -> HookResult:
    result = read_hook(call)
    try:
        told = msgspec.json.decode(call.payload, type=Call)
        asks = msgspec.json.decode(told.tool_input, type=Asks) if told.tool_name == ASK else None
    except (ValueError, RecursionError):
        asks = None
    return replace(result, events=tuple(_marked(event, asks) for event in result.events))


def plan_demo(prompt: Prompt, answer: Answer, request: bytes) -> HookReply | Refused:
    """As for Claude; what only a screen would ask is answered as a question is: by label, or in words."""
    if prompt.tool is None or prompt.tool.name != ASK:
        return plan(prompt, answer, request)
    try:
        given = msgspec.json.decode(msgspec.json.decode(request, type=Call).tool_input, type=dict[str, object])
    except (ValueError, RecursionError):
        return Refused("What the demo asked is no longer on record.")
    effects = {option.effect for option in chosen(prompt, answer)}
    said = {
        question.text: ", ".join(
            [o.label for o in question.options if o.id in answer.choices.get(question.id, ())]
            + [text for text in (answer.texts.get(question.id, ""),) if text]
        )
        for question in prompt.questions
    }
    decision: dict[str, object] = {"behavior": "allow", "updatedInput": {**given, "answers": said}}
    if effects & {"deny", "stop"}:
        wording = " ".join(text for text in answer.texts.values() if text)
        decision = {"behavior": "deny", "message": wording, "interrupt": "stop" in effects}
    output = {"hookEventName": "PermissionRequest", "decision": decision}
    return HookReply(msgspec.json.encode({"hookSpecificOutput": output}))


def _unnamed(question: Question) -> Question:
    """Our own words name the agent; this one is not Claude."""
    options = tuple(
        replace(option, description=option.description.replace("Claude", "the agent"))
        for option in question.options
    )
    return replace(question, text=question.text.replace("Claude", "the agent"), options=options)


def _marked(event: AnyEvent, asks: Asks | None) -> AnyEvent:
    match event:
        case SessionSeen(session=session):
            return replace(event, session=replace(session, agent=NAME))
        case PromptRaised(prompt=prompt):
            if asks is not None:
                prompt = replace(prompt, kind=asks.kind, title=asks.title, body=asks.body, questions=asks.asks)
            ours = prompt.kind != "question"  # there the words are the agent's own, and part of the answer
            asked = tuple(_unnamed(q) if ours else q for q in prompt.questions)
            marked = replace(prompt, agent=NAME, title=MARK + prompt.title, questions=asked)
            return replace(event, prompt=marked)
        case _:
            return event
