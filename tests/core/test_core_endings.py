"""Each measured way in which a real prompt ends (docs/reference/agents/claude-code.md), told as an edge tells it.

The numbers are the rows of that table. What a person is told must be true in each, with and without an answer of
ours on its way.
"""

from __future__ import annotations

import pytest
from core_scene import SESSION, Scene, answer, answered, asked, permission, sent

from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
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
)
from yourcall.model.prompts import Outcome
from yourcall.model.sessions import Session

BUSY, IDLE, OVER = (DialogClosed(0, "p1", to) for to in ("busy", "idle", "over"))


def record(outcome: Outcome, source: str = "desk") -> CallSettled:
    return CallSettled(0, "p1", outcome, source)  # type: ignore[arg-type]


def told(scene: Scene, answer_id: str = "a1") -> tuple[str, str]:
    verdict = scene.verdict(answer_id)
    return verdict.result, verdict.by


# --- 1, 2, 14, 15, 16, 17, 18: a yes at the desk -------------------------------------------------------------


def test_row_1_a_yes_at_the_desk_nobody_else_answered() -> None:
    scene = asked()
    scene.feed(BUSY)
    row = scene.row()
    assert (row.state, row.outcome) == ("desk", None), "that it ended is known, yes or no is not"
    assert scene.wishes == [Release("p1")]
    assert scene.sessions["s1"].state == "working"
    late = scene.feed(AnswerGiven(0, "p1", answer("deny"))).verdict
    assert late is not None
    assert (late.result, late.by, late.detail) == ("too_late", "desk", "already closed at the desk")
    scene.feed(record("allowed"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed")
    assert told(scene) == ("too_late", "desk")
    assert scene.wishes == [Release("p1")], "nothing was carried after it closed"


def test_row_1_the_holder_finds_it_closed_before_it_writes() -> None:
    scene = answered("deny")
    scene.feed(BUSY)
    assert told(scene) == ("too_late", "desk")
    scene.feed(HolderLost(0, "p1"), record("allowed"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed")
    assert told(scene) == ("too_late", "desk")


def test_row_1_our_deny_was_written_late_and_is_never_called_denied() -> None:
    scene = sent("deny")
    scene.feed(BUSY)
    assert told(scene) == ("accepted", ""), "the dialog closed; by whom is not known"
    scene.feed(record("allowed", "desk"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed")
    assert told(scene) == ("too_late", "desk")


def test_row_1_without_a_record_a_call_that_ran_refutes_our_deny() -> None:
    scene = sent("deny")
    scene.feed(record("allowed", "unknown"))
    assert told(scene) == ("too_late", "desk")


def test_row_2_a_long_command_is_answered_at_once_and_filled_in_later() -> None:
    scene = asked()
    scene.feed(BUSY)
    assert scene.row().outcome is None
    scene.at += 45
    scene.feed(SessionSeen(0, Session("s1", "claude", "/src", "idle")), record("allowed"))
    assert scene.row().outcome == "allowed"
    assert scene.sessions["s1"].state == "idle", "an old record does not wake an idle session"


def test_row_2_the_session_goes_before_the_command_ends() -> None:
    scene = asked()
    scene.feed(BUSY, SessionEnded(0, "s1", "killed"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "unknown")
    assert scene.row().history[-1].detail == "the session ended: killed"


@pytest.mark.parametrize(
    ("row", "outcome"),
    [("14 Enter", "allowed"), ("15 question", "allowed"), ("16 plan yes", "allowed"), ("17 for good", "allowed")],
)
def test_other_answers_at_the_desk_that_let_the_turn_go_on(row: str, outcome: Outcome) -> None:
    scene = asked()
    scene.feed(BUSY, record(outcome))
    assert (scene.row().state, scene.row().outcome) == ("desk", outcome), row


def test_row_14_ctrl_c_does_nothing_and_says_nothing() -> None:
    scene = asked()
    assert not scene.feed(DialogStillOpen(0, "p1")).changed
    assert scene.row().state == "open"


def test_row_18_a_tool_without_a_process_ends_like_row_1() -> None:
    scene = Scene(SESSION, PromptRaised(0, permission(fingerprint="write")))
    scene.feed(BUSY, record("allowed"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed")


# --- 3, 4, 5: a no at the desk --------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["3 No", "5 Esc", "15 Esc", "16 empty plan, No"])
def test_rows_3_and_5_a_no_that_stops_the_turn(row: str) -> None:
    scene = asked()
    scene.feed(IDLE)
    assert (scene.row().state, scene.row().outcome) == ("desk", "stopped"), row
    assert scene.row().history[-1].detail == "stopped at the desk"
    assert scene.sessions["s1"].state == "idle"
    scene.feed(record("stopped", "unknown"))
    assert scene.row().outcome == "stopped"


@pytest.mark.parametrize("outcome", ["allowed", "denied", "stopped"])
def test_a_turn_that_nobody_saw_end_is_told_by_its_record_alone(outcome: Outcome) -> None:
    scene = asked()
    scene.feed(OVER)
    assert (scene.row().state, scene.row().outcome) == ("desk", None)
    assert scene.row().history[-1].detail == "closed at the desk"
    assert scene.sessions["s1"].state == "idle"
    scene.feed(record(outcome))
    assert scene.row().outcome == outcome


def test_row_5_esc_against_our_allow_on_its_way() -> None:
    scene = answered("allow")
    scene.feed(IDLE)
    assert told(scene) == ("too_late", "desk")
    assert scene.row().outcome == "stopped"


def test_row_5_esc_after_our_allow_was_written_is_not_called_allowed() -> None:
    scene = sent("allow")
    scene.feed(IDLE)
    assert (scene.row().state, scene.row().outcome) == ("accepted", None)
    assert scene.sessions["s1"].state == "idle"
    scene.feed(record("stopped", "unknown"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "stopped")
    assert told(scene) == ("too_late", "desk")


def test_row_5_esc_swallowed_because_our_allow_won() -> None:
    scene = sent("allow")
    scene.feed(BUSY, record("allowed", "held"))
    assert told(scene) == ("confirmed", "anna")


@pytest.mark.parametrize("row", ["4 No with feedback", "16 plan, keep planning"])
def test_row_4_a_no_with_feedback_looks_like_a_yes_until_the_record(row: str) -> None:
    scene = asked()
    scene.feed(BUSY)
    assert scene.row().outcome is None, f"{row}: nobody may guess here"
    scene.feed(record("denied"))
    assert scene.row().outcome == "denied"


def test_row_4_against_our_deny_the_record_names_the_winner() -> None:
    scene = sent("deny")
    scene.feed(BUSY, record("denied", "desk"))
    assert told(scene) == ("too_late", "desk")
    assert scene.row().outcome == "denied"


# --- 6 to 9: our answer decides -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "choice", "to", "outcome", "source"),
    [
        ("6 allow", "allow", BUSY, "allowed", "held"),
        ("6 always", "always", BUSY, "allowed", "held"),
        ("8 deny", "deny", BUSY, "denied", "held"),
        ("9 deny and stop", "stop", IDLE, "stopped", "unknown"),
        ("9, first record", "stop", IDLE, "denied", "held"),
    ],
)
def test_our_answer_is_sent_accepted_confirmed(
    row: str, choice: str, to: DialogClosed, outcome: Outcome, source: str
) -> None:
    scene = answered(choice)
    assert scene.wishes == [Deliver("p1", answer(choice))]
    assert told(scene)[0] == "taken"
    scene.feed(AnswerWritten(0, "p1", "a1"))
    assert told(scene)[0] == "sent"
    scene.feed(HolderLost(0, "p1"), to)
    assert told(scene)[0] == "accepted"
    assert scene.row().outcome is None, "no outcome before the record"
    scene.feed(record(outcome, source))
    assert told(scene) == ("confirmed", "anna"), row
    assert scene.row().outcome == outcome
    assert len(scene.wishes) == 1


def test_row_7_a_long_command_of_ours_stays_accepted_until_it_ends() -> None:
    scene = sent("allow")
    scene.feed(BUSY)
    scene.at += 3600
    assert told(scene)[0] == "accepted"
    scene.feed(record("allowed", "held"))
    assert told(scene)[0] == "confirmed"


def test_row_7_the_session_dies_while_our_long_command_runs() -> None:
    scene = sent("allow")
    scene.feed(BUSY, SessionEnded(0, "s1", "killed"))
    assert told(scene)[0] == "unsure"
    scene.feed(record("allowed", "held"))
    assert told(scene)[0] == "confirmed", "its record was read after all"


# --- 10: both at once -----------------------------------------------------------------------------------------


def test_row_10_desk_yes_against_our_deny_desk_wins() -> None:
    scene = answered("deny")
    scene.feed(AnswerWritten(0, "p1", "a1"), BUSY, record("allowed", "desk"))
    assert told(scene) == ("too_late", "desk")
    assert scene.row().outcome == "allowed"
    assert not scene.feed(record("denied", "held")).changed, "the false second word of the telemetry"


def test_row_10_desk_yes_against_our_deny_we_win() -> None:
    scene = sent("deny")
    scene.feed(BUSY, record("denied", "held"))
    assert told(scene) == ("confirmed", "anna")


def test_row_10_two_people_away_and_the_desk() -> None:
    scene = answered("deny")
    second = scene.feed(AnswerGiven(0, "p1", answer("allow", "a2", "ben"))).verdict
    assert second is not None
    assert (second.result, second.by) == ("too_late", "anna")
    scene.feed(AnswerWritten(0, "p1", "a1"), BUSY, record("allowed", "desk"))
    assert told(scene) == ("too_late", "desk")
    assert told(scene, "a2") == ("too_late", "desk")
    assert [type(w) for w in scene.wishes] == [Deliver]


# --- 11, 12: the hook ends, the dialog stays ------------------------------------------------------------------


def test_row_11_the_agents_own_time_limit_leaves_the_prompt_open_at_the_desk() -> None:
    scene = asked()
    scene.feed(HolderLost(0, "p1", "the agent ended the hook; its dialog is still open"))
    row = scene.row()
    assert (row.state, row.answerable, row.outcome) == ("open", False, None), "a time limit is not a no"
    assert row.history[-1].detail.startswith("answer at the desk: ")
    refused = scene.feed(AnswerGiven(0, "p1", answer())).verdict
    assert refused is not None
    assert refused.result == "refused"
    assert "at the desk" in refused.detail
    scene.feed(BUSY, record("allowed"))
    assert scene.row().state == "desk"


def test_row_11_while_our_answer_is_on_its_way() -> None:
    scene = answered()
    scene.feed(AnswerNotWritten(0, "p1", "a1", "the agent ended the hook"), HolderLost(0, "p1", "time limit"))
    assert told(scene)[0] == "bounced"
    assert scene.verdict().detail == "the agent ended the hook"
    assert (scene.row().state, scene.row().answerable) == ("open", False)


def test_row_12_a_hook_killed_with_our_answer_in_its_hands() -> None:
    scene = answered()
    scene.feed(HolderLost(0, "p1", "its hook ended without a word"))
    assert told(scene)[0] == "unsure", "it may have written, it may not"
    scene.feed(DialogStillOpen(0, "p1"))
    assert told(scene)[0] == "bounced"
    assert (scene.row().state, scene.row().answerable) == ("open", False)
    scene.feed(BUSY, record("denied"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "denied")
    assert told(scene)[0] == "bounced", "what was said for good stays said"


def test_row_12_a_hook_killed_after_it_wrote() -> None:
    scene = answered()
    scene.feed(HolderLost(0, "p1"), record("allowed", "held"))
    assert told(scene)[0] == "confirmed"


def test_the_agent_ignored_what_was_written() -> None:
    scene = sent()
    scene.feed(DialogStillOpen(0, "p1"))
    assert told(scene)[0] == "bounced"
    assert scene.story()[-1] == (
        "open by agent: bounced: the agent did not take the answer; its dialog is still open"
    )
    again = scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben"))).verdict
    assert again is not None
    assert again.result == "refused", "the hook is gone: only the desk is left"
    assert [type(w) for w in scene.wishes] == [Deliver]


# --- 13: the agent goes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["13a SIGKILL", "13b SIGTERM", "13c pane killed", "13d SIGHUP"])
def test_row_13_the_agent_dies_with_its_dialog_open(row: str) -> None:
    scene = asked()
    scene.feed(SessionEnded(0, "s1", row), HolderLost(0, "p1"))
    assert (scene.row().state, scene.row().outcome) == ("ended", None), "nobody said no"
    assert scene.sessions["s1"].state == "ended"
    late = scene.feed(AnswerGiven(0, "p1", answer())).verdict
    assert late is not None
    assert (late.result, late.by, late.detail) == ("too_late", "session", "the session is over")


def test_row_13a_the_stale_file_of_a_dead_session_opens_nothing() -> None:
    scene = answered()
    scene.feed(SessionEnded(0, "s1", "SIGKILL"))
    assert told(scene)[0] == "unsure"
    assert not scene.feed(DialogStillOpen(0, "p1")).changed


@pytest.mark.parametrize("make", [answered, sent])
def test_row_13_with_our_answer_on_its_way_nobody_knows(make: object) -> None:
    scene = make()  # type: ignore[operator]
    scene.feed(SessionEnded(0, "s1", "killed"))
    assert told(scene)[0] == "unsure"
    assert scene.row().outcome is None
    assert not scene.row().answerable


def test_row_13b_the_holder_says_afterwards_that_it_had_not_written() -> None:
    scene = answered()
    scene.feed(SessionEnded(0, "s1"), AnswerNotWritten(0, "p1", "a1", "the agent is leaving"))
    assert scene.row().state == "ended"
    assert told(scene) == ("too_late", "session")


def test_a_quick_yes_at_the_desk_read_after_the_session_was_over() -> None:
    scene = asked()
    scene.feed(SessionEnded(0, "s1"))
    scene.feed(record("allowed"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed"), "`ended` said that no answer was seen"


# --- 19: two in a row -----------------------------------------------------------------------------------------


def test_row_19_two_calls_in_one_message_are_two_prompts() -> None:
    scene = asked()
    scene.feed(BUSY)
    assert scene.sessions["s1"].state == "working"
    scene.feed(PromptRaised(0, permission("p2")))
    assert scene.sessions["s1"].state == "waiting"
    assert not scene.feed(DialogStillOpen(0, "p1")).changed, "the file waits again, for the second one"
    scene.feed(AnswerGiven(0, "p2", answer("deny", "a2")))
    scene.feed(record("allowed"))
    assert (scene.row("p1").outcome, scene.row("p2").state) == ("allowed", "answering")
    assert scene.sessions["s1"].state == "waiting", "the first one's record says nothing about the second"


def test_row_19_a_double_answer_meets_only_its_own_prompt() -> None:
    scene = sent()
    scene.feed(BUSY, PromptRaised(0, permission("p2")))
    late = scene.feed(AnswerGiven(0, "p1", answer("allow", "a2", "anna"))).verdict
    assert late is not None
    assert late.result == "too_late"
    assert scene.row("p2").state == "open"
    assert [w.prompt_id for w in scene.wishes] == ["p1"]


# --- our own restart, in the middle of it ---------------------------------------------------------------------


def test_a_prompt_waits_through_our_restart_and_is_answered() -> None:
    scene = asked()
    scene.feed(PromptRaised(0, permission()), AnswerGiven(0, "p1", answer()))
    scene.feed(AnswerWritten(0, "p1", "a1"), BUSY, record("allowed", "held"))
    assert told(scene)[0] == "confirmed"
    assert [type(w) for w in scene.wishes] == [Deliver]


def test_we_die_before_the_answer_left_us() -> None:
    scene = answered()
    scene.wishes.clear()  # the wish was lost with the process
    scene.feed(PromptRaised(0, permission()))
    assert scene.wishes == [Deliver("p1", answer())]
    scene.feed(AnswerWritten(0, "p1", "a1"))
    assert told(scene)[0] == "sent"


def test_we_die_after_the_answer_was_written() -> None:
    scene = answered()
    scene.wishes.clear()
    scene.feed(HolderConnected(0, "p1", "a1"))
    assert told(scene)[0] == "sent"
    assert scene.wishes == [], "nothing is carried twice"


def test_we_die_and_the_hook_that_wrote_is_never_heard_of_again() -> None:
    scene = answered()
    scene.wishes.clear()
    scene.feed(record("allowed", "held"))
    assert told(scene)[0] == "taken", "its holder may still come back with empty hands"
    scene.feed(HolderLost(0, "p1", "its hook is gone"), record("allowed", "held"))
    assert told(scene)[0] == "confirmed"
    assert scene.wishes == []
