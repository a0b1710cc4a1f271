"""Screens of the real Copilot CLI, the same screens bent out of shape, and the one dialog that takes a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.copilot.screen.keys import COPILOT_SCREEN, TRUST, draft, next_key, offer, read
from yourcall.agents.copilot.screen.read import read_screen
from yourcall.agents.screen_spec import Press
from yourcall.model.prompts import Refused

CASES = cases("copilot")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
IDLE = [case for case in CASES if case.expect.state == "idle"]
BELOW = [" ~/shop-api [⎇ main%]", "─" * 80, "❯", "─" * 80, " Interactive · Manual Approval  model"]


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 113
    assert {case.expect.state for case in CASES} == {"waiting", "working", "error", "idle"}


@pytest.mark.parametrize("case", CASES, **by_name)
def test_escapes_line_ends_and_blank_lines_change_nothing(case: Case) -> None:
    coloured = "\r\n".join(f"\x1b[38;5;12m{line}\x1b[0m" for line in case.screen.split("\n"))
    assert read_screen("\x1b]0;title\x07\x00" + coloured + "\n\n\n", case.title) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_above_a_live_input_box_is_not_waiting(case: Case) -> None:
    assert read_screen("\n".join([*case.screen.rstrip().split("\n"), *BELOW])).state == "idle"
    quoted = [f"   {line}" for line in case.screen.rstrip().split("\n")]
    assert read_screen("\n".join([*quoted, *BELOW])).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_that_has_left_for_a_shell_is_not_waiting(case: Case) -> None:
    for shell in SHELLS:
        assert read_screen(f"{case.screen.rstrip()}\n{shell}").state != "waiting"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_only_the_trust_dialog_offers_anything(case: Case) -> None:
    made = offer(read(case.screen))
    assert made.title
    assert made.kind == case.expect.kind
    if made.kind == "trust":
        assert [option.digit for option in made.questions[0].options] == ["1", "2", "3"]
    else:
        assert (made.questions, bool(made.why)) == ((), True)


@pytest.mark.parametrize("case", [case for case in WAITING if case.expect.kind == "trust"], **by_name)
def test_the_trust_dialog_takes_the_digit_of_its_row_and_only_that(case: Case) -> None:
    seen = read(case.screen)
    pressed = {option: next_key(seen, seen, option) for option, _, _ in TRUST.values()}
    assert pressed == {"session": Press("1", True), "trust": Press("2", True), "no": Press("3", True)}
    moved = read(case.screen.replace("❯ 1.", "  1.").replace("  3.", "❯ 3."))
    assert next_key(seen, moved, "no") == Press("3", True)
    elsewhere = read(case.screen.replace("shop-api", "shop-bpi"))
    assert isinstance(next_key(seen, elsewhere, "trust"), Refused)
    swapped = read(case.screen.replace("1. Yes ", "1. No  ").replace("3. No (Esc)", "3. Yes     "))
    assert offer(swapped).questions == ()
    assert isinstance(next_key(swapped, swapped, "no"), Refused)
    for other in (case for case in CASES if case.expect.kind != "trust"):
        assert isinstance(next_key(seen, read(other.screen), "session"), Refused)


def test_no_key_is_ever_pressed_in_another_dialog() -> None:
    for case in WAITING:
        seen = read(case.screen)
        if case.expect.kind != "trust":
            for option in ("session", "trust", "no", "1", "2", "3", "enter", "allow"):
                assert isinstance(next_key(seen, seen, option), Refused)


def test_a_draft_is_seen_and_nothing_is_typed() -> None:
    drafts = {case.name: draft(case.screen) for case in IDLE}
    assert drafts["draft-80x24"] == "please look at 1. Yes"
    assert drafts["big-80x24"] == ""
    assert drafts["sessions-tab-80x24"] is None
    assert isinstance(COPILOT_SCREEN.typed("go on", False), Refused)


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    made = read(text)
    assert made.reading.state in ("waiting", "working", "error", "idle")
    offer(made)
    draft(text)


@given(st.sampled_from(WAITING), st.integers(0, 40), st.integers(0, 80))
def test_a_screen_that_is_cut_is_read_without_an_error(case: Case, above: int, left: int) -> None:
    lines = case.screen.split("\n")
    offer(read("\n".join(line[left:] for line in lines[above:])))
