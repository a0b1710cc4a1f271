"""How far each agent over ACP is understood: as its row says."""

from __future__ import annotations

from yourcall.agents.acp.table import OTHER, ROWS, Row
from yourcall.agents.grade import Grade, Reach
from yourcall.model import Kind

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


def grade(row: Row) -> Grade:
    started = f"yourcall run --acp {row.name}" if row.program else "yourcall run --acp -- COMMAND"
    cli = f"{row.title} over ACP" if row.program else "any other agent that speaks ACP"
    kinds: dict[Kind, Reach] = {}
    kinds.update((kind, _REACH[kind]) for kind in row.asks)
    kinds.update(_TURN)
    return Grade(cli, (row.tested,) if row.tested else (), kinds, f"sessions that yourcall starts: {started}")


GRADES = {row.name: grade(row) for row in (*ROWS, OTHER)}
