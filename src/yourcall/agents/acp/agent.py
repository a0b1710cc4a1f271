"""The agents that speak ACP, as the rest of yourcall sees them: one for each row of the table, and one for others.

Rule: they differ in their row and in nothing else. No hook calls us, and no file of theirs is read.
"""

from __future__ import annotations

from functools import partial

from yourcall.agents.acp.asked import asked
from yourcall.agents.acp.conversation import conversation_of, read_entry
from yourcall.agents.acp.table import OTHER, ROWS, Row
from yourcall.agents.acp.talk import headless
from yourcall.agents.agent import Agent, Plan
from yourcall.model import Answer, Prompt, Refused


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    return Refused("This is answered over the agent's own pipe, and that is closed.")


def _agent(row: Row) -> Agent:
    return Agent(
        row.name,
        plan=_plan,
        read_entry=read_entry,
        conversation_of=conversation_of,
        headless=headless(row),
        asked=partial(asked, row),
    )


ACP: tuple[Agent, ...] = tuple(_agent(row) for row in (*ROWS, OTHER))
