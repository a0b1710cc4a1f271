"""What an adversary would try: signs late, twice, in the wrong order, about the wrong thing."""

from __future__ import annotations

import pytest
from core_scene import SESSION, Scene, answer, answered, asked, in_state, permission, sent

from yourcall.core.lifecycle import STATES
from yourcall.core.transition import MOST_MOMENTS
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    CallBound,
    CallSettled,
    Deliver,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptRaised,
    Release,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Option, PromptState, Question
from yourcall.model.sessions import Link, Session

# --- one answer, once -----------------------------------------------------------------------------------------


def test_a_look_while_the_answer_is_in_the_holders_hands_opens_nothing() -> None:
    scene = answered()
    scene.feed(DialogStillOpen(0, "p1"), AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert scene.wishes == [Deliver("p1", answer())]


def test_nor_does_it_when_somebody_said_that_the_trace_is_lost() -> None:
    scene = answered()
    scene.feed(TraceLost(0, "p1", "who knows"), DialogStillOpen(0, "p1"))
    assert scene.row().state == "unsure"
    scene.feed(AnswerWritten(0, "p1", "a1"))
    assert scene.row().state == "sent"


def test_who_decided_is_kept_when_an_answer_that_came_back_was_taken_after_all() -> None:
    scene = sent()
    scene.feed(DialogStillOpen(0, "p1"), CallSettled(0, "p1", "allowed", "held", "it ran, decided by a hook"))
    assert scene.row().history[-1].by == answer().by


def test_a_look_from_before_the_writing_is_no_news() -> None:
    scene = sent()
    assert not scene.feed(DialogStillOpen(scene.at - 0.5, "p1")).changed
    assert scene.feed(DialogStillOpen(scene.at + 0.5, "p1")).changed


def test_after_a_writing_nothing_is_carried_any_more() -> None:
    scene = sent()
    scene.feed(
        DialogStillOpen(0, "p1"),
        AnswerGiven(0, "p1", answer("deny", "a2", "ben")),
        SessionEnded(0, "s1"),
        AnswerGiven(0, "p1", answer("deny", "a3", "ben")),
    )
    assert [type(w) for w in scene.wishes] == [Deliver]


@pytest.mark.parametrize("word", [HolderConnected(0, "p1"), PromptRaised(0, permission())])
def test_an_old_word_of_the_holder_does_not_undo_its_writing(word: HolderConnected | PromptRaised) -> None:
    for scene in (sent(), in_state("accepted")):
        before = scene.row()
        scene.feed(word)
        assert scene.row() == before
    scene = sent()
    scene.feed(TraceLost(0, "p1", "lost"), word)
    assert scene.row().state == "unsure", "it was written, whatever else is lost"
    assert not scene.row().answerable


def test_a_writing_is_not_taken_back() -> None:
    scene = sent()
    scene.feed(TraceLost(0, "p1", "lost"), AnswerNotWritten(0, "p1", "a1", "a timer that knows nothing"))
    assert scene.row().state == "unsure"


@pytest.mark.parametrize("word", [HolderConnected(0, "p1", "a1"), AnswerWritten(0, "p1", "a1")])
def test_an_answer_that_came_back_and_was_written_after_all(word: HolderConnected | AnswerWritten) -> None:
    scene = answered()
    scene.feed(AnswerNotWritten(0, "p1", "a1", "no"), word)
    assert (scene.row().state, scene.row().answerable) == ("unsure", False)
    scene = answered()
    scene.feed(AnswerNotWritten(0, "p1", "a1", "no"), AnswerGiven(0, "p1", answer("deny", "a2", "ben")), word)
    assert (scene.row().state, scene.row().answerable) == ("unsure", False)


def test_a_holder_that_wrote_is_not_there_to_write_again() -> None:
    scene = answered()
    scene.feed(HolderConnected(0, "p1", "a1"))
    assert (scene.row().state, scene.row().answerable) == ("sent", False)
    assert not scene.feed(HolderConnected(0, "p1", "a1")).changed


# --- after the end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["confirmed", "desk", "ended"])
def test_what_is_closed_is_closed_for_every_late_sign(state: PromptState) -> None:
    scene = in_state(state)
    scene.feed(
        HolderLost(0, "p1", "late"),
        AnswerWritten(0, "p1", "a1"),
        AnswerNotWritten(0, "p1", "a1", "late"),
        DialogClosed(0, "p1", "idle"),
        DialogStillOpen(0, "p1"),
        TraceLost(0, "p1", "late"),
        SessionEnded(0, "s1"),
        PromptRaised(0, permission()),
        HolderConnected(0, "p1"),
        AnswerGiven(0, "p1", answer("deny", "a2", "ben")),
    )
    assert scene.row().state == state
    assert not [w for w in scene.wishes if isinstance(w, Deliver) and w.answer.id != "a1"]


def test_a_holder_that_outlived_its_prompt_is_let_go() -> None:
    for state in ("confirmed", "desk", "ended"):
        scene = in_state(state)
        scene.wishes.clear()
        scene.feed(HolderConnected(0, "p1"), PromptRaised(0, permission()))
        assert scene.wishes == [Release("p1"), Release("p1")]


def test_the_first_record_stands() -> None:
    for first, second in (("desk", "held"), ("held", "desk")):
        scene = sent()
        scene.feed(CallSettled(0, "p1", "allowed", first))  # type: ignore[arg-type]
        before = scene.row()
        scene.feed(CallSettled(0, "p1", "denied", second))  # type: ignore[arg-type]
        assert scene.row() == before


def test_a_record_that_contradicts_us_is_never_our_proof() -> None:
    for choice, outcome in (("deny", "allowed"), ("stop", "allowed"), ("allow", "denied"), ("allow", "stopped")):
        scene = sent(choice)
        scene.feed(CallSettled(0, "p1", outcome, "held"))  # type: ignore[arg-type]
        assert (scene.row().state, scene.row().outcome) == ("desk", outcome)
        assert scene.verdict().by == "hook", "another program of the user's"


def test_a_refusal_that_went_on_is_not_our_stop() -> None:
    scene = sent("stop")
    scene.feed(CallSettled(0, "p1", "denied", "unknown"))
    assert scene.row().state == "desk"


def test_a_written_reply_is_confirmed_like_a_chosen_one() -> None:
    question = Question("name", "Which name?", free_text=True)
    scene = Scene(SESSION, PromptRaised(0, permission(kind="question", questions=(question,))))
    scene.feed(AnswerGiven(0, "p1", Answer("a1", "anna", "phone", texts={"name": "Ada"})))
    scene.feed(AnswerWritten(0, "p1", "a1"), CallSettled(0, "p1", "allowed", "unknown"))
    assert scene.row().state == "confirmed"


# --- nobody knows ---------------------------------------------------------------------------------------------


def test_as_we_asked_but_by_whom() -> None:
    scene = answered()
    scene.feed(HolderLost(0, "p1"), CallSettled(0, "p1", "allowed", "unknown", "it ran"))
    row = scene.row()
    assert (row.state, row.outcome) == ("unsure", "allowed")
    assert scene.verdict().detail == "it ran; it is not known by whose answer"
    assert not scene.feed(DialogStillOpen(0, "p1")).changed, "its end is on record"
    written, unwritten = answered(), answered()
    for each in (written, unwritten):
        each.feed(HolderLost(0, "p1"), CallSettled(0, "p1", "allowed", "unknown"))
    written.feed(AnswerWritten(0, "p1", "a1"))
    assert (written.row().state, written.row().outcome) == ("confirmed", "allowed")
    unwritten.feed(HolderConnected(0, "p1"))
    assert (unwritten.row().state, unwritten.row().outcome) == ("desk", "allowed")
    assert unwritten.wishes[-1] == Release("p1")


def test_a_record_does_not_go_ahead_of_the_holder() -> None:
    scene = answered()
    scene.feed(CallSettled(0, "p1", "allowed", "unknown"), CallSettled(0, "p1", "allowed", "held"))
    assert scene.row().state == "answering"
    scene.feed(DialogClosed(0, "p1", "busy"))
    assert scene.row().state == "desk", "the holder saw it closed, with our answer still in its hands"


def test_unsure_is_cleared_up_by_the_holder() -> None:
    scene = in_state("unsure")
    scene.feed(HolderConnected(0, "p1"))
    assert (scene.row().state, scene.row().answerable, scene.row().answer) == ("open", True, None)
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert scene.wishes[-1] == Deliver("p1", answer("deny", "a2", "ben"))


def test_a_holder_lost_twice_is_lost_once() -> None:
    scene = in_state("unsure")
    assert not scene.feed(HolderLost(0, "p1", "again")).changed


def test_a_holder_lost_before_and_after_the_dialog_closed() -> None:
    before, after = asked(), asked()
    before.feed(HolderLost(0, "p1"), DialogClosed(0, "p1", "busy"))
    after.feed(DialogClosed(0, "p1", "busy"), HolderLost(0, "p1"))
    assert before.row().state == after.row().state == "desk"
    assert before.wishes == []
    assert after.wishes == [Release("p1")]


# --- sessions -------------------------------------------------------------------------------------------------


def test_a_prompt_of_a_session_nobody_has_seen() -> None:
    scene = Scene(PromptRaised(0, permission()))
    assert scene.row().state == "open"
    assert scene.sessions == {}
    scene.feed(SessionEnded(0, "s1"))
    assert scene.row().state == "ended"
    assert scene.sessions == {}


def test_a_session_that_is_seen_as_ended_has_ended() -> None:
    scene = asked()
    scene.feed(SessionSeen(0, Session("s1", "claude", "/src", "ended")))
    assert scene.row().state == "ended"
    assert scene.sessions["s1"].state == "ended"
    assert scene.wishes == [Release("p1")]


def test_a_session_seen_after_its_end_lives_again_and_its_old_prompts_stay_ended() -> None:
    scene = in_state("ended")
    scene.feed(SessionSeen(0, Session("s1", "claude", "/src", "idle", pid=8)))
    assert scene.sessions["s1"].state == "idle"
    assert scene.row().state == "ended"


def test_the_end_of_a_session_lets_go_of_every_holder() -> None:
    unsure = asked()
    unsure.feed(TraceLost(0, "p1", "lost"), SessionEnded(0, "s1"))
    for scene in (asked(), answered(), unsure):
        scene.feed(SessionEnded(0, "s1"))
        assert not scene.row().answerable
        assert scene.wishes[-1] == Release("p1")


def test_ending_an_unknown_session_changes_nothing() -> None:
    assert not asked().feed(SessionEnded(0, "s9")).changed


def test_the_end_of_one_session_leaves_the_other_alone() -> None:
    scene = asked()
    scene.feed(PromptRaised(0, permission("p2", session_id="s2")), SessionEnded(0, "s2"))
    assert (scene.row("p1").state, scene.row("p2").state) == ("open", "ended")


def test_the_start_time_of_one_process_is_not_kept_for_another() -> None:
    scene = Scene(SESSION)
    scene.feed(SessionSeen(0, Session("s1", "claude", "", pid=8)))
    assert (scene.sessions["s1"].pid, scene.sessions["s1"].pid_started) == (8, "")
    scene.feed(SessionSeen(0, Session("s1", "claude", "", pid_started="now")))
    assert (scene.sessions["s1"].pid, scene.sessions["s1"].pid_started) == (8, "now")


def test_empty_fields_say_nothing_and_being_seen_is_no_news() -> None:
    scene = Scene(SESSION)
    full = scene.sessions["s1"]
    assert not scene.feed(SessionSeen(0, Session("s1", "", "", seen_at=99.0))).changed
    scene.feed(SessionSeen(0, Session("s1", "", "", "idle", links=(Link("tmux", "%1"),), seen_at=3.0)))
    now = scene.sessions["s1"]
    assert (now.cwd, now.pid, now.state, now.links, now.seen_at) == (
        full.cwd,
        7,
        "idle",
        (Link("tmux", "%1"),),
        3.0,
    )


def test_a_session_waits_as_long_as_one_of_its_prompts_does() -> None:
    scene = asked()
    scene.feed(PromptRaised(0, permission("p2")))
    scene.feed(DialogClosed(0, "p1", "busy"))
    assert scene.sessions["s1"].state == "waiting"
    scene.feed(DialogClosed(0, "p2", "idle"))
    assert scene.sessions["s1"].state == "idle"


def test_a_late_record_does_not_wake_a_session_that_is_idle() -> None:
    scene = sent()
    scene.feed(DialogClosed(0, "p1", "busy"))
    assert scene.sessions["s1"].state == "working", "accepted: the dialog is gone"
    scene.feed(SessionSeen(0, Session("s1", "claude", "/src", "idle")), CallSettled(0, "p1", "allowed", "held"))
    assert scene.sessions["s1"].state == "idle"


def test_a_prompt_that_comes_back_makes_its_session_wait_again() -> None:
    scene = sent()
    scene.feed(SessionSeen(0, Session("s1", "claude", "/src", "working")), DialogStillOpen(0, "p1"))
    assert scene.sessions["s1"].state == "waiting"


# --- unknown, empty, and too much -----------------------------------------------------------------------------


def test_events_about_nothing_we_know_change_nothing() -> None:
    scene = asked()
    for event in (
        HolderConnected(0, "p9"),
        HolderLost(0, "p9"),
        CallBound(0, "p9", "c"),
        AnswerGiven(0, "p9", answer()),
        AnswerWritten(0, "p9", "a1"),
        AnswerWritten(0, "p1", "a9"),
        AnswerNotWritten(0, "p9", "a1", "x"),
        AnswerNotWritten(0, "p1", "a9", "x"),
        DialogClosed(0, "p9", "busy"),
        DialogStillOpen(0, "p9"),
        CallSettled(0, "p9", "allowed"),
        TraceLost(0, "p9", "x"),
    ):
        done = scene.feed(event)
        assert not done.changed, event
        assert not done.commands


def test_a_mad_client_and_a_flapping_line_do_not_grow_a_row_for_ever() -> None:
    scene = asked()
    for number in range(200):
        scene.feed(HolderLost(0, "p1"), HolderConnected(0, "p1"))
        if number == 100:
            scene.feed(AnswerGiven(0, "p1", answer()), AnswerWritten(0, "p1", "a1"))
        scene.feed(AnswerGiven(0, "p1", answer("deny", f"b{number}", "ben"))) if number > 100 else None
    assert len(scene.row().history) <= MOST_MOMENTS + 2
    assert scene.verdict("a1").result == "sent"
    assert scene.verdict("b150").result == "too_late"


def test_labels_of_a_hostile_agent_do_not_fill_the_history() -> None:
    question = Question("q", "?", (Option("o1", "L" * 1_000_000, "choose"),))
    scene = Scene(PromptRaised(0, permission(questions=(question,))))
    scene.feed(AnswerGiven(0, "p1", Answer("a1", "anna", "phone", {"q": ("o1",)})))
    assert len(scene.row().history[-1].detail) < 1_000


@pytest.mark.parametrize("state", STATES)
def test_every_line_of_every_history_says_something(state: PromptState) -> None:
    for moment in in_state(state).row().history:
        assert moment.by
        assert moment.detail
