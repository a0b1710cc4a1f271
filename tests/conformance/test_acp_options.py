"""What every agent over ACP owes: each option of each prompt it was seen to raise is said by its own id, and the
turn that goes on, or ends, settles it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yourcall.agents.acp.live.session import AcpSession
from yourcall.agents.acp.table import ROWS
from yourcall.agents.registry import AGENTS
from yourcall.agents.session_spec import Child, StartOptions
from yourcall.core import safety
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.events import AnswerGiven, AnswerWritten, Deliver, PromptRaised
from yourcall.model.prompts import Answer, Option, Prompt

DATA = Path(__file__).resolve().parents[1] / "data" / "acp"
SESSION = "s-1"


def requests() -> list[tuple[str, dict[str, Any]]]:
    """(agent, request) of every permission that was captured from the real programs."""
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(DATA.glob("*.jsonl")):
        told = [json.loads(line)["msg"] for line in path.read_text().splitlines()]
        infos = [m["result"]["agentInfo"]["name"] for m in told if "agentInfo" in (m.get("result") or {})]
        names = [row.name for row in ROWS if row.info in infos]
        found += [(names[0], m) for m in told if m.get("method") == "session/request_permission"]
    return found


def raised(name: str, request: dict[str, Any]) -> tuple[AcpSession, State, Prompt, bytes]:
    row = next(row for row in ROWS if row.name == name)
    talk, state = AcpSession(row, StartOptions("/tmp", "Go."), Child(7, "s7", "/tmp")), State()
    talk.open()
    talk.hear(
        json.dumps({"id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": row.info}}}).encode(), 1.0
    )
    talk.hear(json.dumps({"id": 2, "result": {"sessionId": SESSION}}).encode(), 2.0)
    told = {**request, "params": {**request["params"], "sessionId": SESSION}}
    spoke = talk.hear(json.dumps(told).encode(), 3.0)
    for event in spoke.events:
        state.take(step(state, event))
    (prompt,) = [event.prompt for event in spoke.events if isinstance(event, PromptRaised)]
    return talk, state, prompt, spoke.bodies[prompt.request]


OFFERS = [
    (name, request, option)
    for name, request in requests()
    for question in raised(name, request)[2].questions
    for option in question.options
]


def test_every_agent_in_the_table_was_captured_and_is_known() -> None:
    assert {name for name, *_ in OFFERS} == {row.name for row in ROWS}
    assert all(row.name in AGENTS for row in ROWS)


@pytest.mark.parametrize(("name", "request_", "option"), OFFERS, ids=[f"{o[0]}-{o[2].id}" for o in OFFERS])
def test_every_option_has_a_reply_and_a_sign_that_confirms_it(
    name: str, request_: dict[str, Any], option: Option
) -> None:
    talk, state, prompt, body = raised(name, request_)
    answer = Answer("answer1", "somebody", "test", {"decision": (option.id,)})
    assert safety.objection(prompt, answer) is None
    done = step(state, AnswerGiven(4.0, prompt.id, answer))
    assert done.commands == (Deliver(prompt.id, answer),)
    state.take(done)
    line = talk.answer(prompt, answer, body)
    assert isinstance(line, bytes)
    first = json.loads(line.splitlines()[0])
    assert first["id"] == request_["id"]
    kinds = {o["optionId"]: o["kind"] for o in request_["params"]["options"]}
    chosen = first["result"]["outcome"].get("optionId")
    # What refuses never allows, and the other way round.
    refuses = option.effect in ("deny", "stop")
    assert refuses == (chosen is None or kinds[chosen].startswith("reject"))
    assert (chosen is None) == (option.id == "stop")
    state.take(step(state, AnswerWritten(5.0, prompt.id, answer.id)))
    over = {"sessionUpdate": "tool_call_update", "toolCallId": prompt.call_id, "status": "completed"}
    ends = {"id": 3, "result": {"stopReason": "cancelled" if option.effect == "stop" else "end_turn"}}
    update = {"method": "session/update", "params": {"sessionId": SESSION, "update": over}}
    last = prompt
    for message in [ends] if refuses else [update]:
        for event in talk.hear(json.dumps(message).encode(), 6.0).events:
            moved = step(state, event)
            state.take(moved)
            last = next((p for p in moved.prompts if p.id == prompt.id), last)
    outcome = {"deny": "denied", "stop": "stopped"}.get(option.effect, "allowed")
    assert (last.state, last.outcome) == ("confirmed", outcome)
