"""What every agent owes: captured prompts are read, every option has a plan, junk changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.registry import AGENTS
from yourcall.agents.sightings import HookCall, HookResult
from yourcall.agents.spec import Agent, HookReply
from yourcall.core import safety
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.model.events import AnswerGiven, CallSettled, Deliver, PromptRaised
from yourcall.model.prompts import Answer, Option, Prompt, Question

DATA = Path(__file__).resolve().parents[1] / "data"


def captured(agent: str) -> list[tuple[str, str, bytes]]:
    """(name, event, payload) of every hook call that was captured from the real program."""
    path = DATA / agent / "hook-payload-samples.json"
    if not path.exists():
        return []
    samples = json.loads(path.read_text())
    return [(name, payload["hook_event_name"], json.dumps(payload).encode()) for name, payload in samples.items()]


CASES = [(agent, *case) for agent in AGENTS.values() for case in captured(agent.name)]
ASKING = ("PermissionRequest", "Elicitation")


def heard(agent: Agent, event: str, payload: bytes) -> HookResult:
    waits = "aaaabbbbcc" if event in ASKING else ""
    return agent.read_hook(HookCall(1000.0, event, payload, {"CLAUDE_PID": "7"}, waits, "newidnewid"))


def raised(found: HookResult) -> Prompt | None:
    return next((e.prompt for e in found.events if isinstance(e, PromptRaised)), None)


def answer_with(prompt: Prompt, question: Question, option: Option) -> Answer:
    """The smallest whole answer that chooses this option: the other questions get their first possible one."""
    choices, texts = {question.id: (option.id,)}, {}
    for other in prompt.questions:
        if other.id == question.id or not other.required:
            continue
        if other.options:
            choices[other.id] = (other.options[0].id,)
        else:
            texts[other.id] = f"{other.minimum or 1:g}"
    return Answer("answer1", "somebody", "test", choices, texts)


@pytest.mark.parametrize(("agent", "name", "event", "payload"), CASES, ids=[f"{c[0].name}-{c[1]}" for c in CASES])
def test_a_captured_call_is_read_without_a_problem(agent: Agent, name: str, event: str, payload: bytes) -> None:
    found = heard(agent, event, payload)
    assert found.problem == ""
    assert found.events
    prompt = raised(found)
    asks = found.told is not None and found.told.asked  # else it only says what it is about to run
    assert (prompt is not None or asks) == (event in (*ASKING, "Stop", "StopFailure"))
    if found.told is not None:  # an agent whose hooks only inform: its dialog is answered on the screen
        assert found.told.prompt.title
        assert not found.held
    if prompt is not None and event in ASKING:
        assert prompt.title
        assert prompt.questions
        assert found.held
        assert set(found.bodies) == {prompt.request}


OFFERS = [
    (agent, name, event, payload, question, option)
    for agent, name, event, payload in CASES
    if event in ASKING and (prompt := raised(heard(agent, event, payload))) is not None
    for question in prompt.questions
    for option in question.options
]


@pytest.mark.parametrize(
    ("agent", "name", "event", "payload", "question", "option"), OFFERS, ids=[f"{o[1]}-{o[5].id}" for o in OFFERS]
)
def test_every_option_has_a_plan_and_a_sign_that_confirms_it(
    agent: Agent, name: str, event: str, payload: bytes, question: Question, option: Option
) -> None:
    found = heard(agent, event, payload)
    prompt = raised(found)
    assert prompt is not None
    answer = answer_with(prompt, question, option)
    assert safety.objection(prompt, answer) is None

    state = State()
    for fact in found.events:
        state.take(step(state, fact))
    done = step(state, AnswerGiven(1001.0, prompt.id, answer))
    assert done.commands == (Deliver(prompt.id, answer),)
    plan = agent.reply(prompt, answer, found.bodies[prompt.request])
    assert isinstance(plan, HookReply)
    said = json.loads(plan.output)["hookSpecificOutput"]
    assert said["hookEventName"] == event
    # What refuses never allows, and the other way round.
    refuses = any(o.effect in ("deny", "stop") for o in safety.chosen(prompt, answer))
    decision = said.get("decision", {}).get("behavior") or said["action"]
    assert (decision in ("deny", "decline", "cancel")) == refuses
    assert plan.strict == (option.effect == "stop" and event == "PermissionRequest")


@pytest.mark.parametrize("agent", AGENTS.values(), ids=list(AGENTS))
@given(
    event=st.sampled_from(["PermissionRequest", "Stop", "Elicitation", "Nonsense"]), payload=st.binary(max_size=80)
)
def test_unknown_input_changes_nothing(agent: Agent, event: str, payload: bytes) -> None:
    found = heard(agent, event, payload)
    assert found.events == ()
    assert agent.read_line(payload) == []
    assert agent.read_status(payload) is None


@pytest.mark.parametrize("agent", AGENTS.values(), ids=list(AGENTS))
def test_a_transcript_line_is_only_believed_from_its_own_side(agent: Agent) -> None:
    """Words of the model that look like a record are words."""
    fake = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    told = {"type": "assistant", "message": {"content": [{"type": "text", "text": json.dumps(fake)}]}}
    assert agent.read_line(json.dumps(told).encode()) == []
    told = {"type": "assistant", "message": {"content": [fake]}, "permissionDecision": {"decision": "accept"}}
    assert [r for r in agent.read_line(json.dumps(told).encode()) if isinstance(r, CallSettled)] == []
