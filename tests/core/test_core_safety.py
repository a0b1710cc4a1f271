"""Is it an answer at all? Every 'no' is a sentence that says what to do, whatever was thrown at us."""

from __future__ import annotations

import re

import pytest
from core_scene import DECISION, Scene, answer, asked, in_state, permission
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from yourcall.core.lifecycle import STATES
from yourcall.core.safety import LONGEST_INPUT, LONGEST_TEXT, chosen, objection, too_late
from yourcall.model.events import AnswerGiven, Deliver, PromptRaised
from yourcall.model.prompts import Answer, Option, Prompt, PromptState, Question, Refused

COLOURS = Question(
    "colours",
    "Which colours?",
    tuple(Option(c, c.title(), "choose") for c in ("red", "green", "blue")),
    multi_select=True,
    free_text=True,
)
SIZE = Question("size", "Which size?", (Option("s", "Small", "choose"), Option("l", "Large", "choose")))
NAME = Question("name", "Which name?", free_text=True)
FORM = permission(kind="question", questions=(COLOURS, SIZE))


def no(prompt: Prompt, **fields: object) -> str:
    refused = objection(prompt, replace(Answer("a1", "anna", "phone"), **fields))
    assert isinstance(refused, Refused), "it was taken"
    assert_sentence(refused.reason)
    return refused.reason


def yes(prompt: Prompt, **fields: object) -> bool:
    return objection(prompt, replace(Answer("a1", "anna", "phone"), **fields)) is None


def assert_sentence(text: str) -> None:
    assert re.fullmatch(r"\S.*\.", text, re.DOTALL), text
    assert len(text) < 8_000
    assert text.isprintable()
    assert ": ." not in text


def test_one_option_of_one_question() -> None:
    prompt = permission()
    assert yes(prompt, choices={"decision": ("allow",)})
    assert "choose one of: allow, always, deny, stop" in no(prompt)
    assert "no option 'yes'" in no(prompt, choices={"decision": ("yes",)})
    assert "no question 'other'" in no(prompt, choices={"other": ("allow",)})
    assert "no question 'other'" in no(prompt, choices={"decision": ("allow",)}, texts={"other": ""})
    assert "Choose one option" in no(prompt, choices={"decision": ("allow", "deny")})
    assert "once" in no(prompt, choices={"decision": ("allow", "allow")})
    assert "is not answered" in no(prompt, choices={"decision": ()})


def test_a_yes_or_no_is_chosen_never_written() -> None:
    assert "is not answered" in no(permission(), texts={"decision": "yes, go on"})
    assert yes(permission(), choices={"decision": ("deny",)}, texts={"decision": "not on a Friday"})


def test_many_options_only_where_many_may_be_chosen() -> None:
    assert yes(FORM, choices={"colours": ("red", "blue"), "size": ("s",)})
    assert yes(FORM, choices={"size": ("s",)}, texts={"colours": "none of these"})
    assert "'Which colours?' is not answered" in no(FORM, choices={"size": ("s",)})
    assert "'Which size?' is not answered" in no(FORM, choices={"colours": ("red",)})
    assert "once" in no(FORM, choices={"colours": ("red", "red"), "size": ("s",)})
    assert "Choose one option" in no(FORM, choices={"colours": ("red",), "size": ("s", "l")})
    assert "takes no free text" in no(
        FORM, choices={"colours": ("red",), "size": ("s",)}, texts={"size": "medium"}
    )


def test_a_question_without_options_wants_a_text() -> None:
    prompt = permission(questions=(NAME,))
    assert yes(prompt, texts={"name": "Ada"})
    assert no(prompt) == "'Which name?' is not answered; write a text."
    assert no(prompt, texts={"name": ""}) == "'Which name?' is not answered; write a text."


def test_what_need_not_be_answered_may_stay_empty() -> None:
    prompt = permission(questions=(replace(NAME, required=False), SIZE))
    assert yes(prompt, choices={"size": ("s",)})


@pytest.mark.parametrize("text", ["nine", "1e999", "nan", "inf", "-inf", "", "9" * 5_000, "2", "11"])
def test_a_number_between_its_bounds(text: str) -> None:
    question = Question("n", "How many?", free_text=True, type="number", minimum=3, maximum=10)
    assert yes(permission(questions=(question,)), texts={"n": "4.5"})
    assert "How many?" in no(permission(questions=(question,)), texts={"n": text})


@pytest.mark.parametrize("text", ["1.5", "9" * 500, "9" * 5_000, "-1", "two"])
def test_a_whole_number_however_long(text: str) -> None:
    question = Question("n", "How many?", free_text=True, type="integer", minimum=0, maximum=10)
    assert yes(permission(questions=(question,)), texts={"n": "10"})
    assert "How many?" in no(permission(questions=(question,)), texts={"n": text})


