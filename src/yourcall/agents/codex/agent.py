"""Codex, as the rest of yourcall sees it."""

from __future__ import annotations

from collections.abc import Sequence

from yourcall.agents.codex import doctor, setup
from yourcall.agents.codex.discover import OTHER_COMMANDS, command_of
from yourcall.agents.codex.hooks import read_hook, rested
from yourcall.agents.codex.live.connection import ServerConnection
from yourcall.agents.codex.live.session import HEADLESS
from yourcall.agents.codex.live.threads import CONTROL, FINDER
from yourcall.agents.codex.requests import TOOLS, action_of
from yourcall.agents.codex.rollout import read_line, settled
from yourcall.agents.codex.screen.keys import CODEX_SCREEN
from yourcall.agents.codex.transcript import conversation_of, read_entry, read_turn
from yourcall.agents.phone_spec import Logo, PhoneSpec, SlashCommand
from yourcall.agents.session_spec import ServerSpec
from yourcall.agents.setup_spec import CONNECTED, Setup
from yourcall.agents.spec import Agent, Environment, Grade, HookReply, OwnServer, Reach
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.sessions import Session


def transcript_of(session: Session, prompt: Prompt) -> str:
    """Where the call behind a prompt is written; a sub-agent has a rollout of its own, whose name is not known."""
    return "" if prompt.subagent else conversation_of(session, "")


def plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    """No hook of Codex is ever held: it would hide the dialog."""
    return Refused("This can only be answered at the desk.")


# How far it is understood.
_RECORD = "item completed; dialog gone"
_CALL = "call over; dialog gone"

_GRADE = Grade(
    "Codex",
    ("0.166.0", "0.158.0", "0.150.1", "0.142.5"),
    {
        "permission": Reach("control socket; screen", "control socket; one key per look", _RECORD),
        "question": Reach("control socket; screen", "control socket; one key per look", "rollout; dialog gone"),
        "plan": Reach("screen; pipes", "one key per look; pipes", "dialog gone; the next turn"),
        "elicitation": Reach("control socket; screen", "control socket; one choice by keys", _CALL),
        "trust": Reach("screen", "one key per look, by a person", "dialog gone"),
        "startup": Reach("screen", "one key per look, by a person; signing in never", "dialog gone"),
        "ready": Reach("control socket; hook", "control socket; typed", "control socket; hook"),
        "problem": Reach("control socket"),
        "unknown": Reach("screen", "key bar", "screen changed"),
    },
    "the shared app-server (0.158 and later), or tmux; a session of our own: pipes, as by the control socket",
)

_SETUP = Setup(
    variable="CODEX_HOME",
    folder=".codex",
    file="hooks.json",
    add=lambda text, launcher, versions, _ask: setup.add(text, launcher, versions),
    remove=setup.remove,
    check=setup.check,
    done=CONNECTED
    + "A plain `codex` of 0.158 and later is reached through its own control socket, without these hooks; they are"
    " for `codex --no-daemon` and older versions, which are answered in their own dialog: run those inside tmux.",
)

# With these the person has said where the conversation lives.
_ELSEWHERE = ("--remote", "--no-daemon", "--oss", "--help", "-h", "--version", "-V")


def _serve(argv: Sequence[str], path: str) -> list[str] | None:
    wants = command_of(argv) not in OTHER_COMMANDS and not any(w.split("=")[0] in _ELSEWHERE for w in argv[1:])
    return ["app-server", "--listen", f"unix://{path}"] if wants else None


def _join(argv: Sequence[str], path: str) -> list[str]:
    return [argv[0], "--remote", f"unix://{path}", *argv[1:]]


def _home_of(session: Session) -> str:
    home, _, rest = session.transcript.partition("/sessions/")
    return home if rest and home.startswith("/") else ""


_PHONE = PhoneSpec(
    Logo("M12 2.8l8 4.6v9.2l-8 4.6-8-4.6V7.4zM9 9.5l2.8 2.5L9 14.5M13 15h3", light="#202124", dark="#f1f2f4"),
    commands=(
        SlashCommand("/compact", "Sum up the conversation to make room"),
        SlashCommand("/new", "Start over with an empty conversation"),
        SlashCommand("/diff", "Show what has changed"),
        SlashCommand("/model", "Choose another model"),
        SlashCommand("/review", "Review the changes"),
        SlashCommand("/status", "Model, approvals and usage"),
    ),
    continues=True,
)

CODEX = Agent(
    "codex",
    read_hook,
    read_line,
    transcript_of=transcript_of,
    settled=settled,
    reply=plan,
    read_entry=read_entry,
    conversation_of=conversation_of,
    finder=FINDER,
    headless=HEADLESS,
    action=action_of,
    tools=TOOLS,
    title="Codex",
    phone=_PHONE,
    grade=_GRADE,
    screen=CODEX_SCREEN,
    setup=_SETUP,
    doctor=doctor.CHECKS,
    environment=Environment(session_id="CODEX_THREAD_ID", home="CODEX_HOME"),
    programs=("codex",),
    server=ServerSpec(
        connect=ServerConnection,
        variable="CODEX_HOME",
        folder=".codex",
        socket=CONTROL,
        home_of=_home_of,
        no_commands="Codex's own commands are typed at its terminal.",
    ),
    own_server=OwnServer("codex", _serve, _join),
    read_turn=read_turn,
    rested=rested,
)
AGENTS = (CODEX,)
