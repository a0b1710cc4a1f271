"""Answers of several keys, played through on captured screens: each step from a look, and never one too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.agents.claude.screen.fill import MOST_LOOKS, fill, next_step
from yourcall.agents.claude.screen.form import button, fields
from yourcall.agents.claude.screen.keys import offer, read
from yourcall.agents.claude.screen.offer import shows
from yourcall.agents.screen_spec import Paste, Press, Snapshot
from yourcall.model.prompts import Answer, Option, Prompt, Question, Refused, Tool
from yourcall.model.screen import ScreenOption

CORPUS = Path(__file__).parents[2] / "corpus" / "claude"


def captured(name: str) -> Snapshot:
    return read((CORPUS / name / "screen.txt").read_text())


BOXES, TYPED, FORM = (
    captured(n) for n in ("ask-multi-120x40", "v2.1.325-ask1-4-typed-80x24", "mcp-elicit-form-120x40")
)
SINGLE, PREVIEW, TABS = (captured(n) for n in ("ask-single-120x40", "ask-preview-120x40", "ask-tabs-120x40"))
REVIEW, BASH = captured("ask-multi-submit-review-120x40"), captured("bash-120x40")


def prompt_of(shot: Snapshot, **more: object) -> Prompt:
    told = offer(shot)
    made = Prompt(
        "p1", told.kind, "claude", "s1", "/src", told.title, 1.0, body=told.body, questions=told.questions
    )
    return replace(made, **more)


def answer(prompt: Prompt, *labels: str, text: str = "") -> Answer:
    (question,) = prompt.questions
    picked = tuple(o.id for o in question.options if o.label in labels)
    assert len(picked) == len(labels), question.options
    return Answer("a1", "me", "http", {question.id: picked}, {question.id: text} if text else {})


def toggled(shot: Snapshot, digit: str) -> Snapshot:
    row = next(n for n, option in enumerate(shot.reading.options) if option.key == digit)
    ticked = set(shot.reading.checked or ()) ^ {row}
    return replace(shot, reading=replace(shot.reading, checked=tuple(sorted(ticked))))


def test_boxes_are_ticked_only_while_they_are_not_and_then_left() -> None:
    prompt = prompt_of(BOXES)
    labels = [option.label for option in prompt.questions[0].options]
    wanted = answer(prompt, labels[0], labels[2])
    now, pressed = toggled(BOXES, "2"), []  # somebody at the desk has ticked the second one
    while (step := next_step(prompt, wanted, now)) != Press("right", decides=False):
        assert isinstance(step, Press), step
        pressed.append(step.key)
        now = toggled(now, step.key)
    assert pressed == ["1", "2", "3"]
    assert now.reading.checked == (0, 2)


def test_own_words_do_not_go_into_a_list_of_boxes() -> None:
    prompt = prompt_of(BOXES)
    first = prompt.questions[0].options[0].label
    assert isinstance(next_step(prompt, answer(prompt, first, text="and more"), BOXES), Refused)


def reviewed(prompt: Prompt) -> Answer:
    """An answer that gives just what the captured review lists."""
    listed = REVIEW.text.split("→ ")[1].split("\n")[0]
    return answer(prompt, *listed.split(", "))


def test_only_a_page_that_lists_these_very_answers_is_submitted() -> None:
    question = REVIEW.text.split("● ")[1].split("\n")[0]
    labels = ["Auth", "Billing", "Search", *REVIEW.text.split("→ ")[1].split("\n")[0].split(", ")]
    options = tuple(Option(f"o{n}", label, "choose") for n, label in enumerate(dict.fromkeys(labels)))
    prompt = prompt_of(BOXES, questions=(Question("q1", question, options, multi_select=True),))
    given = reviewed(prompt)
    assert next_step(prompt, given, REVIEW) == Press("1", decides=True)
    more = replace(given, choices={"q1": tuple(o.id for o in options)})
    assert isinstance(next_step(prompt, more, REVIEW), Refused)
    two = replace(prompt, questions=(*prompt.questions, Question("q2", "And then?", options)))
    assert isinstance(next_step(two, given, REVIEW), Refused)


def test_words_are_sent_only_once_they_are_seen_in_their_row() -> None:
    empty = replace(
        TYPED,
        reading=replace(
            TYPED.reading,
            options=tuple(
                replace(option, label="Type something.") if option.label == "typed" else option
                for option in TYPED.reading.options
            ),
            selected=0,
        ),
    )
    prompt = prompt_of(empty)
    words = Answer("a1", "me", "http", {}, {"decision": "typed"})
    assert next_step(prompt, words, empty) == Press("4", decides=False)
    there = replace(empty, reading=replace(empty.reading, selected=3))
    assert next_step(prompt, words, there) == Paste("typed")
    assert next_step(prompt, words, TYPED) == Press("enter", decides=True)
    other = replace(words, texts={"decision": "something else"})
    assert isinstance(next_step(prompt, other, TYPED), Refused)  # somebody writes there


@pytest.mark.parametrize("text", ["two\nlines", "x" * 500, "a\x07bell"])
def test_words_that_cannot_be_compared_are_not_written(text: str) -> None:
    prompt = prompt_of(SINGLE)
    assert isinstance(next_step(prompt, Answer("a1", "me", "http", {}, {"decision": text}), SINGLE), Refused)


def test_beside_previews_a_digit_only_moves() -> None:
    prompt = prompt_of(PREVIEW)
    last = [option.label for option in prompt.questions[0].options if option.label != "Chat about this"][-1]
    step = next_step(prompt, answer(prompt, last), PREVIEW)
    assert step in (Press("down", decides=False), Press("enter", decides=True))
    row = next(n for n, option in enumerate(PREVIEW.reading.options) if option.label == last)
    there = replace(PREVIEW, reading=replace(PREVIEW.reading, selected=row))
    assert next_step(prompt, answer(prompt, last), there) == Press("enter", decides=True)


def test_of_several_questions_the_page_is_left_and_only_that() -> None:
    prompt = prompt_of(TABS)
    step = next_step(prompt, answer(prompt, prompt.questions[0].options[0].label), TABS)
    assert step == Press("1", decides=True)  # the page is over with it, and so is this prompt
    whole = replace(prompt, questions=(*prompt.questions, Question("q2", "And then?")))
    given = Answer("a1", "me", "http", {"decision": (prompt.questions[0].options[0].id,)})
    assert next_step(whole, given, TABS) == Press("1", decides=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"question": "Another question?"},
        {"state": "working", "kind": None},
        {"kind": "permission"},
        {"clipped": True},
        {"options": (ScreenOption("1", "Drop the table"), ScreenOption("2", "Keep it"))},
    ],
)
def test_a_page_that_is_not_the_one_that_was_seen_gets_no_key(changes: dict[str, object]) -> None:
    prompt = prompt_of(SINGLE)
    given = answer(prompt, prompt.questions[0].options[0].label)
    assert isinstance(next_step(prompt, given, SINGLE), Press)
    assert isinstance(
        next_step(prompt, given, replace(SINGLE, reading=replace(SINGLE.reading, **changes))), Refused
    )


# --- forms --------------------------------------------------------------------------------------------------


def test_a_form_is_read_field_by_field() -> None:
    shown = fields(FORM.text)
    assert [(f.label, f.required, f.focused, f.done) for f in shown] == [
        ("People", True, True, False),
        ("Seating", False, False, False),
        ("Name", False, False, False),
        ("By the window", False, False, False),
    ]
    assert button(FORM.text) == ""
    assert fields(BASH.text) == []


def test_a_form_is_filled_from_its_own_pictures() -> None:
    prompt = prompt_of(FORM)
    given = Answer("a1", "me", "http", {"action": ("accept",)}, {"People": "4", "Seating": "terrace"})

    def drawn(*changes: tuple[str, str]) -> Snapshot:
        text = FORM.text
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return replace(FORM, text=text)

    people = ("❯ * People: Type something…", "❯ ✔ People: 4")
    left = ("❯ * People: Type something…", "  ✔ People: 4")
    assert next_step(prompt, given, FORM) == Paste("4")
    assert next_step(prompt, given, drawn(people)) == Press("down", decides=False)
    closed = ("    Seating: not set", "❯   Seating: ▸ not set")
    assert next_step(prompt, given, drawn(left, closed)) == Press("right", decides=False)
    open_list = ("    Seating: not set", "❯   Seating: ▾\n        ❯ ◯ inside\n          ◯ terrace")
    assert next_step(prompt, given, drawn(left, open_list)) == Press("down", decides=False)
    at_it = ("    Seating: not set", "❯   Seating: ▾\n          ◯ inside\n        ❯ ◯ terrace")
    assert next_step(prompt, given, drawn(left, at_it)) == Press("space", decides=False)
    done = ("    Seating: not set", "  ✔ Seating: terrace")
    accept = ("  Accept    Decline", "❯ Accept    Decline")
    assert next_step(prompt, given, drawn(left, done, accept)) == Press("enter", decides=True)
    declined = replace(given, choices={"action": ("decline",)})
    assert next_step(prompt, declined, drawn(left, done, accept)) == Press("right", decides=False)
    # What Claude marks as wrong, what somebody else wrote, and another form are not sent.
    wrong = ("❯ * People: Type something…", "❯ ⚠ People: 4")
    assert isinstance(next_step(prompt, given, drawn(wrong)), Refused)
    theirs = ("    Name: not set", "  ✔ Name: Eve")
    assert next_step(prompt, given, drawn(left, done, theirs, accept)) == Press("up", decides=False)
    assert isinstance(next_step(prompt, given, drawn(("Seating:", "Salary:"))), Refused)


def test_a_key_without_effect_ends_it() -> None:
    prompt = prompt_of(SINGLE)
    steps = fill(prompt, Answer("a1", "me", "http", {}, {"decision": "words"}))
    assert next(steps) is None
    assert isinstance(steps.send(SINGLE), Press)
    for _ in range(MOST_LOOKS):
        assert steps.send(SINGLE) is None
    with pytest.raises(StopIteration) as end:
        steps.send(SINGLE)
    assert isinstance(end.value.value, Refused)


# --- whose dialog is it? ------------------------------------------------------------------------------------


def test_a_dialog_belongs_to_a_request_only_if_it_is_about_the_same_thing() -> None:
    target = BASH.reading.target
    assert target
    asked = Prompt("p1", "permission", "claude", "s1", "/src", target, 1.0, body=target, tool=Tool("Bash"))
    assert shows(asked, BASH)
    assert not shows(replace(asked, title="rm -rf /", body="rm -rf /"), BASH)
    assert not shows(replace(asked, kind="question"), BASH)
    assert not shows(asked, replace(BASH, reading=replace(BASH.reading, clipped=True)))
    assert not shows(replace(asked, tool=None), BASH)
