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
from yourcall.agents.sightings import AgentStatus, CallResult, CallSeen, Heard, HookCall
from yourcall.events import CallSettled
from yourcall.model import Answer, Prompt, Refused, Session


def _read_hook(_call: HookCall) -> Heard:
    return Heard(problem="an agent over ACP has no hooks of ours, and one was called")


def _read_line(_line: bytes) -> list[CallSeen | CallResult]:
    return []


def _read_status(_text: bytes) -> AgentStatus | None:
    return None


def _nowhere(_session: Session, _prompt: Prompt) -> str:
    return ""


def _settled(_prompt: Prompt, _result: CallResult, _at: float) -> CallSettled | None:
    return None


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> Plan | Refused:
    return Refused("This is answered over the agent's own pipe, and that is closed.")


def _agent(row: Row) -> Agent:
    return Agent(
        row.name,
        _read_hook,
        _read_line,
        _read_status,
        _nowhere,
        lambda _session: "",
        _settled,
        _plan,
        read_entry,
        conversation_of,
        headless=headless(row),
        asked=partial(asked, row),
    )


ACP: tuple[Agent, ...] = tuple(_agent(row) for row in (*ROWS, OTHER))
