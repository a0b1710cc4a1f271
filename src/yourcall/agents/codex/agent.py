"""Codex, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.agent import Agent, Plan
from yourcall.agents.codex.asked import asked
from yourcall.agents.codex.conversation import conversation_of, read_entry
from yourcall.agents.codex.hooks import read_hook
from yourcall.agents.codex.joined import FINDER
from yourcall.agents.codex.read import read_line, settled
from yourcall.agents.codex.talk import HEADLESS
from yourcall.agents.sightings import AgentStatus
from yourcall.model import Answer, Prompt, Refused, Session


def read_status(_text: bytes) -> AgentStatus | None:
    return None


def transcript_of(session: Session, prompt: Prompt) -> str:
    """Where the call behind a prompt is written; a sub-agent has a rollout of its own, whose name is not known."""
    return "" if prompt.subagent else conversation_of(session, "")


def status_file_of(_session: Session) -> str:
    return ""


def plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    """No hook of Codex is ever held: it would hide the dialog."""
    return Refused("This can only be answered at the desk.")


CODEX = Agent(
    "codex",
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
    asked=asked,
)