def test_a_prompt_that_asks_nothing_takes_no_answer() -> None:
    assert "at the desk" in no(permission(questions=()))
    assert "at the desk" in no(permission(questions=(SIZE, SIZE)), choices={"size": ("s",)})


def test_two_options_of_one_name_are_not_told_apart_by_guessing() -> None:
    twice = Question("q", "Sure?", (Option("x", "Yes", "allow_once"), Option("x", "No", "deny")))
    assert "Two options are called 'x'" in no(permission(questions=(twice,)), choices={"q": ("x",)})


def test_an_edited_input_goes_with_a_yes_and_is_an_object() -> None:
    allow, deny = {"decision": ("allow",)}, {"decision": ("deny",)}
    assert yes(permission(), choices=allow, input='{"command": "ls -l"}')
    assert yes(permission(), choices={"decision": ("always",)}, input="{}")
    assert "allows" in no(permission(), choices=deny, input="{}")
    for broken in ("", "ls", "[]", "null", '{"a": }', "{" * 100_000, '{"a": ' * 50_000, '"\ud800"'):
        assert "JSON object" in no(permission(), choices=allow, input=broken)
    assert "longer than" in no(permission(), choices=allow, input="x" * (LONGEST_INPUT + 1))


def test_nobody_holds_it_any_more() -> None:
    assert "at the desk" in no(permission(answerable=False), choices={"decision": ("allow",)})


def test_a_closed_prompt_takes_nothing() -> None:
    assert no(permission(state="confirmed"), choices={"decision": ("allow",)}) == "This prompt is closed."


def test_texts_have_an_end() -> None:
    deny = {"decision": ("deny",)}
    assert yes(permission(), choices=deny, texts={"decision": "x" * LONGEST_TEXT})
    assert "longer than 100,000" in no(permission(), choices=deny, texts={"decision": "x" * (LONGEST_TEXT + 1)})
    assert "an invalid character" in no(permission(), choices=deny, texts={"decision": "a\udcffb"})


def test_huge_names_do_not_make_huge_sentences() -> None:
    big = "n\0\x1b[2J" * 100_000
    no(permission(), choices={big: ("allow",)})
    no(permission(), choices={"decision": (big,)})
    no(permission(), choices={"decision": ("allow",) * 100_000})
    no(permission(), choices={f"q{n}": ("x",) for n in range(100_000)})
    many = tuple(Option(f"{big}{n}", big, "choose") for n in range(50))
    no(permission(questions=(Question("q", big, many),)))


names = st.text(max_size=20) | st.sampled_from(("decision", "colours", "size", "allow", "deny", "red", "s"))
answers = st.builds(
    Answer,
    id=st.just("a1"),
    by=st.just("anna"),
    via=st.just("phone"),
    choices=st.dictionaries(names, st.lists(names, max_size=4).map(tuple), max_size=3),
    texts=st.dictionaries(names, st.text(max_size=30), max_size=3),
    input=st.none() | st.text(max_size=30),
)


@given(given_answer=answers, prompt=st.sampled_from((permission(), FORM, permission(questions=(NAME,)))))
def test_any_answer_is_taken_whole_or_refused_in_a_sentence(given_answer: Answer, prompt: Prompt) -> None:
    scene = Scene(PromptRaised(0, prompt))
    done = scene.feed(AnswerGiven(0, "p1", given_answer))
    assert done.verdict is not None
    if done.verdict.result == "refused":
        assert_sentence(done.verdict.detail)
        assert not done.changed
        assert not done.commands
    else:
        assert done.verdict.result == "taken"
        assert done.commands == (Deliver("p1", given_answer),)
        assert scene.row().answer == given_answer
        for question in prompt.questions:
            picked = given_answer.choices.get(question.id, ())
            assert {o.id for o in chosen(prompt, given_answer) if o in question.options} == set(picked)


def test_a_refused_answer_leaves_no_trace() -> None:
    scene = asked()
    before = scene.row()
    done = scene.feed(AnswerGiven(0, "p1", answer("perhaps")))
    assert done.verdict is not None
    assert done.verdict.result == "refused"
    assert scene.row() == before
    assert scene.wishes == []
    assert scene.feed(AnswerGiven(0, "p1", answer("allow"))).verdict is not None
    assert scene.row().state == "answering"


@pytest.mark.parametrize("state", STATES)
def test_too_late_names_who_was_first(state: PromptState) -> None:
    verdict = too_late(in_state(state).row())
    if state == "open":
        assert verdict is None
        return
    assert verdict is not None
    assert verdict.result == "too_late"
    assert verdict.by == {"desk": "desk", "ended": "session"}.get(state, "anna")
    assert verdict.by in verdict.detail or verdict.by == "session"
    assert verdict.at > 0


def test_the_questions_in_use_are_what_the_tests_think() -> None:
    assert [o.effect for o in DECISION.options] == ["allow_once", "allow_always", "deny", "stop"]
