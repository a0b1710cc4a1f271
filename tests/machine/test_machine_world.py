"""The promises of the core, in a true world with crashes: what it says is what happened, or that it is unsure.

One rule draws from what can happen now: the hypothesis engine switches whole rules off in each run, and a world
without, say, arriving messages would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from machine_world import OUTCOME_OF, Request, World, permission

from yourcall.core.identity import unsettled
from yourcall.core.outcomes import verdict_of
from yourcall.core.replay import replay
from yourcall.model.events import AnswerGiven, AnyEvent, DialogClosed, HolderLost, SessionSeen
from yourcall.model.prompts import Answer, Outcome, Prompt
from yourcall.model.sessions import Session

PEOPLE = ("anna", "ben", "session", "desk")  # two of them are called like a word of ours
SESSIONS = ("s1", "s2")
OUTCOMES: tuple[Outcome, ...] = ("allowed", "denied", "stopped")

Act = tuple[str, Callable[[st.DataObject], None]]


class TrueWorld(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.signs: list[AnyEvent] = []
        self.asked = 0
        self.given = 0

    @initialize(data=st.data())
    def some_agents_ask(self, data: st.DataObject) -> None:
        for _ in range(data.draw(st.integers(1, 3))):
            self.an_agent_asks(data)
        for request in self.world.requests.values():
            while request.line:
                self.world.hear(request)

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        acts = self.possible()
        number = data.draw(st.sampled_from(range(len(acts))))
        label, act = acts[number]
        note(label)
        act(data)

    @invariant()
    def the_rows_tell_the_truth(self) -> None:
        self.world.check()

    @invariant()
    def replay_equals_the_rows(self) -> None:
        assert replay(self.world.log) == (self.world.rows, self.world.sessions)

    # --- what can happen now --------------------------------------------------------------------------------

    def possible(self) -> list[Act]:
        acts: list[Act] = []
        if len(self.world.requests) < 6:
            acts.append(("an agent asks", self.an_agent_asks))
        if self.world.state is None:
            acts += [("start", lambda _: self.world.start())] * 6
        else:
            acts.append(("crash", self.the_daemon_crashes))
            acts.append(("crash next", self.the_next_step_crashes))
            acts += [("sign", self.a_sign_arrives)] * (6 if self.signs else 0)
        for request in self.world.requests.values():
            acts += [(f"{request.prompt.id} {name}", self.on(act, request)) for name, act in self.about(request)]
        return acts

    @staticmethod
    def on(act: Callable[[Request, st.DataObject], None], request: Request) -> Callable[[st.DataObject], None]:
        return lambda data: act(request, data)

    def about(self, r: Request) -> list[tuple[str, Callable[[Request, st.DataObject], None]]]:
        found: list[tuple[str, Callable[[Request, st.DataObject], None]]] = []
        up = self.world.state is not None
        if r.session_lives:
            if r.dialog_open:
                found += [("desk", self.the_desk_answers), ("other hook", self.another_hook_answers)]
            if r.dialog_open and r.pending:
                found += [("taken", self.the_agent_takes_our_answer)] * 6
                found += [("ignored", self.the_agent_ignores_our_answer)] * 2
            if self.asked > 1:
                found.append(("session dies", self.a_session_dies))
        if r.alive:
            found.append(("killed", lambda r, _: self.world.leave(r)))
            if up and not r.connected:
                found += [("reconnects", lambda r, d: self.world.connect(r, d.draw(st.booleans())))] * 2
            if r.mail:
                found += [("reads mail", self.a_hook_reads_its_mail)] * 8
            if r.connected and not r.dialog_open and not r.wrote:
                found.append(("sees the end", self.a_hook_sees_the_end))
        if r.connected:
            found.append(("connection breaks", lambda r, _: self.world.disconnect(r, "broken")))
        if up:
            found += [("answer", self.somebody_answers)] * 3
            if r.line:
                found += [("line", lambda r, _: self.world.hear(r))] * 8
            if self.world.sign(r):
                found += [("look", self.a_look_from_outside)] * 6
            if r.decided_by:
                found += [("record", self.the_record_is_read)] * 2
            if self.absent(r):
                found.append(("given up", lambda r, _: self.given_up(r)))
        return found

    # --- the agents -----------------------------------------------------------------------------------------

    def an_agent_asks(self, data: st.DataObject) -> None:
        world = self.world
        dead = {r.prompt.session_id for r in world.requests.values() if not r.session_lives}
        session = data.draw(st.sampled_from([s for s in (*SESSIONS, f"s{self.asked + 3}") if s not in dead]))
        self.asked += 1
        call = data.draw(st.sampled_from(("the same", f"call {self.asked}")))
        request = Request(permission(f"p{self.asked}", session, call, world.tick()))
        world.requests[request.prompt.id] = request
        if world.state is not None:
            world.post(SessionSeen(world.tick(), Session(session, "claude", "/src", "working")))
        if world.state is not None:
            world.connect(request, by_raising=True)

    def the_desk_answers(self, r: Request, data: st.DataObject) -> None:
        r.decide("desk", data.draw(st.sampled_from(OUTCOMES)))

    def another_hook_answers(self, r: Request, data: st.DataObject) -> None:
        r.decide("other hook", data.draw(st.sampled_from(OUTCOMES[:2])))

    def the_agent_takes_our_answer(self, r: Request, _: st.DataObject) -> None:
        choice = self.world.answers[r.pending][1].choices["decision"][0]
        r.decide(r.pending, OUTCOME_OF[choice])
        r.pending = ""

    def the_agent_ignores_our_answer(self, r: Request, _: st.DataObject) -> None:
        r.pending, r.ignored = "", True

    def a_session_dies(self, r: Request, data: st.DataObject) -> None:
        session, told = r.prompt.session_id, data.draw(st.booleans())
        for request in self.world.requests.values():
            if request.prompt.session_id == session:
                request.session_lives = request.dialog_open = False
                if request.alive and told:
                    self.world.say(request, self.world.ended(session))
                if request.alive:
                    self.world.leave(request)
        self.signs.append(self.world.ended(session))

    # --- the hooks ------------------------------------------------------------------------------------------

    def a_hook_reads_its_mail(self, r: Request, data: st.DataObject) -> None:
        may_write = data.draw(st.sampled_from((True, True, True, False)))
        self.world.read_mail(r, may_write, stays=data.draw(st.booleans()))

    def a_hook_sees_the_end(self, r: Request, _: st.DataObject) -> None:
        self.world.say(r, DialogClosed(self.world.tick(), r.prompt.id, r.to))
        self.world.leave(r)

    # --- the daemon -----------------------------------------------------------------------------------------

    def somebody_answers(self, r: Request, data: st.DataObject) -> None:
        world = self.world
        told = [a for p, a, _ in world.answers.values() if p == r.prompt.id]
        answer = data.draw(st.sampled_from(told)) if told and data.draw(st.booleans()) else self.new_answer(data)
        before = world.rows.get(r.prompt.id)
        event = AnswerGiven(world.tick(), r.prompt.id, answer)
        done = world.post(event)
        world.given(event, done)
        if done is None or done.verdict is None:
            return
        verdict = done.verdict
        assert verdict.detail
        if before is None:
            assert verdict.result == "refused"
        elif any(m.answer_id == answer.id for m in before.history):
            assert not done.commands, "an answer that was told twice was carried twice"
            assert not done.changed
        else:
            assert (verdict.result == "taken") == (before.state == "open" and before.answerable)
            assert (verdict.result == "refused") == (before.state == "open" and not before.answerable)
            if verdict.result == "too_late":
                assert verdict.by in self.who_was_first(before)
            elif before.state != "open":
                assert before.state == "unsure"
                assert before.answer is None

    def new_answer(self, data: st.DataObject) -> Answer:
        self.given += 1
        by, choice = data.draw(st.sampled_from(PEOPLE)), data.draw(st.sampled_from(("allow", "deny", "stop")))
        return Answer(f"a{self.given}", by, "phone", {"decision": (choice,)})

    @staticmethod
    def who_was_first(before: Prompt) -> tuple[str, ...]:
        match before.state:
            case "desk":
                return ("desk", "hook")
            case "ended":
                return ("session",)
            case _:
                assert before.answer is not None
                return (before.answer.by,)

    def a_look_from_outside(self, r: Request, _: st.DataObject) -> None:
        sign = self.world.sign(r)
        assert sign is not None
        self.signs.append(sign)

    def the_record_is_read(self, r: Request, data: st.DataObject) -> None:
        named = r.decided_by == "other hook" or data.draw(st.booleans())
        r.unnamed_proof |= not named
        self.signs.append(self.world.proof(r, named))

    def a_sign_arrives(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.signs) - 1))
        again = data.draw(st.booleans())
        self.world.post(self.signs[number] if again else self.signs.pop(number))

    def absent(self, r: Request) -> bool:
        row = self.world.state.prompts.get(r.prompt.id) if self.world.state else None
        return row is not None and row.answerable and not r.connected and not r.line

    def given_up(self, r: Request) -> None:
        self.world.post(HolderLost(self.world.tick(), r.prompt.id, "its hook is gone"))

    def the_next_step_crashes(self, data: st.DataObject) -> None:
        self.world.crash_next = data.draw(st.sampled_from(("before", "after")))

    def the_daemon_crashes(self, data: st.DataObject) -> None:
        read_first = data.draw(st.booleans())
        for request in self.world.requests.values():
            while read_first and request.alive and request.mail:
                self.world.read_mail(request, may_write=True, stays=False)
        self.world.crash()

    # --- the end --------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """When everything that is true has been told, every prompt has come to its true end."""
        world = self.world
        world.crash_next = ""
        if world.state is None:
            world.start()
        for request in world.requests.values():
            if request.dialog_open:
                request.decide("desk", "allowed")
            if request.alive:
                world.leave(request)
            while request.line:
                world.hear(request)
            row = world.rows.get(request.prompt.id)
            if row is not None:
                if row.answerable:
                    self.given_up(request)
                decided = bool(request.decided_by)
                world.post(world.proof(request, named=True) if decided else world.ended(row.session_id))
                self.came_to_its_end(request)
        world.check()
        assert replay(world.log) == (world.rows, world.sessions)

    def came_to_its_end(self, request: Request) -> None:
        row = self.world.rows[request.prompt.id]
        assert not unsettled(row), row
        if request.decided_by in self.world.answers:
            assert verdict_of(row, request.decided_by).result == "confirmed", row
        elif request.decided_by:
            assert row.state in ("desk", "confirmed"), row
        else:
            assert row.state in ("ended", "unsure"), row


QUICK = settings(
    max_examples=100,
    stateful_step_count=50,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

TestTrueWorld = pytest.mark.long(TrueWorld.TestCase)
TestTrueWorld.settings = QUICK


@pytest.mark.soak
def test_the_true_world_for_long() -> None:
    run_state_machine_as_test(TrueWorld, settings=settings(QUICK, max_examples=5_000))
