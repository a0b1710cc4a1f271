"""Any program in a tmux pane, as the rest of yourcall sees it: it tells nothing, and keeps no record."""

from __future__ import annotations

from yourcall.agents.generic.screen import GENERIC_SCREEN
from yourcall.agents.spec import Agent, Grade, HookReply, Reach
from yourcall.model.prompts import Answer, Prompt, Refused

AGENT = "generic"


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("This program is answered with keys on its own screen.")


# How far it is understood.
_GRADE = Grade(
    "any program in a tmux pane",
    (),
    {
        "ready": Reach("silence, title", "one line, typed", "screen changed"),
        "unknown": Reach("silence, title", "key bar", "screen changed"),
    },
    "tmux; what it asks is for a person to read off its screen",
)
GENERIC = Agent(AGENT, reply=_plan, grade=_GRADE, screen=GENERIC_SCREEN, early_dialogs=True)
AGENTS = (GENERIC,)
