"""The demo's agent: it speaks Claude Code's language, under a name of its own.

Rule: nobody can take its prompts for real ones: the mark is in the title, so whatever shows one shows it.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.claude.read import read_hook
from yourcall.agents.sightings import Heard, HookCall
from yourcall.events import AnyEvent, PromptRaised, SessionSeen
from yourcall.model import Question

NAME = "demo"
MARK = "[demo] "


def read_demo_hook(call: HookCall) -> Heard:
    heard = read_hook(call)
    return replace(heard, events=tuple(_marked(event) for event in heard.events))


def _unnamed(question: Question) -> Question:
    """Our own words name the agent; this one is not Claude."""
    options = tuple(
        replace(option, description=option.description.replace("Claude", "the agent"))
        for option in question.options
    )
    return replace(question, text=question.text.replace("Claude", "the agent"), options=options)


def _marked(event: AnyEvent) -> AnyEvent:
    match event:
        case SessionSeen(session=session):
            return replace(event, session=replace(session, agent=NAME))
        case PromptRaised(prompt=prompt):
            ours = prompt.kind != "question"  # there the words are the agent's own, and part of the answer
            asked = tuple(_unnamed(q) if ours else q for q in prompt.questions)
            marked = replace(prompt, agent=NAME, title=MARK + prompt.title, questions=asked)
            return replace(event, prompt=marked)
        case _:
            return event
