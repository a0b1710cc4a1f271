"""Gemini CLI, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.gemini import doctor, setup
from yourcall.agents.gemini.discover import FINDER
from yourcall.agents.gemini.hooks import (
    AGENT,
    read_hook,
    read_line,
    rested,
    transcript_of,
)
from yourcall.agents.gemini.screen.keys import GEMINI_SCREEN
from yourcall.agents.gemini.tools import TOOLS
from yourcall.agents.gemini.transcript import conversation_of, read_entry, read_turn
from yourcall.agents.kit.hooks import settled
from yourcall.agents.phone_spec import Logo, PhoneSpec, SlashCommand
from yourcall.agents.setup_spec import CONNECTED, Setup
from yourcall.agents.spec import Agent, Environment, Grade, HookReply, Reach
from yourcall.model.prompts import Answer, Prompt, Refused


def plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    """No hook of this CLI can hold a request: holding one would hide the dialog, for every tool."""
    return Refused("Gemini CLI is answered in its own dialog; answer it at the desk.")


# How far it is understood.
_RECORD = "chat file, dialog gone"

_GRADE = Grade(
    "Gemini CLI",
    ("0.61.0",),
    {
        "permission": Reach("hook and screen", "one digit", _RECORD),
        "question": Reach("hook and screen", "one key per look", _RECORD),
        "plan": Reach("hook and screen", "one key per look", _RECORD),
        "trust": Reach("screen", "one digit, by a person", "dialog gone"),
        "loop": Reach("screen", "one digit", "dialog gone"),
        "startup": Reach("screen", "one digit, by a person; secrets never", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "answers need tmux; without it prompts are shown, and answered at the desk",
)

_SETUP = Setup(
    variable="GEMINI_CLI_HOME",
    folder=".gemini",
    inside=True,
    file="settings.json",
    projects={"project": ".gemini/settings.json"},
    add=lambda text, launcher, versions, _ask: setup.add(text, launcher, versions),
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED
    + "Gemini CLI is answered in its own dialog, so run it inside tmux: elsewhere its prompts are shown, and"
    " answered at the desk.",
)
_PHONE = PhoneSpec(
    Logo(
        "M12 2.5c.7 5.3 3.7 8.6 9.5 9.5-5.8.9-8.8 4.2-9.5 9.5-.7-5.3-3.7-8.6-9.5-9.5 5.8-.9 8.8-4.2 9.5-9.5z",
        filled=True,
        light="#3c6fe0",
        dark="#7ea6ff",
    ),
    commands=(
        SlashCommand("/compress", "Sum up the conversation to make room"),
        SlashCommand("/clear", "Start over with an empty screen"),
        SlashCommand("/stats", "What this session has used"),
        SlashCommand("/tools", "The tools it has"),
        SlashCommand("/memory show", "What it was told to remember"),
    ),
)

GEMINI = Agent(
    AGENT,
    read_hook,
    read_line,
    transcript_of=transcript_of,
    settled=settled,
    reply=plan,
    read_entry=read_entry,
    conversation_of=conversation_of,
    finder=FINDER,
    tools=TOOLS,
    title="Gemini",
    phone=_PHONE,
    grade=_GRADE,
    screen=GEMINI_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=Environment(flag="GEMINI_CLI"),
    programs=("gemini",),
    early_dialogs=True,
    read_turn=read_turn,
    rested=rested,
)
AGENTS = (GEMINI,)
