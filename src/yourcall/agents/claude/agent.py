"""Claude Code, as the rest of yourcall sees it; and the demo, which plays one."""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.agents.claude import demo, doctor, managed, setup
from yourcall.agents.claude.discover import FINDER
from yourcall.agents.claude.hooks import (
    read_hook,
    read_line,
    read_status,
    rested,
    settled,
    status_file_of,
    transcript_of,
)
from yourcall.agents.claude.live.session import HEADLESS
from yourcall.agents.claude.messages import read_message, read_pictures
from yourcall.agents.claude.reply import insist, plan
from yourcall.agents.claude.requests import TOOLS, action_of
from yourcall.agents.claude.screen.keys import CLAUDE_SCREEN
from yourcall.agents.claude.transcript import conversation_of, read_entry
from yourcall.agents.phone_spec import Logo, PermissionMode, PhoneSpec, SlashCommand
from yourcall.agents.setup_spec import CONNECTED, Setup
from yourcall.agents.spec import Agent, Environment, Grade, Reach

# How far it is understood.
_RECORD = "session file, transcript"

_GRADE = Grade(
    "Claude Code",
    ("2.1.325", "2.1.197", "2.0.76"),
    {
        "permission": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "question": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "plan": Reach("held hook; screen", "hook; one key per look", _RECORD),
        "elicitation": Reach("held hook; screen", "hook, while nobody is at the desk; keys", "hook, transcript"),
        "trust": Reach("screen", "one key per look, by a person", "dialog gone"),
        "startup": Reach("screen", "one key per look, by a person", "dialog gone"),
        "ready": Reach("hook", "typed", "hook"),
        "problem": Reach("hook; screen"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "screens need tmux; hooks do not; a session of our own is asked and answered over pipes",
)

_SETUP = Setup(
    variable="CLAUDE_CONFIG_DIR",
    folder=".claude",
    file="settings.json",
    projects={"project": ".claude/settings.json", "local": ".claude/settings.local.json"},
    add=setup.add,
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED + "Claude asks nothing in auto mode, which is the default of new versions. To be asked: "
    "claude --permission-mode manual, or name the tools with: yourcall setup claude --ask Bash",
    ruled=tuple(setup.RULED.split("|")),
    also=("local",),
    above=managed.above,
    managed=managed.FOR_EVERYBODY,
)
_ENVIRONMENT = Environment(
    session_id="CLAUDE_CODE_SESSION_ID",
    flag="CLAUDECODE",
    home="CLAUDE_CONFIG_DIR",
    inherited=(
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PID",
        "CLAUDE_EFFORT",
        "AI_AGENT",
    ),
)
_PHONE = PhoneSpec(
    Logo("M12 3v18M3 12h18M5.6 5.6l12.8 12.8M18.4 5.6L5.6 18.4", stroke=2.4, light="#c15f3c", dark="#d97757"),
    commands=(
        SlashCommand("/compact", "Sum up the conversation to make room"),
        SlashCommand("/clear", "Start over with an empty conversation"),
        SlashCommand("/context", "How full its memory is"),
        SlashCommand("/cost", "What this session has cost"),
        SlashCommand("/model", "Choose another model"),
        SlashCommand("/review", "Review the changes"),
        SlashCommand("/init", "Write a CLAUDE.md for the project"),
        SlashCommand("/status", "Version, account and model"),
    ),
    modes=(
        PermissionMode("default", "Asks before it acts"),
        PermissionMode("acceptEdits", "Accepts edits without asking"),
        PermissionMode("plan", "Plans only"),
        PermissionMode("dontAsk", "Denies what no rule allows"),
    ),
    continues=True,
)

CLAUDE = Agent(
    "claude",
    read_hook,
    read_line,
    read_status,
    transcript_of,
    status_file_of,
    settled,
    plan,
    read_entry,
    conversation_of,
    FINDER,
    HEADLESS,
    action=action_of,
    tools=TOOLS,
    insist=insist,
    read_pictures=read_pictures,
    read_message=read_message,
    rested=rested,
    title="Claude",
    phone=_PHONE,
    grade=_GRADE,
    screen=CLAUDE_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=_ENVIRONMENT,
    programs=("claude",),
    installed=(".claude/local/claude", ".local/bin/claude"),  # where older installers put it, for an alias
    holds=True,
)
DEMO = replace(
    CLAUDE,
    name=demo.NAME,
    read_hook=demo.read_demo_hook,
    reply=demo.plan_demo,
    finder=None,
    headless=None,
    title="The demo",
    phone=PhoneSpec(),
    grade=None,
    screen=None,
    setup=None,
    doctor=(),
    environment=Environment(),
    programs=(),
    installed=(),
    scripted=True,
)
AGENTS = (CLAUDE, DEMO)
