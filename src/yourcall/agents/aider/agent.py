"""aider, as the rest of yourcall sees it: it has no hooks and tells no ids, so its screen is read and typed on."""

from __future__ import annotations

from yourcall.agents.aider.discover import AGENT, FINDER
from yourcall.agents.aider.screen.keys import AIDER_SCREEN
from yourcall.agents.phone_spec import Logo, PhoneSpec
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
    phone=PhoneSpec(Logo("M5.5 19L12 5l6.5 14M8.2 13.5h7.6M3.5 19h4M16.5 19h4")),
    grade=_GRADE,
    screen=AIDER_SCREEN,
    programs=("aider",),
    early_dialogs=True,
)
AGENTS = (AIDER,)
