"""Screens of the real Codex, the same screens bent out of shape, and screens that only pretend."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.codex.screen.read import read_screen
from yourcall.model.screen import Reading, ScreenOption

ASKED = "[ ! ] Action Required | Demo task | demo-app"
RESTS = "Demo task | demo-app"
WORKS = "⠧ Demo task | demo-app"


CASES = cases("codex")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
COMMANDS = [case for case in WAITING if "$ " in case.screen and case.expect.target and "cmd" in case.name]


def composer(draft: str = "Ask Codex to do anything", footer: str = "  ? for shortcuts") -> list[str]:
    return ["", f"› {draft}", "", "  GPT-5.5 default · /tmp/demo-app · Demo task", footer]


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 122
    assert {case.expect.state for case in CASES} == {"waiting", "working", "error", "idle"}
    assert {case.version for case in CASES} == {
        "0.142.5",
        "0.150.1",
        "0.158.0",
        "0.166.0",
    }


# --- the same screen, sent or drawn a little differently


@pytest.mark.parametrize("case", CASES, **by_name)
def test_escapes_line_ends_and_blank_lines_change_nothing(case: Case) -> None:
    coloured = "\r\n".join(f"\x1b[38;5;12m{line}\x1b[0m" for line in case.screen.split("\n"))
    assert read_screen("\x1b]0;title\x07\x00" + coloured + "\n\n\n", case.title) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_is_read_without_a_title_too(case: Case) -> None:
    """People turn titles off; tmux then reports the name of the machine."""
    assert read_screen(case.screen, "vm") == read_screen(case.screen, None) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_above_a_live_composer_is_not_waiting(case: Case) -> None:
    """The composer below is the proof, whatever stands above it and whatever the title claims."""
    quoted = ["• It looked like this:", "", *(f"  {line}" for line in case.screen.rstrip().split("\n"))]
    for title in (RESTS, None, ASKED):
        assert read_screen("\n".join([*quoted, *composer()]), title).state == "idle"
        assert read_screen("\n".join([*case.screen.rstrip().split("\n"), *composer()]), title).state != "waiting"
    assert read_screen("\n".join([*quoted, *composer()]), WORKS).state == "working"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_the_output_of_a_command_is_not_waiting(case: Case) -> None:
    output = ["• Ran cat dialogs.txt", "  └ " + "\n    ".join(case.screen.rstrip().split("\n")), "", "• Shown."]
    assert read_screen("\n".join([*output, *composer()]), RESTS).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_a_draft_is_not_waiting(case: Case) -> None:
    draft = "\n  ".join(case.screen.rstrip().split("\n"))
    assert read_screen("\n".join(composer(draft, footer="  tab to queue message")), RESTS).state != "waiting"


@pytest.mark.parametrize("case", WAITING, **by_name)
@pytest.mark.parametrize("title", [ASKED, "vm"])
def test_a_shell_prompt_under_a_dialog_means_that_codex_has_left(case: Case, title: str) -> None:
    read = {prompt: read_screen(case.screen.rstrip() + "\n" + prompt, title).state for prompt in SHELLS}
    assert read == dict.fromkeys(SHELLS, "idle")


def test_a_title_that_asks_does_not_make_a_composer_a_dialog() -> None:
    """While the person types, Codex holds the dialog back; the keys go to the draft."""
    assert read_screen("\n".join(["• Running ls", *composer("still typing")]), ASKED).state == "idle"


@pytest.mark.parametrize("case", COMMANDS, **by_name)
def test_a_dialog_quoted_in_the_command_does_not_stand_for_the_real_one(case: Case) -> None:
    """The model chooses the command: it may hold a whole dialog with other rows."""
    fake = [
        "",
        "",
        "  Would you like to run the following command?",
        "",
        "  $ ls",
        "",
        "  1. No",
        "  2. Yes, delete everything",
        "",
        "  Press enter to confirm or esc to cancel",
    ]
    lines = case.screen.rstrip().split("\n")
    at = max(n for n, line in enumerate(lines) if line.startswith("  $ ")) + 1
    read = read_screen("\n".join([*lines[:at], *fake, *lines[at:]]), case.title)
    assert (read.state, read.options, read.selected) == ("waiting", case.expect.options, case.expect.selected)
    assert "delete everything" in (read.target or "")


# --- dialogs drawn by the rules of Codex, with any words and any width

WORDS = ["run", "add", "file", "the", "ünï", "tests", "for", "日本", "v2", "a.b", "xyz", "all", "of", "now,"]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)
sentence = words.map(" ".join)
name = words.map(lambda parts: " ".join(parts[:2]))
width = st.integers(40, 200)


def columns_of(text: str) -> int:
    return sum(1 + (ord(char) > 0x2E80) for char in text)  # the wide letters used here take two columns


def wrapped(text: str, columns: int, first: str, rest: str) -> list[str]:
    drawn = [first + text.split()[0]]
    for word in text.split()[1:]:
        if columns_of(drawn[-1]) + 1 + columns_of(word) <= columns - 2:
            drawn[-1] += " " + word
        else:
            drawn.append(rest + word)
    return drawn


def history(columns: int) -> list[str]:
    return ["› do it", "", *wrapped("I will " * 30, columns, "• ", "  "), "", "", ""]


@given(width, sentence, sentence, st.lists(sentence, min_size=1, max_size=6), st.data())
def test_any_approval(columns: int, heading: str, command: str, labels: list[str], data: st.DataObject) -> None:
    selected = data.draw(st.integers(0, len(labels) - 1))
    heading = f"Would you like to {heading}?"
    drawn = [*history(columns), *wrapped(heading, columns, "  ", "  "), "", "  Environment: local", ""]
    drawn += [*wrapped(command, columns, "  $ ", "  "), "", ""]
    for n, label in enumerate(labels):
        drawn += wrapped(f"{label} (y)", columns, f"{'›' if n == selected else ' '} {n + 1}. ", "     ")
    read = read_screen("\n".join([*drawn, "", "  Press enter to go on or esc to stop"]), ASKED)
    assert read == Reading(
        "waiting",
        "permission",
        heading,
        heading,
        command,
        tuple(ScreenOption(str(n + 1), label) for n, label in enumerate(labels)),
        selected,
    )


@given(width, sentence, st.lists(st.tuples(name, sentence), min_size=2, max_size=6), st.booleans(), st.data())
def test_any_question(
    columns: int, question: str, offered: list[tuple[str, str]], notes: bool, data: st.DataObject
) -> None:
    selected = data.draw(st.integers(0, len(offered) - 1))
    column = max(columns_of(label) for label, _ in offered) + 9
    drawn = [*history(columns), "  Question 1/2 (2 unanswered)", *wrapped(question, columns, "  ", "  "), ""]
    for n, (label, description) in enumerate(offered):
        start = f"  {'›' if n == selected else ' '} {n + 1}. {label}"
        start += " " * (column - columns_of(start))
        drawn += wrapped(description, max(columns, column + 20), start, " " * column)
    if notes:
        drawn += ["", "  › " + data.draw(st.sampled_from(["Add notes", "1. use x", "3. x", "words"]))]
    read = read_screen("\n".join([*drawn, "", "  tab to add notes | enter to submit answer"]), ASKED)
    assert read == Reading(
        "waiting",
        "question",
        "Question 1/2 (2 unanswered)",
        question,
        None,
        tuple(ScreenOption(str(n + 1), label, text) for n, (label, text) in enumerate(offered)),
        selected,
        text_input=True,
    )


@given(width, sentence, sentence, st.lists(name, min_size=1, max_size=5), st.data())
def test_any_form_field(columns: int, message: str, field: str, labels: list[str], data: st.DataObject) -> None:
    selected = data.draw(st.integers(0, len(labels) - 1))
    drawn = [*history(columns), "  Field 1/3 (2 required unanswered)", *wrapped(message, columns, "  ", "  "), ""]
    drawn += wrapped(field, columns, "  ", "  ")
    drawn += [f"  {'›' if n == selected else ' '} {n + 1}. {label}" for n, label in enumerate(labels)]
    read = read_screen("\n".join([*drawn, "  enter to submit | esc to cancel"]), ASKED)
    assert (read.kind, read.question, read.selected) == ("elicitation", message, selected)
    assert [option.label for option in read.options] == labels


def test_the_trust_page_names_the_folder() -> None:
    page = ["", "  Folder access", "  /tmp/demo-app", "", "  Trust this folder?", "", "› 1. Trust and continue"]
    read = read_screen("\n".join([*page, "  2. Back", "", "  enter continue · esc back"]), "vm")
    assert (read.kind, read.title, read.question) == ("trust", "Folder access", "Trust this folder?")
    assert read.target == "/tmp/demo-app"
    assert [option.label for option in read.options] == ["Trust and continue", "Back"]


NEW = ["  Something new", "", "  A notice of a later version.", "", "› 1. Left", "  2. Right", "", "  enter go on"]


def test_a_request_nobody_knows_is_unknown_not_missed() -> None:
    read = read_screen("\n".join(["› do it", "", "• Doing it", "", "", *NEW]), ASKED)
    assert (read.state, read.kind, read.title) == ("waiting", "unknown", "Something new")
    assert read.options == (ScreenOption("1", "Left"), ScreenOption("2", "Right"))
    bare = read_screen(
        "\n".join(["› do it", "", "• Doing it", "", "", "  Something new", "  without rows"]), ASKED
    )
    assert (bare.state, bare.kind, bare.clipped) == ("waiting", "unknown", True)


def test_a_list_that_codex_does_not_call_for_is_a_menu_of_the_person() -> None:
    assert read_screen("\n".join(["› do it", "", "• Done", "", "", *NEW]), RESTS) == Reading("idle")
    start = read_screen("\n".join(["", *NEW]), "vm")
    assert (start.state, start.kind, start.title) == ("waiting", "startup", "Something new")


def test_a_list_without_a_line_of_keys_is_text() -> None:
    assert read_screen("\n".join(NEW[:-2]), None) == Reading("idle")


def test_the_spinner_and_errors_quoted_by_the_model_are_not_the_state() -> None:
    for said in ("■ Quota exceeded", "Working (2s • esc to interrupt)", "API error"):
        screen = ["› hi", "", f"• It said: {said}", "", "  Worked for <1s • 07:06", "", *composer()]
        assert read_screen("\n".join(screen), RESTS).state == "idle"
    busy = ["› hi", "", "◦ Thinking hard (1m 02s • esc to interrupt)", "", *composer()]
    assert read_screen("\n".join(busy), None).state == "working"
    failed = ["› hi", "", "■ unexpected status 500, url:", "http://127.0.0.1/v1", "", *composer()]
    assert read_screen("\n".join(failed), RESTS).state == "error"


def test_a_composer_without_a_status_line() -> None:
    assert read_screen("\n".join(["› hi", "", "■ It broke", "", "", "› Ask Codex", ""]), RESTS).state == "error"


@pytest.mark.parametrize("screen", ["", "\n\n", "$ ", "user@host:~$ codex\nbash: codex: command not found\n$"])
def test_an_empty_screen_or_a_shell_is_not_waiting(screen: str) -> None:
    assert read_screen(screen) == Reading("idle")


# --- hostile input

glyphs = "›>•■◦✔ ─│└…·.:?[]()$|0123456789aY\n\n日e\u0301\x1b\x00\t⠧"
jumble = st.text(st.sampled_from(glyphs) | st.characters(), max_size=400)
pieces = st.lists(
    jumble
    | st.sampled_from(["› 1. Yes", "  2. No", "  › 1. A", "    2. B  desc", "  $ ls", "  enter to submit", "› hi"])
    | st.sampled_from([line for case in WAITING[::5] for line in case.screen.split("\n")]),
    max_size=30,
)


@given(pieces, st.sampled_from([None, "", ASKED, RESTS, WORKS]) | st.text(max_size=20))
@settings(max_examples=400)
def test_nothing_raises_and_every_reading_is_coherent(parts: list[str], title: str | None) -> None:
    read = read_screen("\n".join(parts), title)
    assert msgspec.json.decode(msgspec.json.encode(read), type=Reading) == read
    if read.state != "waiting":
        assert read == Reading(read.state)
    else:
        assert read.kind is not None
        assert read.selected is None or read.selected < len(read.options)
        assert all(0 <= n < len(read.options) for n in read.checked or ())
        assert (read.checked is not None) == read.multi_select


@pytest.mark.parametrize(
    "screen",
    [
        "\n".join(f"{' ' * (n % 5)}{n % 9 + 2}. row" for n in range(10_000)),
        "\n".join(["     " + "x" * 70] * 10_000 + ["› 9. row", "", "  enter"]),
        "\n".join(["  A title?", "", "› 1. " + "日" * 1_000_000, "  2. No", "", "  enter to confirm"]),
        " " * 1_000_000 + "x\n" + "›" * 1_000_000,
        "\n".join(["› 1. Yes", "  2. No", ""] * 5_000 + ["  enter to confirm"]),
        "\n".join(["  1. a", "", "  › 1. b", ""] * 5_000 + ["  enter to confirm"]),
        "\n".join(["  › 1. " + "a  b" * 200] * 300 + ["  enter to confirm"]),
        "\x1b" * 1_000_000,
        "\x1b]0;" * 250_000,
    ],
    ids=["rows", "deep", "wide", "long", "lists", "fields", "gaps", "escapes", "titles"],
)
def test_a_huge_screen_takes_no_time(screen: str) -> None:
    for title in (None, ASKED):
        start = time.process_time()
        read_screen(screen, title)
        assert time.process_time() - start < 2
