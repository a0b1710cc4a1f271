"""Which prompt is meant: ids first, then the same call in the order of arrival."""

from __future__ import annotations

from core_scene import SESSION, Scene, answer, asked, in_state, permission, sent

from yourcall.core.identity import decided, handed, over, same_request, since, unsettled
from yourcall.core.lifecycle import STATES
from yourcall.model.events import (
    AnswerGiven,
    CallBound,
    CallSettled,
    Deliver,
    DialogClosed,
    HolderConnected,
    HolderLost,
    PromptRaised,
    Release,
    SessionEnded,
)


def twins() -> Scene:
    """Two byte-identical requests in a row."""
    return Scene(SESSION, PromptRaised(0, permission("p1")), PromptRaised(0, permission("p2", opened_at=2.0)))


def test_two_identical_requests_are_two_prompts() -> None:
    scene = twins()
    scene.feed(AnswerGiven(0, "p1", answer()))
    assert (scene.row("p1").state, scene.row("p2").state) == ("answering", "open")
    assert scene.wishes == [Deliver("p1", answer())]


def test_one_call_belongs_to_one_prompt() -> None:
    scene = twins()
    scene.feed(CallBound(0, "p1", "call 1"))
    scene.feed(CallBound(0, "p2", "call 1"), CallBound(0, "p1", "call 9"), CallBound(0, "p2", ""))
    assert (scene.row("p1").call_id, scene.row("p2").call_id) == ("call 1", "")


def test_the_record_of_one_twin_leaves_the_other_alone() -> None:
    scene = twins()
    scene.feed(CallSettled(0, "p1", "denied", "desk"))
    assert (scene.row("p1").outcome, scene.row("p2").outcome) == ("denied", None)
    assert scene.row("p2").state == "open"


def test_a_holder_that_comes_back_brings_the_same_prompt() -> None:
    scene = asked()
    scene.feed(HolderLost(0, "p1"))
    assert not scene.row().answerable
    scene.feed(PromptRaised(0, permission()))
    assert scene.row().answerable
    assert [m.state for m in scene.row().history] == ["open"] * 3
    assert list(scene.rows) == ["p1"]


def test_the_same_id_with_another_request_is_not_the_same_prompt() -> None:
    before = asked().row()
    for other in (
        permission(fingerprint="rm"),
        permission(session_id="s2"),
        permission(agent="codex"),
    ):
        assert not same_request(before, other)
        for state in STATES:
            scene = in_state(state)
            done = scene.feed(PromptRaised(0, other))
            assert not done.changed
            assert not done.commands


def test_an_id_is_not_used_again_after_its_prompt_closed() -> None:
    for state in ("confirmed", "desk", "ended"):
        scene = in_state(state)
        before = scene.row()
        done = scene.feed(PromptRaised(0, permission()))
        assert scene.row() == before
        assert done.commands == (Release("p1"),)
        assert not scene.feed(PromptRaised(0, permission(fingerprint="rm"))).changed


def test_a_request_told_by_one_who_cannot_answer_it_makes_nobody_its_holder() -> None:
    scene = asked(answerable=False)
    assert not scene.feed(PromptRaised(0, permission(answerable=False))).changed
    assert not scene.row().answerable


def test_what_comes_with_a_raising_is_not_believed() -> None:
    lie = permission(state="confirmed", outcome="allowed", closed_at=3.0, answer=answer(), history=())
    row = Scene(PromptRaised(0, lie)).row()
    assert (row.state, row.outcome, row.closed_at, row.answer) == ("open", None, None, None)
    assert len(row.history) == 1


def test_unsettled_until_everything_is_known() -> None:
    settled = {state for state in STATES if not unsettled(in_state(state).row())}
    assert settled == {"confirmed", "ended"}
    scene = in_state("desk")
    scene.feed(CallSettled(0, "p1", "denied", "desk"))
    assert not unsettled(scene.row())


def test_a_session_that_ended_leaves_nothing_in_memory() -> None:
    for state in STATES:
        scene = in_state(state)
        scene.feed(SessionEnded(0, "s1", "gone"))
        assert not scene.state.prompts, state
        assert not scene.state.sessions
        assert scene.row().closed_at is not None


def test_over_until_a_holder_shows_that_it_lives() -> None:
    scene = in_state("unsure")
    assert not over(scene.row())
    scene.feed(SessionEnded(0, "s1"))
    assert over(scene.row())
    scene.feed(HolderConnected(0, "p1"))
    assert scene.row().state == "open"
    assert not over(scene.row())
    assert "p1" in scene.state.prompts


def test_a_person_called_session_ends_no_session() -> None:
    scene = asked()
    scene.feed(AnswerGiven(0, "p1", answer(by="session")))
    scene.feed(HolderLost(0, "p1"), AnswerGiven(0, "p1", answer("deny", "a2", by="session")))
    assert scene.row().history[-1].by == "session"
    assert not over(scene.row())
    assert "p1" in scene.state.prompts


def test_since_is_the_time_of_the_move_not_of_the_notes() -> None:
    scene = sent()
    moved = scene.at
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert scene.row().history[-1].at > moved
    assert since(scene.row()) == moved


def test_handed_only_when_the_holder_said_so() -> None:
    assert [state for state in STATES if handed(in_state(state).row())] == ["sent", "accepted", "confirmed"]


def test_decided_only_by_a_record_or_a_stopped_turn() -> None:
    scene = in_state("desk")
    assert not decided(scene.row())
    scene.feed(SessionEnded(0, "s1"))
    assert scene.row().outcome == "unknown"
    assert not decided(scene.row())
    scene.feed(CallSettled(0, "p1", "allowed", "desk"))
    assert scene.row().outcome == "allowed"
    assert decided(scene.row())
    stopped = asked()
    stopped.feed(DialogClosed(0, "p1", "idle"))
    assert stopped.row().outcome == "stopped"
