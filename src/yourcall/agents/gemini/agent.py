"""Gemini CLI, as the rest of yourcall sees it."""

from __future__ import annotations

from yourcall.agents.agent import Agent, Plan
from yourcall.agents.gemini.conversation import conversation_of, read_entry
from yourcall.agents.gemini.discover import FINDER
from yourcall.agents.gemini.read import (
    AGENT,
    read_hook,
    read_line,
    read_status,
    settled,
    status_file_of,
    transcript_of,
)
from yourcall.model import Answer, Prompt, Refused


def plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    """No hook of this CLI can hold a request: holding one would hide the dialog, for every tool."""
    return Refused("Gemini CLI is answered in its own dialog; answer it at the desk.")


GEMINI = Agent(
    AGENT,
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
)
