"""The rows of the five documents that yourcall grew from, and the tests that tick each of them.

The rule it keeps: a row without a test, or with one that is gone, is red. Rows of a real agent's own screen are
ticked by a test that drives the real program; all others by one in this folder, through public commands only.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

# Number, document and row; then file::test, the file being in this folder or below `tests`.
ROWS: dict[str, tuple[str, ...]] = {
    # The ways in which Claude Code pauses
    "01 AskUserQuestion: options and descriptions": (
        "test_seed_interaction_types.py::test_ask_user_question",
        "test_seed_interaction_types.py::test_option_numbers_are_those_of_the_dialog",
        "real/test_claude_asks.py::test_questions_of_every_form_are_answered_in_one_go",
    ),
    "02 AskUserQuestion: several at once, by commas": (
        "test_seed_interaction_types.py::test_ask_user_question_multi_select_with_commas",
    ),
    "03 AskUserQuestion: one to four questions, and Other": (
        "test_seed_interaction_types.py::test_ask_user_question_one_to_four_questions",
        "test_seed_interaction_types.py::test_ask_user_question_other",
    ),
    "04 ExitPlanMode: approve and revise": (
        "test_seed_interaction_types.py::test_exit_plan_mode_approved",
        "test_seed_interaction_types.py::test_exit_plan_mode_revised",
        "real/test_reconcile.py::test_a_plan_without_a_file_is_confirmed",
    ),
    "05 Permission: what each tool shows": ("test_seed_interaction_types.py::test_permission_shows_its_input",),
    "06 Permission: once, not again, no": (
        "test_seed_interaction_types.py::test_permission_denied",
        "test_seed_interaction_types.py::test_yes_and_do_not_ask_again",
        "real/test_spine.py::test_remembering_asks_no_second_time",
    ),
    "07 Ask and queue: the dialog waits as long as it takes": (
        "test_seed_interaction_types.py::test_the_request_waits_for_longer_than_a_hook_used_to",
        "real/test_claude_scenarios.py::test_4_timeout_resilience",
    ),
    "08 Several pending, told apart by their ids": (
        "test_seed_interaction_types.py::test_several_pending_are_told_apart",
        "real/test_claude_scenarios.py::test_3_multiple_pending",
    ),
    "09 Notification: the four types": ("test_seed_interaction_types.py::test_notification",),
    "10 idle_prompt is pushed": (
        "test_seed_notifications.py::test_idle_prompt_is_pushed_when_claude_says_so",
        "real/test_claude_scenarios.py::test_6_idle_notification",
    ),
    "11 Stop: ready for input": ("test_seed_interaction_types.py::test_stop_says_ready_for_input",),
    "12 SessionStart and SessionEnd: tracking": (
        "test_seed_interaction_types.py::test_session_start_and_end_are_tracked",
    ),
    "13 The conversation, from the JSONL file": (
        "test_seed_interaction_types.py::test_conversation_is_read_from_the_transcript",
        "test_seed_interaction_types.py::test_an_ended_session_can_be_read",
    ),
    "14 The screen of a session, the alternate one too": (
        "test_seed_notifications.py::test_the_alternate_screen_of_a_session_is_shown",
    ),
    "15 A login that expires": (
        "test_seed_notifications.py::test_a_login_that_expired_is_a_problem_with_what_to_do",
        "real/test_claude_headless.py::test_an_api_key_is_withheld_and_a_login_token_is_passed",
    ),
    "16 A second tap answers nothing": ("test_seed_interaction_types.py::test_a_second_tap_is_too_late",),
    "17 A session that was started outside": (
        "real/test_claude_discovery.py::test_what_ran_before_is_found_and_never_confused",
    ),
    "18 Approved on the desktop: off the queue": (
        "test_seed_interaction_types.py::test_approved_on_the_desktop_it_leaves_the_queue",
        "real/test_claude_scenarios.py::test_5_cross_device",
    ),
    "19 A lost connection or a dead hook leaves the dialog": (
        "test_seed_interaction_types.py::test_a_lost_connection_leaves_the_dialog_to_the_desk",
        "real/test_daemon_states.py::test_a_killed_hook_leaves_the_desk_in_charge",
    ),
    # Detect, correlate, deliver
    "20 PermissionRequest is a hard block": ("test_seed_mechanics.py::test_permission_request_is_a_hard_block",),
    "21 UserPromptSubmit resolves; SubagentStop asks nothing": (
        "test_seed_mechanics.py::test_user_prompt_submit_resolves_the_ready_block",
        "test_seed_mechanics.py::test_a_subagent_that_stops_asks_nothing",
    ),
    "22 An event's session, folder, transcript and mode": (
        "test_seed_mechanics.py::test_events_are_tied_to_session_folder_and_transcript",
        "test_seed_mechanics.py::test_the_permission_mode_of_the_session_is_known",
    ),
    "23 An event's tmux pane": ("test_seed_mechanics.py::test_a_session_is_tied_to_its_tmux_pane",),
    "24 The transcript is the ground truth": (
        "test_seed_mechanics.py::test_the_transcript_is_the_ground_truth",
        "real/test_away_soak.py::test_two_weeks_of_outages_leave_nothing_untrue",
    ),
    "25 Words delivered into the exact pane, several lines too": (
        "test_seed_mechanics.py::test_words_reach_the_pane_of_their_session",
        "real/test_claude_speak.py::test_a_text_reaches_the_model_as_it_was_written",
    ),
    "26 The Agent SDK's canUseTool": (
        "cli/test_ask_client.py::test_a_ready_callback_for_the_agent_sdk",
        "real/test_agent_sdk.py::test_a_question_and_a_permission_are_answered_through_the_callback",
    ),
    # A client of the JSON-RPC contract
    "27 session/send, with a session id of the client's": (
        "test_seed_contracts.py::test_a_session_id_of_the_clients_own_is_kept",
        "real/test_rpc_real.py::test_interactive_starts_a_new_session_each_time_and_is_answered_by_digits",
    ),
    "28 session/input: text and keys": (
        "test_seed_contracts.py::test_session_input_with_a_key",
        "real/test_rpc_real.py::test_a_turn_that_runs_is_thinking_and_escape_ends_it",
    ),
    "29 session/state": ("test_seed_contracts.py::test_session_state",),
    "30 workspace/list and sessions that live already": (
        "test_seed_contracts.py::test_workspace_list",
        "real/test_rpc_real.py::test_a_session_in_the_persons_own_terminal",
    ),
    "31 pty_permission: the six types": (
        "test_seed_contracts.py::test_pty_permission",
        "real/test_rpc_real.py::test_a_session_that_asks_for_trust_first_is_not_idle_before_its_turn",
    ),
    "32 pty_state: the five states": (
        "test_seed_contracts.py::test_pty_state_permission_then_thinking",
        "test_seed_contracts.py::test_pty_state_question",
        "test_seed_contracts.py::test_pty_state_error_then_idle",
    ),
    "33 claude_message and its stop_reason": ("test_seed_contracts.py::test_claude_message_and_its_stop_reason",),
    # Sessions over pipes
    "34 Control requests: allowed, denied with a message": (
        "test_seed_stream_json.py::test_control_request_allowed",
        "test_seed_stream_json.py::test_control_request_denied_with_a_message",
    ),
    "35 ExitPlanMode: outline first, and a cool-down that grows": (
        "test_seed_stream_json.py::test_exit_plan_mode_outline_first_and_its_cool_down",
        "core/test_core_pauses.py::test_the_cool_down_grows_with_each_outline_first_up_to_its_limit",
    ),
    "36 Sessions at once, their next turns, and resume": (
        "test_seed_stream_json.py::test_two_sessions_at_once_are_told_apart",
        "test_seed_stream_json.py::test_the_next_turn_goes_to_the_same_session",
        "test_seed_stream_json.py::test_ask_user_question_over_pipes",
        "real/test_claude_headless.py::test_two_at_once_speak_while_they_work_and_are_resumed",
    ),
    # One prompt for every agent
    "37 InteractivePrompt: permission and question": (
        "test_seed_contracts.py::test_interactive_prompt_permission",
        "test_seed_contracts.py::test_interactive_prompt_question_takes_several",
        "test_seed_contracts.py::test_interactive_prompt_each_question_has_its_title",
    ),
    "38 InteractivePrompt: a plan, and words alone": (
        "test_seed_contracts.py::test_interactive_prompt_plan_feedback_by_text_alone",
    ),
    "39 Gemini: tool, question, plan and loop": (
        "real/test_gemini.py::test_one_digit_allows_one_refuses_and_the_record_proves_both",
        "real/test_gemini.py::test_questions_of_every_sort_are_answered",
        "real/test_gemini_more.py::test_a_plan_is_sent_back_with_words_and_then_approved",
        "real/test_gemini_more.py::test_a_loop_is_told_and_answered",
    ),
    "40 Codex: command, file and question": (
        "real/test_codex_socket.py::test_a_command_is_allowed_from_afar",
        "real/test_codex_socket.py::test_a_change_is_shown_with_its_diff_also_to_one_who_comes_late",
        "real/test_codex_socket.py::test_questions_permissions_and_what_a_server_asks",
        "agents/codex/test_codex_server.py::test_a_connection_is_asked_for_and_answered_as_the_schema_has_it",
    ),
    "41 What is asked at the start: trust, API key, bypass, nudge, hooks review": (
        "real/test_claude_screen.py::test_trust_is_answered_yes_with_an_arrow_and_enter",
        "real/test_claude_screen.py::test_the_api_key_is_approved_going_up",
        "real/test_claude_screen.py::test_the_bypass_warning_is_shown_and_refused",
        "real/test_gemini_more.py::test_start_up_trust_goes_to_a_person_and_the_dead_dialog_is_not_asked_again",
        "real/test_gemini_more.py::test_run_starts_it_and_dismisses_the_editors_nudge",
        "real/test_real_codex_setup.py::test_set_up_reviewed_by_a_person_used_and_undone",
    ),
}


@cache
def functions_of(file: str) -> set[str]:
    path = HERE / file if (HERE / file).exists() else HERE.parent / file
    tree = ast.parse(path.read_text("utf-8"))
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def test_there_are_41_rows() -> None:
    assert [row[:2] for row in ROWS] == [f"{number:02}" for number in range(1, 42)]


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: str) -> None:
    named = [test.split("::") for test in ROWS[row]]
    assert named
    assert [f"{file}::{test}" for file, test in named if test not in functions_of(file)] == []


def test_every_test_of_this_folder_ticks_a_row() -> None:
    named = {test for tests in ROWS.values() for test in tests}
    here = {
        f"{path.name}::{test}"
        for path in HERE.glob("test_seed_*.py")
        for test in functions_of(path.name)
        if test.startswith("test_")
    }
    assert here - named == set()
