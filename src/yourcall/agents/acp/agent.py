"""The agents that speak ACP, as the rest of yourcall sees them: one for each row of the table, and one for others.

Rule: they differ in their row and in nothing else. No hook calls us, and no file of theirs is read.
"""

from __future__ import annotations

from functools import partial

from yourcall.agents.acp.live.session import headless
from yourcall.agents.acp.requests import TOOLS, action_of
from yourcall.agents.acp.table import OTHER, ROWS, Row
from yourcall.agents.acp.transcript import conversation_of
from yourcall.agents.kit.own_record import read_entry
from yourcall.agents.spec import Agent, Grade, HookReply, Reach
from yourcall.model.prompts import Answer, Kind, Prompt, Refused


def _plan(_prompt: Prompt, _answer: Answer, _request: bytes) -> HookReply | Refused:
    return Refused("The connection to this agent is closed, so it can't be answered from here.")


# How far it is understood.
_REACH: dict[Kind, Reach] = {
    "permission": Reach("ACP request", "its own option", "the call goes on, or the turn ends"),
    "question": Reach("ACP form", "the form", "the call goes on"),
    "plan": Reach("ACP request", "its own option", "the call goes on"),
    "elicitation": Reach("ACP form", "the form", "the agent goes on"),
}
_TURN: dict[Kind, Reach] = {
    "ready": Reach("end of turn", "next instruction", "the next turn begins"),
    "problem": Reach("end of turn", "next instruction", "the next turn begins"),
}


def _grade(row: Row) -> Grade:
    started = f"yourcall run --acp {row.name}" if row.program else "yourcall run --acp -- COMMAND"
    cli = f"{row.title} over ACP" if row.program else "any other agent that speaks ACP"
    kinds: dict[Kind, Reach] = {}
    kinds.update((kind, _REACH[kind]) for kind in row.asks)
    kinds.update(_TURN)
    return Grade(cli, (row.tested,) if row.tested else (), kinds, f"sessions that yourcall starts: {started}")


def _agent(row: Row) -> Agent:
    return Agent(
        row.name,
        reply=_plan,
        read_entry=read_entry,
        conversation_of=conversation_of,
        headless=headless(row),
        action=partial(action_of, row),
        tools=TOOLS,
        title=row.title if row.program else "ACP agent",
        grade=_grade(row),
    )


AGENTS: tuple[Agent, ...] = tuple(_agent(row) for row in (*ROWS, OTHER))
