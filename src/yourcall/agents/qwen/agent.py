"""Qwen Code in its own terminal, as the rest of yourcall sees it. Sessions that yourcall starts speak ACP."""

from __future__ import annotations

from yourcall.agents.phone_spec import Logo, PhoneSpec
from yourcall.agents.qwen import doctor, setup
from yourcall.agents.qwen.discover import FINDER
from yourcall.agents.qwen.hooks import read_hook, read_line, settled, transcript_of
from yourcall.agents.qwen.live.channel import Channel
from yourcall.agents.qwen.requests import AGENT, TOOLS, action_of
from yourcall.agents.qwen.screen.keys import QWEN_SCREEN
from yourcall.agents.qwen.transcript import conversation_of, read_entry
from yourcall.agents.session_spec import PluginSpec
from yourcall.agents.setup_spec import CONNECTED, Setup
from yourcall.agents.spec import Agent, Environment, Grade, Reach

# How far it is understood.
_RECORD = "its record, by call"

_GRADE = Grade(
    "Qwen Code",
    ("0.24.4",),
    {
        "permission": Reach("dual output, by id", "dual output, by id", f"dual output, and {_RECORD}"),
        "question": Reach("dual output, by id", "one key per look", _RECORD),
        "plan": Reach("dual output, by id", "one digit", _RECORD),
        "trust": Reach("screen", "one digit, by a person", "dialog gone"),
        "loop": Reach("screen", "one digit", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "answers need tmux; without it prompts are shown, and answered at the desk",
)

_SETUP = Setup(
    variable="QWEN_HOME",
    folder=".qwen",
    file="settings.json",
    projects={"project": ".qwen/settings.json"},
    add=lambda text, launcher, versions, _ask: setup.add(text, launcher, versions),
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED + "Run Qwen Code inside tmux: its questions and plans are answered in its own dialog, by keys.",
)
_PHONE = PhoneSpec(
    Logo(
        "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM14 14l6 6.5M8.5 12a3.5 3.5 0 0 1 3.5-3.5",
        light="#6a4fd8",
        dark="#a894ff",
    )
)

QWEN = Agent(
    AGENT,
    read_hook,
    read_line,
    transcript_of=transcript_of,
    settled=settled,
    read_entry=read_entry,
    conversation_of=conversation_of,
    finder=FINDER,
    action=action_of,
    tools=TOOLS,
    title="Qwen Code",
    phone=_PHONE,
    grade=_GRADE,
    screen=QWEN_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=Environment(session_id="QWEN_CODE_SESSION_ID", home="QWEN_HOME"),
    programs=("qwen",),
    early_dialogs=True,
    plugin=PluginSpec(Channel, files=setup.FILES, recorded=True),
)
AGENTS = (QWEN,)
