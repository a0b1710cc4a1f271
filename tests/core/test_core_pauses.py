"""Pauses and plans: when a session is ready, what reminds, and a plan that comes again too soon."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from yourcall.agents.endings import ended, nudged
from yourcall.agents.sightings import Ending
from yourcall.core.plan_cooldown import EACH_S, MOST_S, refusal, too_soon
from yourcall.core.state import State, Step
from yourcall.core.step import step
from yourcall.model.events import (
    AnswerGiven,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    Deliver,
    PromptNudged,
    PromptRaised,
    PromptWithdrawn,
    SessionSeen,
)
from yourcall.model.prompts import Answer, Option, Prompt, Question
from yourcall.model.sessions import Session, SessionState

DECIDE = Question(
    "decision",
    "Approve?",
    (Option("approve", "Approve", "allow_once"), Option("outline", "Outline first", "deny")),
)


class World:
    """A state that takes events one by one."""

    def __init__(self) -> None:
        self.state = State()
        self.take(SessionSeen(0.0, Session("s", "claude", "/x", "working")))

    def take(self, event: AnyEvent) -> Step:
        done = step(self.state, event)
        self.state.take(done)
        return done

    def raise_(self, prompt_id: str, kind: str, at: float, mark: str = "", turn: str = "") -> Step:
        questions = (DECIDE,) if kind in ("plan", "permission") else ()
        if kind == "ready":
            questions = (Question("next", "What next?", free_text=True),)
        prompt = Prompt(
            prompt_id,
            kind,
            "claude",
            "s",
            "/x",
            "t",
            at,
            questions=questions,
            fingerprint=mark or kind,
            turn_id=turn,
            answerable=True,
        )  # type: ignore[arg-type]
        return self.take(PromptRaised(at, prompt))

    def answer(self, prompt_id: str, option: str, at: float) -> Step:
        return self.take(
            AnswerGiven(at, prompt_id, Answer(f"{prompt_id}-{at}", "phone", "http", {"decision": (option,)}))
        )


@pytest.fixture
def world() -> World:
    return World()


def test_of_two_stops_of_a_turn_the_later_one_counts_in_whatever_order_their_hooks_come(world: World) -> None:
    world.raise_("second", "ready", 1.0, "ready:again", "t1")
    assert not world.raise_("first", "ready", 2.0, "ready", "t1").changed
    assert [p.id for p in world.raise_("next", "ready", 3.0, "ready", "t2").prompts] == ["second", "next"]
    world.raise_("again", "ready", 4.0, "ready:again", "t2")
    assert [(p.id, p.state) for p in world.state.of_session("s") if p.state == "open"] == [("again", "open")]


def test_a_session_is_not_ready_while_something_is_asked_there(world: World) -> None:
    world.raise_("ask", "permission", 1.0)
    assert not world.raise_("ready1", "ready", 2.0).changed
    world.take(CallSettled(3.0, "ask", "allowed", "desk"))
    assert world.raise_("ready2", "ready", 4.0).prompts[0].state == "open"


def test_a_new_ready_takes_the_place_of_the_old_one(world: World) -> None:
    world.raise_("ready1", "ready", 1.0)
    done = world.raise_("ready2", "ready", 2.0)
    assert [(p.id, p.state) for p in done.prompts] == [("ready1", "ended"), ("ready2", "open")]


def test_what_was_said_next_tells_whose_words_they_were(world: World) -> None:
    world.raise_("ready1", "ready", 1.0)
    given = Ending("s", "ready", "allowed", said="  run the tests ")
    (event,) = ended(world.state, given, 2.0)
    assert event == CallSettled(2.0, "ready1", "allowed", "desk", "")

    world.take(AnswerGiven(2.0, "ready1", Answer("a", "phone", "http", {}, {"next": "run the tests"})))
    world.take(AnswerWritten(2.1, "ready1", "a"))
    (event,) = ended(world.state, given, 3.0)
    done = world.take(event)
    assert (done.prompts[0].state, done.prompts[0].outcome) == ("confirmed", "allowed")


def test_the_end_of_a_turn_that_overtakes_its_beginning_stays_ready(world: World) -> None:
    world.raise_("ready1", "ready", 1.0)
    (prompt,) = (p for p in world.state.prompts.values() if p.id == "ready1")
    own = Ending("s", "ready", "allowed", said="go on", turn_id=prompt.turn_id or "turn-1")
    assert ended(world.state, own, 2.0) != []
    world.state.prompts["ready1"] = replace(prompt, turn_id="turn-1")
    assert ended(world.state, own, 2.0) == []


def test_a_problem_is_withdrawn_when_the_session_goes_on(world: World) -> None:
    world.raise_("p1", "problem", 1.0, "problem:rate_limit")
    (event,) = ended(world.state, Ending("s", "problem:", None, detail="went on"), 2.0)
    assert event == PromptWithdrawn(2.0, "p1", "went on")
    assert world.take(event).prompts[0].state == "ended"
    assert ended(world.state, Ending("s", "problem:", None), 3.0) == []


def test_a_reminder_is_noted_and_changes_nothing(world: World) -> None:
    world.raise_("ready1", "ready", 1.0)
    (event,) = nudged(world.state, "s", "ready", 61.0)
    assert event == PromptNudged(61.0, "ready1")
    (prompt,) = world.take(event).prompts
    assert (prompt.state, prompt.history[-1].detail) == ("open", "the agent reminds you")


# --- outline first ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 9])
def test_the_cool_down_grows_with_each_outline_first_up_to_its_limit(world: World, times: int) -> None:
    at = 0.0
    for number in range(times):
        at = 1000.0 * (number + 1)
        (plan,) = world.raise_(f"plan{number}", "plan", at).prompts
        assert not too_soon(world.state, plan, at)
        world.answer(f"plan{number}", "outline", at)
    window = min(EACH_S * times, MOST_S)
    (plan,) = world.raise_("again", "plan", at + 1).prompts
    assert too_soon(world.state, plan, at + window - 0.1)
    assert not too_soon(world.state, plan, at + window)


def test_the_refusal_is_an_answer_like_any_other_and_does_not_count_itself(world: World) -> None:
    world.raise_("plan1", "plan", 0.0)
    world.answer("plan1", "outline", 0.0)
    (plan,) = world.raise_("plan2", "plan", 1.0).prompts
    done = world.take(AnswerGiven(1.0, "plan2", refusal(plan)))
    assert done.commands == (Deliver("plan2", refusal(plan)),)
    assert done.prompts[0].history[-1].by == "outline first"
    assert world.state.sessions["s"].outlines == 1


def test_an_explicit_yes_starts_over(world: World) -> None:
    world.raise_("plan1", "plan", 0.0)
    world.answer("plan1", "outline", 0.0)
    world.raise_("plan2", "plan", 500.0)
    world.answer("plan2", "approve", 500.0)
    (plan,) = world.raise_("plan3", "plan", 500.1).prompts
    assert not too_soon(world.state, plan, 500.1)
    assert world.state.sessions["s"].outlines == 0


@pytest.mark.parametrize("late", ["idle", "working"])
def test_a_late_word_does_not_make_a_session_that_asks_look_busy_or_at_rest(late: SessionState) -> None:
    """The hook of the turn's end, or of its beginning, comes in after that of the request."""
    world = World()
    world.raise_("p", "permission", 1.0)
    world.take(SessionSeen(1.1, Session("s", "claude", "/x", late)))
    assert world.state.sessions["s"].state == "waiting"
    world.take(PromptWithdrawn(2.0, "p", "over"))
    world.take(SessionSeen(2.1, Session("s", "claude", "/x", late)))
    assert world.state.sessions["s"].state == late
