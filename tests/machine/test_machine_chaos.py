"""Any event at any time, true or not: what the core promises even to a world that makes no sense."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from machine_world import permission
from msgspec.structs import replace

from yourcall.core.identity import handed, unsettled
from yourcall.core.lifecycle import CLOSED, TRANSITIONS
from yourcall.core.outcomes import final, verdict_of
from yourcall.core.replay import prompt_of, recall, replay
from yourcall.core.state import State, Step
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    AttemptRefused,
    CallBound,
    CallSettled,
    Deliver,
    DialogClosed,
    DialogReached,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptFollowed,
    PromptNudged,
    PromptRaised,
    PromptWithdrawn,
    Release,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt
from yourcall.model.sessions import Session

PROMPTS = ("p1", "p2", "p3")
ANSWERS = ("a1", "a2", "a3", "a4")
at_last = 0.0  # every event gets its time when it is posted


def answer(answer_id: str) -> Answer:
    """The same id is always the same answer, as at the edge."""
    choice = {"a1": "allow", "a2": "deny", "a3": "stop", "a4": "allow"}[answer_id]
    return Answer(answer_id, f"person of {answer_id}", "phone", {"decision": (choice,)})


def session_of(prompt_id: str) -> str:
    return "s2" if prompt_id == "p3" else "s1"


ids = st.sampled_from((*PROMPTS, "nobody's"))
answer_ids = st.sampled_from(ANSWERS)
session_ids = st.sampled_from(("s1", "s2", "s9"))
raised = st.builds(
    lambda i, call, held: PromptRaised(at_last, replace(permission(i, session_of(i), call, 1.0), answerable=held)),
    st.sampled_from(PROMPTS),
    st.sampled_from(("the call", "the call", "another call")),
    st.booleans(),
)
anything: st.SearchStrategy[AnyEvent] = st.one_of(
    raised,
    st.builds(
        lambda i, state, pid: SessionSeen(at_last, Session(i, "claude", "/src", state, pid=pid)),
        session_ids,
        st.sampled_from(("working", "idle", "unknown", "ended")),
        st.integers(0, 2),
    ),
    st.builds(lambda i: SessionEnded(at_last, i, "gone"), session_ids),
    st.builds(lambda i, a: AnswerGiven(at_last, i, answer(a)), ids, answer_ids),
    st.builds(lambda i, a: AnswerGiven(at_last, i, answer(a)), ids, answer_ids),
    st.builds(lambda i, a: AnswerWritten(at_last, i, a), ids, answer_ids),
    st.builds(lambda i, a: AnswerNotWritten(at_last, i, a, "it could not"), ids, answer_ids),
    st.builds(lambda i, a: HolderConnected(at_last, i, a), ids, st.sampled_from(("", "", *ANSWERS))),
    st.builds(lambda i: HolderLost(at_last, i, "broken"), ids),
    st.builds(lambda i, c: CallBound(at_last, i, c), ids, st.sampled_from(("c1", "c2", ""))),
    st.builds(lambda i, to: DialogClosed(at_last, i, to), ids, st.sampled_from(("busy", "idle", "over"))),
    st.builds(lambda i: DialogStillOpen(at_last, i), ids),
    st.builds(
        lambda i, o, s: CallSettled(at_last, i, o, s),
        ids,
        st.sampled_from(("allowed", "denied", "stopped", "unknown")),
        st.sampled_from(("held", "desk", "unknown")),
    ),
    st.builds(lambda i: PromptWithdrawn(at_last, i), ids),
    st.builds(lambda i, s: PromptFollowed(at_last, i, s, f"/t/{s}.jsonl"), ids, session_ids),
    st.builds(
        lambda i: DialogReached(at_last, i, "screen", permission(i, "s1", "the call", 1.0).questions, "b"), ids
    ),
    st.builds(lambda i: PromptNudged(at_last, i), ids),
    st.builds(lambda i: AttemptRefused(at_last, "a process tried to answer a prompt", "Why.", "s1", i), ids),
    st.builds(lambda i: TraceLost(at_last, i, "nobody can tell"), ids),
)


class Chaos(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.rows: dict[str, Prompt] = {}
        self.sessions: dict[str, Session] = {}
        self.log: list[AnyEvent] = []
        self.clock = 1.0
        # per prompt: may an answer be carried, as far as its holder's own words go?
        self.free: dict[str, bool] = {}

    @initialize()
    def something_is_there(self) -> None:
        for session in ("s1", "s2"):
            self.post(SessionSeen(0.0, Session(session, "claude", "/src", "working", pid=1)))
        for prompt_id in PROMPTS:
            self.post(PromptRaised(0.0, permission(prompt_id, session_of(prompt_id), "the call", 1.0)))

    @rule(event=anything)
    def happens(self, event: AnyEvent) -> None:
        self.post(event)

    @rule(events=st.lists(anything, min_size=4, max_size=12))
    def happen(self, events: list[AnyEvent]) -> None:
        for event in events:
            self.post(event)

    @rule(prompt_id=st.sampled_from(PROMPTS), answer_id=answer_ids)
    def an_answer_goes_well(self, prompt_id: str, answer_id: str) -> None:
        """Chance alone would seldom get this far."""
        self.post(HolderConnected(0.0, prompt_id))
        self.post(AnswerGiven(0.0, prompt_id, answer(answer_id)))
        self.post(AnswerWritten(0.0, prompt_id, answer_id))

    @rule()
    def the_daemon_restarts(self) -> None:
        self.state = State()
        live = tuple(p for p in self.rows.values() if unsettled(p))
        sessions = tuple(s for s in self.sessions.values() if s.state != "ended")
        self.state.take(Step(prompts=live, sessions=sessions))

    def post(self, event: AnyEvent) -> None:
        self.clock += 1.0
        event = replace(event, at=self.clock)
        about = prompt_of(event)
        before = self.rows.get(about)
        photo = msgspec.json.encode(self.state)
        done = recall(self.state, event, before)
        assert msgspec.json.encode(self.state) == photo, "a step changed the state it was given"
        assert recall(self.state, event, before) == done, "the same step gave another result"
        self.check_step(event, before, done)
        self.state.take(done)
        if done.changed:
            self.log.append(event)
        self.rows.update((p.id, p) for p in done.prompts)
        self.sessions.update((s.id, s) for s in done.sessions)

    # --- one step -------------------------------------------------------------------------------------------

    def check_step(self, event: AnyEvent, before: Prompt | None, done: Step) -> None:
        about = prompt_of(event)
        if about and before is None and not isinstance(event, PromptRaised):
            assert not done.changed, "an unknown id changed something"
            assert not done.commands
        if about:
            assert {p.id for p in done.prompts} <= {about}, "an event about one prompt changed another"
        for row in done.prompts:
            self.check_move(event, self.rows.get(row.id), row)
        for command in done.commands:
            self.check_wish(event, before, done, command)
        self.hear(event, before, done)

    def check_move(self, event: AnyEvent, old: Prompt | None, new: Prompt) -> None:
        if old is None:
            assert isinstance(event, PromptRaised)
            assert (new.state, new.answer, new.outcome, new.closed_at) == ("open", None, None, None)
            return
        assert new.history[: len(old.history)] == old.history, "history was rewritten"
        assert (new.id, new.fingerprint, new.opened_at) == (old.id, old.fingerprint, old.opened_at)
        if not isinstance(event, PromptFollowed):
            assert (new.session_id, new.record) == (old.session_id, old.record)
        if not isinstance(event, DialogReached | PromptRaised):
            assert (new.questions, new.link, new.request) == (old.questions, old.link, old.request)
        elif new.link != old.link:
            assert old.state == new.state == "open", "another way while an answer is on the first"
            assert old.answer is None
        if new.state != old.state:
            assert new.state in {after for (state, _), after in TRANSITIONS.items() if state == old.state}
            assert len(new.history) == len(old.history) + 1, "a move without a line in the history"
            assert new.history[-1].detail
        if new.state == "confirmed" != old.state:
            assert isinstance(event, CallSettled | AnswerWritten | HolderConnected)
            assert new.answer is not None
            assert isinstance(event, CallSettled) or old.outcome is not None, "confirmed without a record"
            assert (
                (isinstance(event, CallSettled) and event.source == "held") or handed(new) or old.state == "unsure"
            )
        if new.outcome != old.outcome and new.outcome in ("allowed", "denied"):
            assert isinstance(event, CallSettled), "a yes or a no that no record told"
            assert new.outcome == event.outcome
        if new.outcome != old.outcome and new.outcome == "stopped":
            assert isinstance(event, CallSettled | DialogClosed)
        if old.state == "confirmed":
            assert new.state == "confirmed"
        if new.state == "open" != old.state and old.answer is not None:
            line = new.history[-1]
            assert line.answer_id == old.answer.id, "a bounce does not say whose answer came back"
            assert line.detail.startswith("bounced: ")
            assert verdict_of(new, old.answer.id).result == "bounced"

    def check_wish(self, event: AnyEvent, before: Prompt | None, done: Step, command: Deliver | Release) -> None:
        after = next((p for p in done.prompts if p.id == command.prompt_id), self.rows.get(command.prompt_id))
        assert after is not None
        if isinstance(command, Release):
            assert after.state not in ("open", "answering")
            return
        assert before is not None
        assert before.state in ("open", "answering"), "carried after it had closed"
        assert after.state == "answering"
        assert after.answerable
        assert after.answer == command.answer
        first = isinstance(event, AnswerGiven)
        came_back = isinstance(event, HolderConnected | PromptRaised)
        assert first or came_back
        if first:
            assert self.free.get(command.prompt_id, True), (
                "a second answer, and nobody said the first was not written"
            )

    def hear(self, event: AnyEvent, before: Prompt | None, done: Step) -> None:
        """Who vouches that nothing is before the agent: the holder, or a look after the holder is gone."""
        match event:
            case AnswerGiven() if done.commands:
                self.free[event.prompt_id] = False
            case AnswerNotWritten() if before and before.answer and before.answer.id == event.answer_id:
                self.free[event.prompt_id] = True
            case HolderConnected(wrote=""):
                self.free[event.prompt_id] = True
            case PromptRaised() if before is not None and event.prompt.answerable:
                self.free[event.prompt.id] = True
            case DialogStillOpen() if before is not None and not before.answerable:
                self.free[event.prompt_id] = True
            case _:
                pass

    # --- always ---------------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_dropped(self) -> None:
        for row in self.rows.values():
            assert (row.id in self.state.prompts) == unsettled(row)
            assert row.state in CLOSED or row.state == "unsure" or row.id in self.state.prompts
        assert all(self.rows[p.id] == p for p in self.state.prompts.values())

    @invariant()
    def rows_make_sense(self) -> None:
        for row in self.rows.values():
            times = [m.at for m in row.history]
            assert times == sorted(times)
            assert row.history[0].state == "open"
            assert row.history[-1].state == row.state
            assert (row.answer is not None) or row.state in ("open", "desk", "ended", "unsure")
            assert row.answer is None or row.state != "open"
            assert not row.answerable or row.state in ("open", "answering", "unsure")
            assert (row.closed_at is not None) or row.state not in CLOSED

    @invariant()
    def every_answer_has_a_verdict(self) -> None:
        for row in self.rows.values():
            for answer_id in (*ANSWERS, "never given"):
                verdict = verdict_of(row, answer_id)
                assert verdict.detail
                on_its_way = row.state in ("answering", "sent", "accepted")
                mine = row.answer is not None and row.answer.id == answer_id
                assert final(verdict) == (not (on_its_way and mine))
                assert (verdict.result == "confirmed") == (row.state == "confirmed" and mine)
                if verdict.result == "too_late":
                    assert verdict.by

    @invariant()
    def replay_equals_the_rows(self) -> None:
        assert replay(self.log) == (self.rows, self.sessions)


QUICK = settings(
    max_examples=150,
    stateful_step_count=30,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

TestChaos = pytest.mark.long(Chaos.TestCase)
TestChaos.settings = QUICK


@pytest.mark.soak
def test_chaos_for_long() -> None:
    run_state_machine_as_test(Chaos, settings=settings(QUICK, max_examples=5_000))
