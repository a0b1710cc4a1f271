"""Screens of the real Qwen Code, the same screens sent a little differently, and screens that only pretend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.qwen.screen.keys import QWEN_SCREEN, draft, next_key, read
from yourcall.agents.qwen.screen.offer import rows
from yourcall.agents.qwen.screen.read import read_screen
from yourcall.agents.screen_spec import Press
from yourcall.model.prompts import Refused

CASES = cases("qwen")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
ASKING = [case for case in WAITING if case.expect.kind in ("permission", "plan", "trust", "loop")]


def composer(columns: int = 80, words: str = "  Type your message or @path/to/file") -> list[str]:
    rule = "─" * columns
    return ["", rule, f"> {words}", rule, "  ➜ shop-api", "  ⏸ Ask permissions (shift + tab to cycle)"]


def titled(case: Case, screen: str = "") -> str:
    return f"\x1b]2;{case.title}\x07{screen or case.screen}"


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 79
    assert {case.expect.state for case in CASES} == {"waiting", "working", "error", "idle"}


@pytest.mark.parametrize("case", CASES, **by_name)
def test_escapes_line_ends_and_blank_lines_change_nothing(case: Case) -> None:
    coloured = "\r\n".join(f"\x1b[38;5;12m{line}\x1b[0m" for line in case.screen.split("\n"))
    assert read_screen("\x1b]0;title\x07\x00" + coloured + "\n\n\n", case.title) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_is_read_without_a_title_too(case: Case) -> None:
    assert read_screen(case.screen, "vm") == read_screen(case.screen, None) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_above_the_input_box_is_not_waiting(case: Case) -> None:
    """What was, or what the model shows, stays on the screen; the input box below is the proof."""
    quoted = ["  ◆︎ It looked like this:", "", *(f"    {line}" for line in case.screen.rstrip().split("\n"))]
    for lines in (case.screen.rstrip().split("\n"), quoted):
        assert read_screen("\n".join([*lines, *composer()]), case.title).state != "waiting"


@pytest.mark.parametrize("case", WAITING, **by_name)
@pytest.mark.parametrize("prompt", SHELLS)
def test_a_dialog_of_a_cli_that_has_left_is_not_waiting(case: Case, prompt: str) -> None:
    assert read_screen(f"{case.screen.rstrip()}\n{prompt}", case.title).state != "waiting"


@pytest.mark.parametrize("case", ASKING, **by_name)
def test_every_option_that_is_offered_has_its_own_digit(case: Case) -> None:
    shot = read(titled(case))
    offered = [option for question in QWEN_SCREEN.offer(shot).questions for option in question.options]
    for option in offered:
        place = next(n for n, row in rows(shot.reading) if row.id == option.id)
        assert next_key(shot, shot, option.id) == Press(case.expect.options[place].key or "", decides=True)
    if case.expect.kind == "permission" and case.expect.clipped:
        assert {option.effect for option in offered} == {"deny"}


def test_a_command_of_several_lines_is_not_allowed_from_the_screen_alone() -> None:
    """A new line in it looks like a wrap, and what stands below the heading loses letters there."""
    case = next(case for case in CASES if case.name == "shell-heredoc-120x40")
    offered = QWEN_SCREEN.offer(read(titled(case)))
    assert [option.effect for option in offered.questions[0].options] == ["deny"]


def test_another_dialog_gets_no_key() -> None:
    first, second = (read(titled(case)) for case in CASES if case.name in ("create-80x24", "shell-80x24"))
    assert isinstance(next_key(first, second, "allow"), Refused)


def test_the_highlight_does_not_make_another_dialog() -> None:
    for one, other in (("shell-80x24", "shell-down-80x24"), ("ask-choice-50x30", "ask-choice-down-50x30")):
        before, now = (read(titled(next(c for c in CASES if c.name == name))) for name in (one, other))
        assert before.mark.split(":")[0] == now.mark.split(":")[0]
    narrow = next(case for case in CASES if case.name == "shell-50x30")
    moved = narrow.screen.replace("› 1.", "  1.").replace("  2. Always", "› 2. Always")
    assert read(titled(narrow)).mark == read(titled(narrow, moved)).mark


SUGGESTED = "\x1b[38;2;203;166;247m> \x1b[4m\x1b[39mA\x1b[0m\x1b[38;2;108;112;134m\x1b[49mll done."
WRITTEN = "\x1b[38;2;203;166;247m> \x1b[39mAll done.\x1b[4m \u200b\x1b[0m"


@pytest.mark.parametrize(("line", "expected"), [(SUGGESTED, ""), (WRITTEN, "All done."), (">   ", "")])
def test_a_grey_suggestion_is_no_draft(line: str, expected: str) -> None:
    rule = "─" * 80
    assert draft("\n".join(["", rule, line, rule, "  ➜ shop-api"])) == expected


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(screen: str) -> None:
    shot = read(f"{screen}\n\n  ⠏ Waiting for user confirmation...")
    QWEN_SCREEN.offer(shot)
    assert shot.reading.state == "waiting"
