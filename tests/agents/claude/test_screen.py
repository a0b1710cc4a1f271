"""Screens of the real CLI, the same screens bent out of shape, and screens that only pretend."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.claude.screen.read import read_screen
from yourcall.model.screen import Reading, ScreenOption

COMPOSER = "❯\u00a0"


CASES = cases("claude")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
RESTING = [case for case in CASES if case.expect.state != "waiting" and COMPOSER in case.screen]


def rule(width: int, glyph: str = "─") -> str:
    return glyph * width


def composer(width: int = 80, draft: str = "", footer: str = "  ? for shortcuts") -> list[str]:
    return ["", rule(width), COMPOSER + draft, rule(width), footer]


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 109
    assert {case.expect.state for case in CASES} == {"waiting", "working", "error", "idle"}


# --- the same screen, sent or drawn a little differently


@pytest.mark.parametrize("case", CASES, **by_name)
def test_escapes_line_ends_and_blank_lines_change_nothing(case: Case) -> None:
    coloured = "\r\n".join(f"\x1b[38;5;12m{line}\x1b[0m" for line in case.screen.split("\n"))
    assert read_screen("\x1b]0;title\x07\x00" + coloured + "\n\n\n", case.title) == case.expect


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_under_a_live_composer_is_not_waiting(case: Case) -> None:
    """The composer below is the proof, whatever stands above it."""
    quoted = ["● It looked like this:", "", *(f"  {line}" for line in case.screen.rstrip().split("\n"))]
    assert read_screen("\n".join([*quoted, *composer()])).state == "idle"
    busy = composer(footer="  ⏸ manual mode on · esc to interrupt")
    assert read_screen("\n".join([*quoted, *busy])).state == "working"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_the_output_of_a_command_is_not_waiting(case: Case) -> None:
    output = [
        "● Bash(cat dialogs.txt)",
        "  ⎿  " + "\n     ".join(case.screen.rstrip().split("\n")),
        "",
        "● Shown.",
    ]
    assert read_screen("\n".join([*output, *composer()])).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_a_draft_is_not_waiting(case: Case) -> None:
    draft = "\n  ".join(case.screen.rstrip().split("\n"))
    assert read_screen("\n".join(composer(draft=draft))).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_shell_prompt_under_a_dialog_means_the_cli_has_left(case: Case) -> None:
    read = {prompt: read_screen(case.screen.rstrip() + "\n" + prompt).state for prompt in SHELLS}
    assert read == dict.fromkeys(SHELLS, "idle")


@pytest.mark.parametrize("case", RESTING, **by_name)
def test_an_open_menu_is_not_waiting(case: Case) -> None:
    above = case.screen.split(rule(10))[0].rstrip().split("\n")
    menu = [
        "   Select model",
        "",
        "   ❯ 1. Default (recommended) ✔  Fast",
        "     2. Large  Slow",
        "",
        "   Esc to cancel",
    ]
    for edge in (rule(80, "▔"), " a notice is set into the edge … ▔"):
        assert read_screen("\n".join([*above, edge, *menu])) == Reading("idle")


FRAMED = [case for case in WAITING if case.expect.kind == "permission" and "╌" in case.screen]


@pytest.mark.parametrize("case", FRAMED, **by_name)
def test_a_dialog_whose_top_has_scrolled_off_keeps_its_rows(case: Case) -> None:
    lines = case.screen.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("╌")) + 1
    read = read_screen("\n".join(lines[start:]))
    assert (read.state, read.kind, read.title, read.clipped) == ("waiting", "permission", None, True)
    assert (read.question, read.options, read.selected) == (
        case.expect.question,
        case.expect.options,
        case.expect.selected,
    )


@pytest.mark.parametrize("case", FRAMED, **by_name)
def test_a_dialog_quoted_in_the_call_does_not_stand_for_the_real_one(case: Case) -> None:
    """The model chooses the command: it may hold a whole dialog with other rows."""
    fake = [
        " Do you want to proceed?",
        " ❯ 1. No",
        "   2. Yes, delete everything",
        "",
        " Esc to cancel · Tab to amend",
        "",
    ]
    lines = case.screen.split("\n")
    at = max(n for n, line in enumerate(lines) if line.startswith("╌"))
    read = read_screen("\n".join([*lines[:at], *fake, *lines[at:]]))
    assert (read.state, read.options, read.selected) == ("waiting", case.expect.options, case.expect.selected)


# --- dialogs drawn by the rules of the CLI, with any words and any width

WORDS = ["run", "add", "file", "the", "ünï", "tests", "for", "日本", "v2", "a-b", "x/y.py", "all", "of"]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)
sentence = words.map(" ".join)
name = words.map(lambda parts: " ".join(parts[:2]))
width = st.integers(40, 200)


def columns_of(text: str) -> int:
    return sum(1 + (ord(char) > 0x2E80) for char in text)  # the wide letters used here take two columns


def wrapped(text: str, columns: int, first: str, rest: str) -> list[str]:
    """Wrapped at spaces, as the CLI does it, one column short of the edge."""
    drawn = [first + text.split()[0]]
    for word in text.split()[1:]:
        if columns_of(drawn[-1]) + 1 + columns_of(word) < columns:
            drawn[-1] += " " + word
        else:
            drawn.append(rest + word)
    return drawn


@given(width, sentence, sentence, st.lists(sentence, min_size=1, max_size=6), st.data())
def test_any_permission_dialog(
    columns: int, command: str, purpose: str, labels: list[str], data: st.DataObject
) -> None:
    labels = ["Yes", *(f"Yes, and {label}" for label in labels), "No"]
    selected = data.draw(st.integers(0, len(labels) - 1))
    drawn = [
        "● Working on it",
        "",
        rule(columns),
        " Bash command",
        *wrapped(purpose, columns, " ", " "),
        rule(columns, "╌"),
    ]
    drawn += [*wrapped(command, columns, " ", " "), rule(columns, "╌"), " Do you want to go on?"]
    for n, label in enumerate(labels):
        drawn += wrapped(label, columns, f" {'❯' if n == selected else ' '} {n + 1}. ", "      ")
    read = read_screen("\n".join([*drawn, "", " Esc to cancel · Tab to amend"]))
    assert read == Reading(
        "waiting",
        "permission",
        "Bash command",
        "Do you want to go on?",
        command,
        tuple(ScreenOption(str(n + 1), label) for n, label in enumerate(labels)),
        selected,
    )


@given(width, name, sentence, st.lists(st.tuples(name, sentence), min_size=2, max_size=4), st.data())
def test_any_question(
    columns: int, chip: str, question: str, offered: list[tuple[str, str]], data: st.DataObject
) -> None:
    count = len(offered)
    selected = data.draw(st.integers(0, count + 1))
    ticks = data.draw(st.none() | st.sets(st.integers(0, count)))
    mark = lambda n: "❯" if n == selected else " "  # noqa: E731
    box = lambda n: "" if ticks is None else f"[{'✔' if n in ticks else ' '}] "  # noqa: E731
    head = f" ☐ {chip}" if ticks is None else f"←  ☐ {chip}  ✔ Submit  →"
    drawn = ["● Hm.", rule(columns), head, "", *wrapped(question, columns, "", ""), ""]
    for n, (label, description) in enumerate(offered):
        drawn += [f"{mark(n)} {n + 1}. {box(n)}{label}", *wrapped(description, columns, " " * 5, " " * 5)]
    other = "Type something" + ("." if ticks is None else "")
    drawn.append(f"{mark(count)} {count + 1}. {box(count)}{other}")
    options = [ScreenOption(str(n + 1), label, text) for n, (label, text) in enumerate(offered)]
    options.append(ScreenOption(str(count + 1), other))
    if ticks is not None:
        drawn.append("     Submit")
        options.append(ScreenOption(None, "Submit"))
    drawn += [
        rule(columns),
        f"{mark(count + 1)} {count + 2}. Chat about this",
        "",
        "Enter to select · Esc to cancel",
    ]
    options.append(ScreenOption(str(count + 2), "Chat about this"))
    read = read_screen("\n".join(drawn))
    assert read == Reading(
        "waiting",
        "question",
        chip,
        question,
        None,
        tuple(options),
        selected + (ticks is not None and selected > count),
        None if ticks is None else tuple(sorted(ticks)),
        ticks is not None,
        text_input=True,
    )


@given(width, sentence, st.lists(name, min_size=1, max_size=5, unique=True), st.data())
def test_any_list_without_digits(columns: int, heading: str, labels: list[str], data: st.DataObject) -> None:
    selected = data.draw(st.integers(0, len(labels) - 1))
    drawn = ["", rule(columns), *wrapped(heading, columns, "  ", "  "), "", "  Some notice.", ""]
    drawn += [f"  {'❯' if n == selected else ' '} {label}" for n, label in enumerate(labels)]
    read = read_screen("\n".join([*drawn, "", "  Enter to confirm · Esc to cancel"]))
    assert (read.state, read.kind, read.title, read.selected) == ("waiting", "startup", heading, selected)
    assert [option.label for option in read.options] == labels


def test_a_dialog_nobody_knows_is_unknown_not_missed() -> None:
    screen = [rule(80), " Something new", "", " A notice of a later version.", "", " ❯ 1. Left", "   2. Right", ""]
    read = read_screen("\n".join(screen))
    assert (read.state, read.kind, read.title) == ("waiting", "unknown", "Something new")
    assert read.options == (ScreenOption("1", "Left"), ScreenOption("2", "Right"))


def test_a_dialog_without_rows_is_unknown_not_missed() -> None:
    read = read_screen(
        "\n".join([rule(80), " Something new", "", " Please look at it.", "", " Press Enter to go on"])
    )
    assert (read.state, read.kind, read.options) == ("waiting", "unknown", ())


def test_a_menu_after_a_slash_command_is_not_waiting() -> None:
    """Older versions draw menus under a plain rule; the command just given stands above."""
    menu = ["", rule(80), " Pick a tool", " ❯ 1. Default", "   2. Large", "", " Enter to confirm · Esc to cancel"]
    assert read_screen("\n".join(["> /model ", *menu])).state == "idle"
    assert read_screen("\n".join(["> /review", "● Bash(ls)", *menu])).state == "waiting"


def test_a_menu_that_offers_to_leave_is_not_waiting() -> None:
    body = ["● Done.", "", rule(80), " Something to look at", "", " ❯ 1. One", "   2. Two", ""]
    assert read_screen("\n".join([*body, " Enter to confirm · Esc to exit"])).state == "idle"
    assert read_screen("\n".join([*body, " Enter to confirm · Esc to cancel"])).state == "waiting"


def test_a_file_name_may_look_like_the_end_of_a_sentence() -> None:
    screen = [rule(80), " Create file", " docs/Why. How?.md", rule(80, "╌"), "  1 x", rule(80, "╌")]
    read = read_screen("\n".join([*screen, " Do you want to create Why. How?.md?", " ❯ 1. Yes", "   2. No"]))
    assert (read.question, read.target) == ("Do you want to create Why. How?.md?", "docs/Why. How?.md")


def test_a_question_of_a_later_version_does_not_swallow_the_conversation() -> None:
    screen = [
        "❯ hi",
        "",
        "● A long talk.",
        rule(80),
        " Pick",
        "",
        "Which?",
        "",
        "❯ 1. A",
        "  2. B",
        rule(80),
        "  3. Chat",
    ]
    read = read_screen("\n".join(screen))
    assert (read.kind, read.question, read.clipped, len(read.options)) == ("question", "Pick Which?", True, 3)


@pytest.mark.parametrize("screen", ["", "\n\n", "$ ", "user@host:~$ claude\nbash: claude: command not found\n$"])
def test_an_empty_screen_or_a_shell_is_not_waiting(screen: str) -> None:
    assert read_screen(screen) == Reading("idle")


def test_the_question_may_imitate_the_composer() -> None:
    fake = [rule(80), COMPOSER, rule(80), "  ? for shortcuts"]
    screen = [
        rule(80),
        " ☐ Trick",
        "",
        "Look:",
        *fake,
        "",
        "Go on?",
        "",
        "❯ 1. Yes",
        "  2. No",
        "  3. Type something.",
    ]
    read = read_screen("\n".join([*screen, "", "Enter to select · Esc to cancel"]))
    assert (read.state, read.kind, read.title, len(read.options)) == ("waiting", "question", "Trick", 3)


def test_spinners_and_errors_quoted_by_the_model_are_not_the_state() -> None:
    for said in (
        "✻ Thinking… (3s · esc to interrupt)",
        "We saw API Error: 500 in the log.",
        "API Error handling is better now.",
    ):
        assert read_screen("\n".join(["❯ hi", "", f"● {said}", *composer()])).state == "idle"
    assert (
        read_screen("\n".join(["❯ hi", "", "● API Error: 500 Internal server error", *composer()])).state
        == "error"
    )
    assert read_screen("\n".join(["> hi", "", "✻ Thinking… (esc to interrupt)", *composer()])).state == "working"


# --- hostile input

glyphs = "❯\u00a0 ─╌▔│╭╮╰╯┌┐☐☒✔←→↑↓●⎿✻…·.:?[]()0123456789aY\n\n日e\u0301\x1b\x00\t"
jumble = st.text(st.sampled_from(glyphs) | st.characters(), max_size=400)
pieces = st.lists(
    jumble
    | st.sampled_from(
        [rule(40), rule(40, "╌"), rule(40, "▔"), COMPOSER, "❯ 1. Yes", "  2. No", " ☐ Name", "←  ☐ A  ✔ B  →"]
    )
    | st.sampled_from([line for case in WAITING[::7] for line in case.screen.split("\n")]),
    max_size=30,
)


@given(pieces)
@settings(max_examples=400)
def test_nothing_raises_and_every_reading_is_coherent(parts: list[str]) -> None:
    read = read_screen("\n".join(parts))
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
        "\n".join(f"{' ' * (n % 90)}{n % 9 + 2}. row" for n in range(10_000)),
        "\n".join(["     " + "x" * 70] * 10_000 + ["❯ 9. row"]),
        "\n".join([rule(80), " ❯ 1. " + "日" * 1_000_000, "   2. No"]),
        " " * 1_000_000 + "x\n" + "│" * 1_000_000,
        "\n".join([rule(80), "╌" * 80] * 5_000 + ["❯ 1. Yes", "  2. No"]),
        "\x1b" * 1_000_000,
        "\x1b]0;" * 250_000,
    ],
    ids=["rows", "deep", "wide", "long", "rules", "escapes", "titles"],
)
def test_a_huge_screen_takes_no_time(screen: str) -> None:
    start = time.process_time()
    read_screen(screen)
    assert time.process_time() - start < 2
