"""Which key comes next in a dialog of Claude's, what is offered, and how a text is made safe for the input box."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from yourcall.agents.claude.screen.fill import next_step
from yourcall.agents.claude.screen.keys import (
    FOLDS_AT_NEWLINES,
    FOLDS_BEYOND,
    arrived,
    draft,
    next_key,
    offer,
    read,
    typed,
)
from yourcall.agents.claude.screen.offer import REVISE, TELL
from yourcall.agents.screen_spec import KEYS, Paste, PreparedText, Press, Snapshot, key_named
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused
from yourcall.model.screen import Reading, ScreenOption

FILLED = ("question", "plan", "elicitation")

CORPUS = Path(__file__).parents[2] / "corpus" / "claude"
SCREENS = {
    folder.name: (folder / "screen.txt").read_text()
    for folder in sorted(CORPUS.iterdir())
    if json.loads((folder / "expect.json").read_text())["state"] == "waiting"
}
SHOTS = {name: read(screen) for name, screen in SCREENS.items()}


def shot(**fields: object) -> Snapshot:
    usual = {"kind": "permission", "title": "Bash command", "question": "Proceed?", "target": "ls", "selected": 0}
    options = (ScreenOption("1", "Yes"), ScreenOption("2", "No"))
    return Snapshot(Reading("waiting", **{**usual, "options": options, **fields}), "")  # type: ignore[arg-type]


# --- what is offered ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHOTS)
def test_every_option_that_is_offered_has_a_next_key_and_every_clipped_dialog_offers_none(name: str) -> None:
    seen = SHOTS[name]
    told = offer(seen)
    options = [option for question in told.questions for option in question.options]
    assert bool(options) != bool(told.why)
    if seen.reading.clipped:
        assert options == []
    assert len({option.id for option in options}) == len(options)
    for question in told.questions:
        for option in question.options:
            if told.kind in FILLED:
                assert isinstance(step(seen, question, option), Press)
    for option in options if told.kind not in FILLED else []:
        if option.id == TELL:
            assert isinstance(next_key(seen, seen, option.id), Refused)  # it takes words
            assert isinstance(step(seen, told.questions[0], option), Press)
            continue
        press = next_key(seen, seen, option.id)
        assert isinstance(press, Press), press
        assert press.key in KEYS
        if seen.reading.kind == "unknown":
            assert press == Press(option.id, decides=True)


@pytest.mark.parametrize("name", SHOTS)
def test_following_the_keys_ends_on_the_row_that_was_chosen(name: str) -> None:
    """Played through: an arrow moves the highlight, and what decides is the digit of the row, or Enter on it."""
    seen = SHOTS[name]
    if seen.reading.kind == "elicitation":
        return  # played through in test_fill.py
    for question in offer(seen).questions:
        for option in question.options:
            if question.multi_select or option.id in (REVISE, TELL):
                continue  # as above
            now = seen
            for _ in range(30):
                press = (step if seen.reading.kind in FILLED else by_key)(seen, question, option, now)
                assert isinstance(press, Press)
                if press.decides:
                    break
                assert now.reading.selected is not None
                way = {"up": -1, "down": 1}[press.key]
                now = replace(now, reading=replace(now.reading, selected=now.reading.selected + way))
            else:
                pytest.fail("it never decides")
            if seen.reading.kind == "unknown":
                continue
            (row,) = [r for r in now.reading.options if r.label.startswith(option.label) and _is(r, press, now)]
            assert row.label == option.label


def by_key(seen: Snapshot, question: Question, option: Option, now: Snapshot) -> Press | Paste | Refused:
    return next_key(seen, now, option.id)


def step(
    seen: Snapshot, question: Question, option: Option, now: Snapshot | None = None
) -> Press | Paste | Refused:
    """The next step of an answer that takes this option."""
    told = offer(seen)
    known = {"title": told.title, "body": told.body, "questions": told.questions}
    prompt = Prompt("p1", told.kind, "claude", "s1", "/src", opened_at=1.0, **known)
    texts = {question.id: "Otherwise."} if option.id in (REVISE, TELL) else {}
    return next_step(prompt, Answer("a1", "me", "http", {question.id: (option.id,)}, texts), now or seen)


def _is(row: ScreenOption, press: Press, now: Snapshot) -> bool:
    if press.key == "enter":
        return now.reading.options.index(row) == now.reading.selected
    return row.key == press.key


def test_no_is_the_digit_that_stands_beside_it() -> None:
    for count in (2, 3, 4):
        middle = tuple(ScreenOption(str(n), f"Yes, and more {n}") for n in range(2, count))
        seen = shot(options=(ScreenOption("1", "Yes"), *middle, ScreenOption(str(count), "No")))
        assert next_key(seen, seen, "deny") == Press(str(count), decides=True)


def test_yes_for_more_than_once_is_never_called_allow() -> None:
    labels = [
        "Yes, and don't ask again for: ls",
        "Yes, allow all edits during this session",
        "Yes, and switch to auto mode",
        "Yes, whatever comes",
    ]
    seen = shot(options=tuple(ScreenOption(str(n), label) for n, label in enumerate(labels, 1)))
    (question,) = offer(seen).questions
    assert [o.effect for o in question.options] == [
        "allow_always",
        "allow_session",
        "allow_session",
        "allow_always",
    ]
    assert "allow" not in [o.id for o in question.options]


def test_the_agents_own_options_are_only_ever_choices() -> None:
    """A model may call an option anything."""
    labels = ("Yes", "No", "allow", "deny", "Chat about this")
    seen = shot(kind="question", options=tuple(ScreenOption(str(n), label) for n, label in enumerate(labels, 1)))
    (question,) = offer(seen).questions
    assert {o.effect for o in question.options} == {"choose"}
    assert [o.id for o in question.options] == ["o1", "o2", "o3", "o4", "o5"]


def test_rows_that_want_a_text_are_left_to_the_desk() -> None:
    seen = shot(
        kind="question", options=(ScreenOption("1", "Red"), ScreenOption("2", "Type something.")), text_input=True
    )
    (question,) = offer(seen).questions
    assert [o.label for o in question.options] == ["Red"]
    on_text = replace(seen, reading=replace(seen.reading, selected=1))
    assert next_key(seen, on_text, "o1") == Press("up", decides=False)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "plan"},
        {"title": "Fetch"},
        {"question": "Really?"},
        {"target": "rm -rf /"},
        {"target": None},
        {"options": (ScreenOption("1", "Yes"), ScreenOption("3", "No"))},
        {"options": (ScreenOption("2", "Yes"), ScreenOption("1", "No"))},
        {"options": (ScreenOption("1", "Yes"),)},
        {"text_input": True},
        {"multi_select": True},
        {"clipped": True},
        {"selected": None},
    ],
    ids=str,
)
def test_any_difference_to_what_was_seen_presses_nothing(change: dict[str, object]) -> None:
    refused = next_key(shot(), shot(**change), "allow")
    assert isinstance(refused, Refused)
    assert "nothing was pressed" in refused.reason


def test_a_dialog_that_is_gone_presses_nothing() -> None:
    for state in ("idle", "working", "error"):
        assert isinstance(next_key(shot(), Snapshot(Reading(state), ""), "allow"), Refused)  # type: ignore[arg-type]


def test_no_two_captured_dialogs_are_taken_for_each_other() -> None:
    names = list(SHOTS)
    for one in names:
        for option in [o.id for q in offer(SHOTS[one]).questions for o in q.options][:1]:
            for other in names:
                now = SHOTS[other]
                same = replace(SHOTS[one].reading, selected=None, checked=None) == replace(
                    now.reading, selected=None, checked=None
                )
                if not same:
                    assert isinstance(next_key(SHOTS[one], now, option), Refused), (one, other)


def test_an_unknown_screen_must_be_the_same_letter_by_letter() -> None:
    seen = Snapshot(Reading("waiting", "unknown"), "press a key")
    assert next_key(seen, seen, "enter") == Press("enter", decides=True)
    assert isinstance(next_key(seen, Snapshot(seen.reading, "press another key"), "enter"), Refused)
    assert isinstance(next_key(seen, seen, "delete"), Refused)


# --- the input box ------------------------------------------------------------------------------------------

RULE = "─" * 60


def box(*lines: str, below: str = "  ⏸ manual mode on") -> str:
    return "\n".join(["● said", RULE, *lines, RULE, below])


@pytest.mark.parametrize(
    ("screen", "written"),
    [
        (box("❯\u00a0"), ""),
        (box("\x1b[39m❯\u00a0\x1b[7m "), ""),
        (box("\x1b[38;5;246m❯\u00a0\x1b[7m\x1b[39mP\x1b[0;2m\x1b[39m\x1b[49mress up to edit queued messages"), ""),
        (box("❯\u00a0x\x1b[7m \x1b[0m"), "x"),
        (box("❯\u00a0\x1b[7mx\x1b[0m"), "x"),
        (box("❯\u00a0/\x1b[7mh\x1b[0;2melp"), "/h"),
        (box("\x1b[38;2;2;2;2m❯\u00a0hello"), "hello"),
        (box("❯\u00a0a", "  b"), "a\n  b".replace("  ", "")),
        (box("❯\u00a0[Pasted text #1 +3 lines]"), "[Pasted text #1 +3 lines]"),
        (box("!\u00a0ls"), "!ls"),
        (box("!\u00a0"), "!"),
        (box("❯ 1. Yes"), None),
        ("nothing at all", None),
        ("● said\n❯\u00a0no rule above", None),
        (f"{RULE}\n❯\u00a0no rule below", None),
    ],
)
def test_a_draft_is_told_from_a_hint(screen: str, written: str | None) -> None:
    assert draft(screen) == written


@pytest.mark.parametrize("name", [n for n in SHOTS if n[:2] not in ("sr",) and "screenreader" not in n])
def test_a_dialog_has_no_input_box(name: str) -> None:
    assert draft(SCREENS[name]) is None


@pytest.mark.parametrize(
    ("text", "paste"),
    [
        ("hello", "hello"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("!ls", " !ls"),
        ("ends with \\", "ends with \\ "),
        ("/clear", "/clear\n\n\n"),
        (" /clear", " /clear\n\n\n"),
        ("/a\nb", "/a\nb\n\n"),
        ("EXIT", "EXIT\n\n\n"),
        (":q", ":q\n\n\n"),
        ("exit now", "exit now"),
        ("x" * 900 + "\\", "x" * 900 + "\\"),
        ("a\u200bb\ufeff \U000e0041", "ab "),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
    ],
)
def test_what_is_pasted_is_no_command(text: str, paste: str) -> None:
    made = typed(text, False)
    assert isinstance(made, PreparedText)
    assert made.paste == paste


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
def test_whatever_is_written_arrives_or_is_refused_and_never_runs(text: str) -> None:
    made = typed(text, False)
    if isinstance(made, Refused):
        return
    assert not made.paste.startswith("!")
    assert "\x1b" not in made.paste
    command = made.paste.strip().startswith("/") or made.paste.strip().lower() in ("exit", "quit")
    folds = made.paste.count("\n") >= FOLDS_AT_NEWLINES or len(made.paste) > FOLDS_BEYOND
    assert made.folded or not command
    assert folds or not made.folded
    assert folds or not made.paste.endswith("\\")
    kept = [c for c in text.replace("\r\n", "\n").replace("\r", "\n") if unicodedata.category(c) != "Cf"]
    assert made.paste.strip().replace("\u200d", "") == "".join(kept).strip()


def test_a_command_goes_as_it_is_if_it_is_meant() -> None:
    assert typed("/compact", True) == PreparedText("/compact")
    assert typed("!ls", True) == PreparedText("!ls")


@pytest.mark.parametrize("text", ["", " \n", "a\x1b[201~\rb", "a\x00b", "x" * 100_001])
def test_a_text_that_cannot_be_pasted_safely_is_refused(text: str) -> None:
    assert isinstance(typed(text, False), Refused)


def test_only_what_was_pasted_counts_as_arrived() -> None:
    assert arrived("hello wor\nld", PreparedText("hello world"))
    assert not arrived("hello", PreparedText("hello world"))
    assert not arrived("xhello world", PreparedText("hello world"))
    assert arrived("[Pasted text #7 +3 lines]", PreparedText("/a\n\n\n", folded=True))
    assert not arrived("[Pasted text #7 +4 lines]", PreparedText("/a\n\n\n", folded=True))
    assert not arrived("/a", PreparedText("/a\n\n\n", folded=True))
    assert not arrived("x [Pasted text #7 +3 lines]", PreparedText("/a\n\n\n", folded=True))
    assert arrived("[Pasted text #1]", PreparedText("y" * 900))
    long = "".join(f"word{n} " for n in range(100))
    assert arrived(long[100:300], PreparedText(long))


def test_keys_are_known_by_the_names_people_use() -> None:
    names = {"return": "enter", "Esc": "escape", "Page Up": "pageup", "page_down": "pagedown", "SPACE": "space"}
    for said, meant in names.items():
        assert key_named(said) == meant
    assert key_named("F13") is None
    assert key_named("") is None
