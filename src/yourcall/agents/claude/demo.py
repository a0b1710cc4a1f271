"""The demo's agent: it speaks Claude Code's language, under a name of its own.

Rule: nobody can take its prompts for real ones: the mark is in the title, so whatever shows one shows it.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.claude.read import read_hook
from yourcall.agents.sightings import Heard, HookCall
from yourcall.events import AnyEvent, PromptRaised, SessionSeen

NAME = "demo"
MARK = "[demo] "


def read_demo_hook(call: HookCall) -> Heard:
    heard = read_hook(call)
    return replace(heard, events=tuple(_marked(event) for event in heard.events))


def _marked(event: AnyEvent) -> AnyEvent:
    match event:
        case SessionSeen(session=session):
            return replace(event, session=replace(session, agent=NAME))
        case PromptRaised(prompt=prompt):
            return replace(event, prompt=replace(prompt, agent=NAME, title=MARK + prompt.title))
        case _:
            return event
