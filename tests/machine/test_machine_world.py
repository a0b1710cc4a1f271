"""The promises of the core, against a true world with crashes: what it says is what happened, or that it is unsure."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from machine_world import OUTCOME_OF, Request, World, permission

from yourcall.core.identity import unsettled
from yourcall.core.replay import replay
from yourcall.core.verdicts import verdict_of
from yourcall.events import AnswerGiven, AnyEvent, HolderLost, SessionSeen
from yourcall.model import Answer, Session

PEOPLE = ("anna", "ben", "session", "desk")  # two of them are called like a word of ours
SESSIONS = ("s1", "s2", "s3")


class TrueWorld(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.signs: list[AnyEvent] = []
        self.count = 0

    # --- choosing -------------------------------------------------------------------------------------------

    def pick(self, data: st.DataObject, fits) -> Request | None:  # type: ignore[no-untyped-def]
        found = [r.prompt.id for r in self.world.requests.values() if fits(r)]
        return self.world.requests[data.draw(st.sampled_from(found))] if found else None

    def up(self) -> bool:
        return self.world.state is not None

    # --- the agents -----------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.world.requests) < 6)
    @rule(session=st.sampled_from(SESSIONS), same=st.booleans())
    def an_agent_asks(self, session: str, same: bool) -> None:
        world = self.world
        if any(r.prompt.session_id == session and not r.session_lives for r in world.requests.values()):
            return
        self.count += 1
        call = "the same" if same else f"call {self.count}"
        request = Request(permission(f"p{self.count}", session, call, world.tick()))
        world.requests[request.prompt.id] = request
        if self.up():
            world.post(SessionSeen(world.tick(), Session(session, "claude", "/src", "working")))
        if self.up():
            world.connect(request, by_raising=True)

    @rule(data=st.data(), outcome=st.sampled_from(("allowed", "denied", "stopped")))
    def the_desk_answers(self, data: st.DataObject, outcome: str) -> None:
        if request := self.pick(data, lambda r: r.dialog_open and r.session_lives):
            request.decide("desk", outcome)  # type: ignore[arg-type]

    @rule(data=st.data())
    def another_hook_answers(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.dialog_open and r.session_lives):
            request.decide("other hook", "allowed")

    @rule(data=st.data())
    def the_agent_takes_our_answer(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.dialog_open and r.pending and not r.ignored and r.session_lives):
            choice = self.world.answers[request.pending][1].choices["decision"][0]
            request.decide(request.pending, OUTCOME_OF[choice])
            request.pending = ""

    @rule(data=st.data())
    def the_agent_ignores_our_answer(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.dialog_open and r.pending and r.session_lives):
            request.pending, request.ignored = "", True

    @rule(session=st.sampled_from(SESSIONS), tell=st.booleans(), data=st.data())
    def a_session_dies(self, session: str, tell: bool, data: st.DataObject) -> None:
        requests = [r for r in self.world.requests.values() if r.prompt.session_id == session]
        if not requests or self.count < 3 or not data.draw(st.booleans()):
            return
        for request in requests:
            request.session_lives = request.dialog_open = False
            if request.alive:
                self.world.say(request, self.world.ended(session)) if tell else None
                self.world.leave(request)
        self.signs.append(self.world.ended(session))

    # --- the hooks ------------------------------------------------------------------------------------------

    @precondition(lambda self: self.up())
    @rule(data=st.data(), by_raising=st.booleans())
    def a_hook_reconnects(self, data: st.DataObject, by_raising: bool) -> None:
        if request := self.pick(data, lambda r: r.alive and not r.connected):
            self.world.connect(request, by_raising)

    @rule(data=st.data())
    def a_connection_breaks(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.connected):
            self.world.disconnect(request, "broken")

    @rule(data=st.data(), may_write=st.sampled_from((True, True, True, False)), stays=st.booleans())
    def a_hook_reads_its_mail(self, data: st.DataObject, may_write: bool, stays: bool) -> None:
        if request := self.pick(data, lambda r: r.alive and r.mail):
            self.world.read_mail(request, may_write, stays)

    @rule(data=st.data())
    def a_hook_sees_the_end(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.alive and r.connected and not r.dialog_open and not r.wrote):
            from yourcall.events import DialogClosed

            self.world.say(request, DialogClosed(self.world.tick(), request.prompt.id, request.to))  # type: ignore
            self.world.leave(request)

    @rule(data=st.data())
    def a_hook_is_killed(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.alive):
            self.world.leave(request)

    # --- the daemon -----------------------------------------------------------------------------------------

    @precondition(lambda self: self.up())
    @rule(data=st.data())
    def what_a_hook_said_arrives(self, data: st.DataObject) -> None:
        if request := self.pick(data, lambda r: r.line):
            self.world.post(request.line.popleft())

    @precondition(lambda self: self.up())
    @rule(
        data=st.data(),
        by=st.sampled_from(PEOPLE),
        choice=st.sampled_from(("allow", "deny", "stop")),
        again=st.booleans(),
    )
    def somebody_answers(self, data: st.DataObject, by: str, choice: str, again: bool) -> None:
        world = self.world
        request = self.pick(data, lambda r: True)
        if request is None:
            return
        told = [a for p, a, _ in world.answers.values() if p == request.prompt.id]
        if again and told:
            answer = data.draw(st.sampled_from(told))
        else:
            answer = Answer(f"a{len(world.log)}.{world.now}", by, "phone", {"decision": (choice,)})
        before = world.rows.get(request.prompt.id)
        event = AnswerGiven(world.tick(), request.prompt.id, answer)
        done = world.post(event)
        world.given(event, done)
        if done is None or done.verdict is None:
            return
        assert done.verdict.detail
        if before is None:
            assert done.verdict.result == "refused"
        elif not any(m.answer_id == answer.id for m in before.history):
            assert (done.verdict.result == "taken") == (before.state == "open" and before.held)
            if before.state not in ("open", "unsure"):
                assert done.verdict.result == "too_late"
                self.names_the_first(before, done.verdict.by)
        elif done.verdict.result != "taken":
            assert not done.commands, "an answer that was told twice was carried twice"

    def names_the_first(self, before, by: str) -> None:  # type: ignore[no-untyped-def]
        match before.state:
            case "desk":
                assert by in ("desk", "hook")
            case "ended":
                assert by == "session"
            case _:
                assert by == before.answer.by

    @precondition(lambda self: self.up())
    @rule(data=st.data())
    def a_look_from_outside(self, data: st.DataObject) -> None:
        if (request := self.pick(data, lambda r: True)) and (sign := self.world.sign(request)):
            self.signs.append(sign)

    @precondition(lambda self: self.up())
    @rule(data=st.data(), named=st.booleans())
    def the_record_is_read(self, data: st.DataObject, named: bool) -> None:
        if request := self.pick(data, lambda r: r.decided_by and (named or r.decided_by != "other hook")):
            request.unnamed_proof |= not named
            self.signs.append(self.world.proof(request, named))

    @precondition(lambda self: self.up() and self.signs)
    @rule(data=st.data(), keep=st.booleans())
    def a_sign_arrives(self, data: st.DataObject, keep: bool) -> None:
        sign = data.draw(st.sampled_from(self.signs))
        if not keep:
            self.signs.remove(sign)
        self.world.post(sign)

    @precondition(lambda self: self.up())
    @rule(data=st.data())
    def an_absent_hook_is_given_up(self, data: st.DataObject) -> None:
        assert self.world.state is not None
        state = self.world.state

        def absent(r: Request) -> bool:
            row = state.prompts.get(r.prompt.id)
            return row is not None and row.held and not r.connected and not r.line

        if request := self.pick(data, absent):
            self.world.post(HolderLost(self.world.tick(), request.prompt.id, "its hook is gone"))

    @precondition(lambda self: self.up())
    @rule(when=st.sampled_from(("before", "after")))
    def the_next_step_crashes(self, when: str) -> None:
        self.world.crash_next = when

    @precondition(lambda self: self.up())
    @rule(read_first=st.booleans())
    def the_daemon_crashes(self, read_first: bool) -> None:
        for request in self.world.requests.values():
            while read_first and request.alive and request.mail:
                self.world.read_mail(request, may_write=True, stays=False)
        self.world.crash()

    @precondition(lambda self: not self.up())
    @rule()
    def the_daemon_starts(self) -> None:
        self.world.start()

    # --- what must hold -------------------------------------------------------------------------------------

    @invariant()
    def the_rows_tell_the_truth(self) -> None:
        self.world.check()

    @invariant()
    def replay_equals_the_rows(self) -> None:
        assert replay(self.world.log) == (self.world.rows, self.world.sessions)

    def teardown(self) -> None:
        """When everything that is true has been told, every prompt has come to its true end."""
        world = self.world
        world.crash_next = ""
        if not self.up():
            world.start()
        for request in world.requests.values():
            if request.dialog_open:
                request.decide("desk", "allowed")
            if request.alive:
                world.leave(request)
            while request.line:
                world.post(request.line.popleft())
            row = world.rows.get(request.prompt.id)
            if row is None:
                continue
            if row.held:
                world.post(HolderLost(world.tick(), row.id, "its hook is gone"))
            if request.decided_by:
                world.post(world.proof(request, named=True))
            else:
                world.post(world.ended(request.prompt.session_id))
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


TestTrueWorld = TrueWorld.TestCase
TestTrueWorld.settings = settings(
    max_examples=150,
    stateful_step_count=60,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
