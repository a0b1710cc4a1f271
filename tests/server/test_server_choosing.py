"""Words to options: by id, by label, by what it does; never by guess."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_house import ALLOW, ALWAYS, DENY, PERMISSION, STOP

from yourcall.model.prompts import Effect, Option, Prompt, Question, Refused
from yourcall.server.option_matching import EFFECT_WORDS, AnswerWords, Choice, find, understand


def prompt(*questions: Question) -> Prompt:
    return Prompt("p", "question", "claude", "s", "/", "t", 0.0, questions=questions)


def question(*options: Option, **said: bool) -> Question:
    return Question("q", "Which?", options, **said)


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("allow", ALLOW),
        ("Yes", ALLOW),
        ("  yEs ", ALLOW),
        ("allow_once", ALLOW),
        ("always", ALWAYS),
        ("allow_always", ALWAYS),
        ("yes, and  don't ask again", ALWAYS),
        ("deny", DENY),
        ("DENY", DENY),
        ("no", DENY),
        ("stop", STOP),
    ],
)
def test_a_word_finds_its_option(word: str, option: Option) -> None:
    assert find(PERMISSION, word) == option


def test_allow_never_means_more_than_once() -> None:
    only_wide = question(Option("a", "Always", "allow_always"), Option("b", "This session", "allow_session"), DENY)
    found = find(only_wide, "allow")
    assert isinstance(found, Refused)
    assert "a (Always), b (This session), deny (No)" in found.reason


def test_an_effect_that_two_options_have_is_ambiguous() -> None:
    two = question(Option("a", "Yes", "allow_once"), Option("b", "Yes, without edits", "allow_once"), DENY)
    found = find(two, "allow")
    assert isinstance(found, Refused)
    assert "could mean a (Yes), b (Yes, without edits)" in found.reason


def test_a_label_that_two_options_have_is_ambiguous() -> None:
    found = find(question(Option("1", "Same", "choose"), Option("2", "same", "choose")), "same")
    assert isinstance(found, Refused)


def test_a_label_that_lies_about_its_effect_does_not_hide_the_real_one() -> None:
    lying = question(Option("x", "Deny", "allow_always"), Option("y", "No", "deny"))
    assert isinstance(find(lying, "deny"), Refused)
    assert find(lying, "x") == lying.options[0]


def test_an_id_goes_before_a_label() -> None:
    crossed = question(Option("red", "blue", "choose"), Option("blue", "red", "choose"))
    assert find(crossed, "red") == crossed.options[0]


def test_one_question_needs_no_name_and_several_do() -> None:
    one, two = question(ALLOW, DENY), Question("other", "And then?", (ALLOW, DENY), free_text=True)
    assert understand(prompt(one), AnswerWords(option="allow", text="why")) == Choice(
        {"q": ("allow",)}, {"q": "why"}
    )
    refused = understand(prompt(one, two), AnswerWords(option="allow"))
    assert isinstance(refused, Refused)
    assert "q (" in refused.reason
    assert "other (" in refused.reason
    assert understand(prompt(one, two), AnswerWords(option="no", question="and THEN?")) == Choice(
        {"other": ("deny",)}, {}
    )


def test_several_questions_at_once() -> None:
    many = Question(
        "m", "Pick some", (Option("1", "One", "choose"), Option("2", "Two", "choose")), multi_select=True
    )
    asked = prompt(many, question(ALLOW, DENY))
    words = AnswerWords(choices={"m": ("one", "2"), "q": ("allow",)}, texts={"q": "because"})
    assert understand(asked, words) == Choice({"m": ("1", "2"), "q": ("allow",)}, {"q": "because"})


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (AnswerWords(), "Say what to answer"),
        (AnswerWords(option="maybe"), "There is no option 'maybe'. Choose one of: allow (Yes)"),
        (AnswerWords(option="allow", question="nope"), "There is no question 'nope'"),
        (AnswerWords(choices={"nope": ("allow",)}), "There is no question 'nope'"),
        (AnswerWords(texts={"nope": "x"}), "There is no question 'nope'"),
        (AnswerWords(option="allow", choices={"q": ("deny",)}), "twice"),
        (AnswerWords(text="a", texts={"Which?": "b"}), "two texts"),
        (AnswerWords(question="q"), "Say what to answer"),
        (AnswerWords(option=""), "There is no option ''"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_choices(words: AnswerWords, part: str) -> None:
    refused = understand(prompt(question(ALLOW, DENY)), words)
    assert isinstance(refused, Refused)
    assert part in refused.reason


def test_a_prompt_that_asks_nothing_says_so() -> None:
    refused = understand(prompt(), AnswerWords(option="allow"))
    assert isinstance(refused, Refused)
    assert "at the desk" in refused.reason


effects: list[Effect] = ["allow_once", "allow_session", "allow_always", "deny", "stop", "choose", "reply"]
words = st.sampled_from(["allow", "deny", "stop", "Yes", "No", "allow_always", "x", "1", ""])
options = st.builds(Option, words, words, st.sampled_from(effects))


@given(st.lists(options, max_size=5, unique_by=lambda option: option.id), words)
def test_an_effect_word_never_finds_another_effect_unless_the_id_says_so(found: list[Option], word: str) -> None:
    option = find(question(*found), word)
    if isinstance(option, Refused):
        return
    assert option in found
    others = [other for other in found if EFFECT_WORDS.get(word) == other.effect]
    if option.id != word and others:
        assert option.effect == EFFECT_WORDS[word]
