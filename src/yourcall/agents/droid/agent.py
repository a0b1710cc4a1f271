"""Factory droid in its own terminal, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.droid import doctor, setup
from yourcall.agents.droid.discover import FINDER
from yourcall.agents.droid.hooks import read_hook, read_line, transcript_of
from yourcall.agents.droid.screen.keys import DROID_SCREEN
from yourcall.agents.droid.tools import AGENT, TOOLS
from yourcall.agents.droid.transcript import conversation_of, read_entry
from yourcall.agents.kit.hooks import settled
from yourcall.agents.phone_spec import Logo, PhoneSpec
from yourcall.agents.setup_spec import CONNECTED, Setup
from yourcall.agents.spec import Agent, Environment, Grade, Reach

# How far it is understood.
_RECORD = "its record, dialog gone"

_GRADE = Grade(
    "Factory droid",
    ("0.225.2",),
    {
        "permission": Reach("hook and screen", "arrows to the row that is seen, Enter", _RECORD),
        "question": Reach("hook and screen", "one digit for each question", _RECORD),
        "plan": Reach("hook and screen", "one digit per page", _RECORD),
        "trust": Reach("screen", "one digit, by a person", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "answers need tmux; without it only the end of a turn is told",
)

_SETUP = Setup(
    variable="FACTORY_HOME_OVERRIDE",
    folder=".factory",
    inside=True,
    file="settings.json",
    add=lambda text, launcher, versions, _ask: setup.add(text, launcher, versions),
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED + "Run droid inside tmux: it is answered in its own dialog, by keys.",
)
DROID = Agent(
    AGENT,
    read_hook,
    read_line,
    transcript_of=transcript_of,
    settled=settled,
    read_entry=read_entry,
    conversation_of=conversation_of,
    finder=FINDER,
    tools=TOOLS,
    title="droid",
    phone=PhoneSpec(Logo("M6 9.5h12v9H6zM12 9.5V5.5M9.5 13v1.5M14.5 13v1.5M3.5 12v4M20.5 12v4")),
    grade=_GRADE,
    screen=DROID_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=Environment(home="FACTORY_HOME_OVERRIDE"),
    programs=("droid",),
    early_dialogs=True,
)
AGENTS = (DROID,)
