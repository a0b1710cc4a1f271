"""aider, as the rest of yourcall sees it: it has no hooks and tells no ids, so its screen is read and typed on."""

from __future__ import annotations

from yourcall.agents.aider.discover import AGENT, FINDER
from yourcall.agents.aider.screen.keys import AIDER_SCREEN
from yourcall.agents.spec import Agent, Grade, HookReply, Reach
from yourcall.model.prompts import Answer, Prompt, Refused


def _reply(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("aider is answered on its own screen.")


_TYPED = "a word that is seen, then Enter"

_GRADE = Grade(
    "aider",
    ("0.86.2",),
    {
        "permission": Reach("screen", _TYPED, "dialog gone"),
        "startup": Reach("screen", f"{_TYPED}, by a person", "dialog gone"),
        "ready": Reach("screen", "typed"),
    },
    "tmux; nothing is set up, and nothing but the screen tells of it",
)
AIDER = Agent(
    AGENT,
    reply=_reply,
    finder=FINDER,
    title="aider",
    grade=_GRADE,
    screen=AIDER_SCREEN,
    programs=("aider",),
    early_dialogs=True,
)
AGENTS = (AIDER,)
