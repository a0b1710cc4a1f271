"""Screens of the real Gemini CLI, the same screens bent out of shape, and screens that only pretend."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.corpus import SHELLS, Case, by_name, cases
from yourcall.agents.gemini.screen.read import read_screen
from yourcall.model.screen import Reading, ScreenOption

ASKED = "✋  Action Required (demo-app)"
RESTS = "◇  Ready (demo-app)"
WORKS = "✦  Working… (demo-app)"


CASES = cases("gemini")
WAITING = [case for case in CASES if case.expect.state == "waiting"]
SHELL = [case for case in WAITING if case.expect.title == "Shell" and not case.expect.clipped]


def composer(columns: int = 80, draft: str = "  Type your message or @path/to/file") -> list[str]:
    rule = "─" * columns
    return [
        "",
        rule,
        " Shift+Tab to accept edits",
        "",
        f" > {draft}",
        "",
        " workspace (/directory)   /model",
        " /tmp/x",
    ]


def old_composer(columns: int = 80) -> list[str]:
    return ["", "▀" * columns, " >   Type your message or @path/to/file", "▄" * columns, " /tmp/x   no sandbox"]


@pytest.mark.parametrize("case", CASES, **by_name)
def test_a_captured_screen_is_read_exactly(case: Case) -> None:
    assert read_screen(case.screen, case.title) == case.expect


def test_the_corpus_is_there() -> None:
    """An empty folder would make every test above pass."""
    assert len(CASES) >= 156
    assert {case.expect.state for case in CASES} == {"waiting", "working", "error", "idle"}
    assert {case.version for case in CASES} == {"0.28.2", "0.45.2", "0.55.1", "0.61.0"}


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
@pytest.mark.parametrize("below", [composer(), old_composer()], ids=["rule", "blocks"])
def test_a_dialog_above_a_live_composer_is_not_waiting(case: Case, below: list[str]) -> None:
    """Old dialogs stay on the screen; the composer below is the proof, whatever the title claims."""
    quoted = ["✦ It looked like this:", "", *(f"  {line}" for line in case.screen.rstrip().split("\n"))]
    for title in (RESTS, None, ASKED):
        assert read_screen("\n".join([*case.screen.rstrip().split("\n"), *below]), title).state != "waiting"
        assert read_screen("\n".join([*quoted, *below]), title).state != "waiting"
    assert read_screen("\n".join([*quoted, *below]), WORKS).state == "working"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_a_draft_is_not_waiting(case: Case) -> None:
    draft = "\n   ".join(case.screen.rstrip().split("\n"))
    assert read_screen("\n".join(composer(draft=draft)), RESTS).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_dialog_in_the_box_of_a_tool_is_not_waiting(case: Case) -> None:
    """Output stands in a box too, which is narrower than a dialog; the composer may be hidden for a moment."""
    inside = [f"│ {line} │" for line in case.screen.rstrip().split("\n")]
    boxed = ["╭" + "─" * 74 + "╮", "│ ⊷  Shell cat dialogs.txt" + " " * 49 + "│", *inside, "╰" + "─" * 74 + "╯"]
    wide = "This line is as long as the pane is wide, which tells that the box below is not."[:80]
    assert read_screen("\n".join([wide, *boxed]), RESTS).state == "idle"


@pytest.mark.parametrize("case", WAITING, **by_name)
def test_a_shell_prompt_under_a_dialog_means_that_the_cli_has_left(case: Case) -> None:
    if "Waiting for user" not in case.screen:
        read = {prompt: read_screen(case.screen.rstrip() + "\n" + prompt, "vm").state for prompt in SHELLS}
        assert read == dict.fromkeys(SHELLS, "idle")


@pytest.mark.parametrize("case", SHELL, **by_name)
def test_rows_in_the_command_do_not_stand_for_the_real_ones(case: Case) -> None:
    """The model chooses the command: it may hold a whole dialog with other rows."""
    lines = case.screen.rstrip().split("\n")
    at = max(n for n, line in enumerate(lines) if line.startswith("│ ╭")) + 1
    room = len(lines[at - 1]) - 8
    fake = ["Allow execution of [ls]?", "", "● 1. Allow once", "  2. No", "Enter to select · Esc to cancel"]
    told = [f"│ │ {text.ljust(room)} │ │" for text in fake]
    read = read_screen("\n".join([*lines[:at], *told, *lines[at:]]), case.title)
    assert (read.kind, read.question, read.options) == ("permission", case.expect.question, case.expect.options)
    assert "● 1. Allow once" in (read.target or "")


@pytest.mark.parametrize("case", SHELL, **by_name)
def test_a_dialog_whose_top_has_scrolled_off_keeps_its_rows(case: Case) -> None:
    lines = case.screen.rstrip().split("\n")
    start = max(n for n, line in enumerate(lines) if line.startswith("│ ╰"))
    read = read_screen("\n".join(lines[start:]), case.title)
    assert (read.kind, read.title, read.target, read.clipped) == ("permission", None, None, True)
    assert (read.question, read.options) == (case.expect.question, case.expect.options)
    last = read_screen("\n".join(lines[start - 1 :]), case.title).target
    assert last
    assert (case.expect.target or "").endswith(last)  # the whole visible command


# --- dialogs drawn by the rules of Gemini CLI, with any words and any width

WORDS = ["run", "add", "file", "the", "ünï", "tests", "for", "日本", "v2", "a-b", "x/y.py", "all", "of", "now,"]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)
sentence = words.map(" ".join)
name = words.map(lambda parts: " ".join(parts[:2]))
width = st.integers(40, 200)


def columns_of(text: str) -> int:
    return sum(1 + (ord(char) > 0x2E80) for char in text)  # the wide letters used here take two columns


def wrapped(text: str, columns: int, first: str = "", rest: str = "") -> list[str]:
    drawn = [first + text.split()[0]]
    for word in text.split()[1:]:
        if columns_of(drawn[-1]) + 1 + columns_of(word) <= columns:
            drawn[-1] += " " + word
        else:
            drawn.append(rest + word)
    return drawn


def box(lines: list[str], columns: int) -> list[str]:
    """`columns` is the width of the box with its frame."""
    inside = [f"│ {line}{' ' * (columns - 4 - columns_of(line))} │" for line in lines]
    return ["╭" + "─" * (columns - 2) + "╮", *inside, "╰" + "─" * (columns - 2) + "╯"]


@given(width, sentence, st.lists(name, min_size=1, max_size=6), st.booleans(), st.data())
def test_any_command(columns: int, command: str, labels: list[str], queue: bool, data: st.DataObject) -> None:
    labels = ["Allow once", *labels]
    selected = data.draw(st.integers(0, len(labels) - 1))
    inner = columns - 4
    head = "? Shell  Do it" + ("".ljust(inner - 20) + "1 of 3" if queue else "")
    drawn = [head, *box(wrapped(command, inner - 6), inner), "Allow execution of [Shell]?", ""]
    drawn += [f"{'●' if n == selected else ' '} {n + 1}. {label} (esc)" for n, label in enumerate(labels)]
    read = read_screen("\n".join([" > do it", "", *box(drawn, columns)]), ASKED)
    assert read == Reading(
        "waiting",
        "permission",
        "Shell",
        "Allow execution of [Shell]?",
        command,
        tuple(ScreenOption(str(n + 1), label) for n, label in enumerate(labels)),
        selected,
    )


@given(
    width,
    sentence,
    st.lists(st.tuples(name, sentence), min_size=2, max_size=5),
    st.none() | st.sets(st.integers(0, 2)),
    st.booleans(),
    st.data(),
)
def test_any_question(
    columns: int,
    question: str,
    offered: list[tuple[str, str]],
    ticks: set[int] | None,
    tabs: bool,
    data: st.DataObject,
) -> None:
    count = len(offered)
    selected = data.draw(st.integers(0, count + (ticks is not None)))
    mark = lambda n: "●" if n == selected else " "  # noqa: E731
    tick = lambda n: " " if ticks is None else f"[{'x' if n in ticks else ' '}] "  # noqa: E731
    inner = columns - 4
    drawn = ["Answer Questions", "", *(["← □ One │ ✓ Two │ ≡ Review →", ""] if tabs else [])]
    drawn += [*wrapped(question, inner), *(["(Select all that apply)"] if ticks is not None else []), ""]
    margin = " " * (6 if ticks is None else 9)
    for n, (label, text) in enumerate(offered):
        drawn += [f"{mark(n)} {n + 1}. {tick(n)}{label}", *wrapped(text, inner, margin, margin)]
    options = [ScreenOption(str(n + 1), label, text) for n, (label, text) in enumerate(offered)]
    drawn.append(f"{mark(count)} {count + 1}. {tick(count)}Enter a custom value")
    options.append(ScreenOption(str(count + 1), "Enter a custom value"))
    if ticks is not None:
        drawn += [f"{mark(count + 1)}  Done", "   Finish selection"]
        options.append(ScreenOption(None, "Done", "Finish selection"))
    drawn += ["", "Enter to select · ↑/↓ to navigate"]
    read = read_screen("\n".join(box(drawn, columns)), ASKED)
    assert read == Reading(
        "waiting",
        "question",
        "Answer Questions",
        question,
        None,
        tuple(options),
        selected,
        None if ticks is None else tuple(sorted(n for n in ticks if n <= count)),
        ticks is not None,
        text_input=True,
    )


NEW = ["Something new", "", "A notice of a later version.", "", "● 1. Left", "  2. Right"]


def test_a_dialog_nobody_knows_is_not_missed() -> None:
    for title, kind in ((ASKED, "unknown"), (None, "unknown"), (RESTS, "startup")):
        read = read_screen("\n".join(box(NEW, 80)), title)
        assert (read.state, read.kind, read.title) == ("waiting", kind, "Something new")
        assert read.options == (ScreenOption("1", "Left"), ScreenOption("2", "Right"))


def test_a_question_cut_short_says_so_and_leaves_the_marker_out() -> None:
    asked = ["Answer Questions", "", "Which of these", "... last 3 lines hidden ...", "", "● 1.  A", "  2.  B"]
    read = read_screen("\n".join(box([*asked, "", "Enter to select · Esc to cancel"], 80)), ASKED)
    assert (read.kind, read.question, read.clipped) == ("question", "Which of these", True)


def test_a_box_that_asks_nothing_is_not_waiting() -> None:
    said = box(["Agent powering down. Goodbye!", "", "Tool Calls: 3"], 80)
    assert read_screen("\n".join(said), RESTS) == Reading("idle")


def test_a_menu_the_person_opened_is_not_waiting() -> None:
    menu = [*NEW, "", "(Press Esc to close)"]
    assert read_screen("\n".join([" > /model", "", *box(menu, 80)]), RESTS) == Reading("idle")
    assert read_screen("\n".join(box(menu, 80)), RESTS) == Reading("idle")
    assert read_screen("\n".join([" > /review", "", "✦ Let me run it.", *box(NEW, 80)]), None).state == "waiting"


def test_a_box_that_is_not_one_frame_is_text() -> None:
    lines = box(NEW, 80)
    assert read_screen("\n".join([*lines[:3], "some text", *lines[3:]]), RESTS) == Reading("idle")
    assert read_screen("\n".join(["x" * 90, *lines]), RESTS) == Reading("idle")


def test_an_error_is_the_last_thing_said() -> None:
    failed = ["✕ [API Error: 500]", "ℹ Press F12 for more."]
    assert read_screen("\n".join([" > hi", *failed, *composer()]), RESTS).state == "error"
    assert read_screen("\n".join([*failed, " > again", "✦ It works.", *composer()]), RESTS).state == "idle"
    assert read_screen("\n".join([" > hi", "✦ It said:", "  ✕ [API Error]", *composer()]), RESTS).state == "idle"
    assert read_screen("\n".join([" > hi", "ℹ The request was halted.", *composer()]), RESTS).state == "idle"


def test_the_spinner_tells_where_there_is_no_title() -> None:
    busy = [" > hi", "", " ⠦ Thinking... (esc to cancel, 29s)", *composer()]
    assert read_screen("\n".join(busy), None).state == "working"
    assert read_screen("\n".join(busy), RESTS).state == "idle"


@pytest.mark.parametrize("screen", ["", "\n\n", "$ ", "user@host:~$ gemini\nbash: gemini: command not found\n$"])
def test_an_empty_screen_or_a_shell_is_not_waiting(screen: str) -> None:
    assert read_screen(screen) == Reading("idle")


# --- hostile input

glyphs = "●>✦ℹ✕⚠ ─│╭╮╰╯▲▼←→…·.:?[]()0123456789aY\n\n日e\u0301\x1b\x00\t⠧"
jumble = st.text(st.sampled_from(glyphs) | st.characters(), max_size=400)
framed = st.lists(
    st.text(st.sampled_from(glyphs.replace("\n", "")), max_size=30)
    | st.sampled_from(
        ["● 1. Yes", "  2. No", "? Shell  ls", "Answer Questions", "▲", "▼", "> x", "Esc to cancel", ""]
    )
    | st.sampled_from(["╭────╮", "│ ls │", "╰────╯", "? Edit a: b…", "● 1. [x] A", "   Done"]),
    max_size=20,
).map(lambda lines: "\n".join(["╭" + "─" * 40 + "╮", *(f"│ {line} │" for line in lines), "╰" + "─" * 40 + "╯"]))
pieces = st.lists(
    jumble | framed | st.sampled_from([line for case in WAITING[::5] for line in case.screen.split("\n")]),
    max_size=12,
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


def tall(lines: list[str]) -> str:
    return "\n".join(["╭" + "─" * 60 + "╮", *(f"│ {line} │" for line in lines), "╰" + "─" * 60 + "╯"])


@pytest.mark.parametrize(
    "screen",
    [
        tall([f"{' ' * (n % 9)}{n % 9 + 2}. row" for n in range(10_000)]),
        tall(["● 1. Yes", "  2. No"] * 250),
        tall([f"  {n % 99 + 1}. row" for n in range(490)]),
        tall(["╭────╮"] * 480),
        tall(["? Shell  " + "a " * 400 + "…", *["word " * 150] * 400, "● 1. Yes"]),
        tall(["● 1. " + "日" * 1_000_000]),
        " " * 1_000_000 + "x\n" + "│" * 1_000_000,
        "\x1b" * 1_000_000,
        "\x1b]0;" * 250_000,
    ],
    ids=["rows", "lists", "count", "frames", "heading", "wide", "long", "escapes", "titles"],
)
def test_a_huge_screen_takes_no_time(screen: str) -> None:
    for title in (None, ASKED):
        start = time.process_time()
        read_screen(screen, title)
        assert time.process_time() - start < 2
