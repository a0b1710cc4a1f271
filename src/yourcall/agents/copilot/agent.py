"""GitHub Copilot CLI, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.copilot import doctor, extension, setup
from yourcall.agents.copilot.discover import FINDER
from yourcall.agents.copilot.live.conversation import CopilotConversation
from yourcall.agents.copilot.requests import AGENT, TOOLS, action_of
from yourcall.agents.copilot.screen.keys import COPILOT_SCREEN
from yourcall.agents.copilot.transcript import conversation_of, read_entry, read_line, settled, transcript_of
from yourcall.agents.phone_spec import Logo, PhoneSpec
from yourcall.agents.session_spec import PluginSpec
from yourcall.agents.setup_spec import CONNECTED, OwnFile, Setup
from yourcall.agents.spec import Agent, Environment, Grade, Reach

_BY_ID = "extension, by its id"

_GRADE = Grade(
    "GitHub Copilot CLI",
    ("1.0.102",),
    {
        "permission": Reach("extension", _BY_ID, "Copilot's reply; its record"),
        "question": Reach("extension", _BY_ID, "Copilot's reply"),
        "plan": Reach("extension", _BY_ID, "Copilot's reply"),
        "elicitation": Reach("extension", _BY_ID, "Copilot's reply"),
        "trust": Reach("screen", "one digit, by a person", "dialog gone"),
        "startup": Reach("screen"),
        "ready": Reach("extension", "extension", "the next turn"),
        "problem": Reach("extension", "extension", "the next turn"),
        "unknown": Reach("screen"),
    },
    "extensions switched on (`yourcall setup copilot`); for permissions your consent, which Copilot asks for once"
    " in each repository",
)

_SETUP = Setup(
    variable="COPILOT_HOME",
    folder=".copilot",
    file="settings.json",
    add=setup.add,
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED
    + "Copilot then asks you once in each repository whether yourcall may handle permission requests:"
    " say yes there to answer them from elsewhere.",
    files=(OwnFile("extensions/yourcall/extension.mjs", extension.text),),
)

_PHONE = PhoneSpec(
    Logo(
        "M4 13.5C4 9 6 5.5 9 5.5s3 3 3 3 0-3 3-3 5 3.5 5 8c0 3-3.5 5-8 5s-8-2-8-5zM9.5 12.5V15M14.5 12.5V15",
        light="#8250df",
        dark="#b591f5",
    )
)

COPILOT = Agent(
    AGENT,
    title="Copilot",
    phone=_PHONE,
    read_line=read_line,
    transcript_of=transcript_of,
    settled=settled,
    read_entry=read_entry,
    conversation_of=conversation_of,
    finder=FINDER,
    action=action_of,
    tools=TOOLS,
    grade=_GRADE,
    screen=COPILOT_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=Environment(flag="COPILOT_CLI", home="COPILOT_HOME"),
    programs=("copilot",),
    plugin=PluginSpec(CopilotConversation, one_session=True),
    early_dialogs=True,
)
AGENTS = (COPILOT,)
