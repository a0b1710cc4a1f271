"""Any program in a tmux pane, as the rest of yourcall sees it: it tells nothing, and keeps no record."""

from __future__ import annotations

from yourcall.agents.agent import Agent, Plan
from yourcall.model import Answer, Prompt, Refused

AGENT = "generic"


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    return Refused("This program is answered with keys on its own screen.")


GENERIC = Agent(AGENT, plan=_plan)
