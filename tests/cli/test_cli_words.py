"""The words after `yourcall answer`, as people type them, and the answer that the daemon takes them for."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
import pytest

from yourcall.cli import views
from yourcall.cli.instance import Instance
from yourcall.cli.requests import Typed, understood
from yourcall.cli.terminal import sheet
from yourcall.model.prompts import Option, Prompt, Question, Refused
from yourcall.server.option_matching import AnswerWords, Choice, understand

LABELS = ("Login", "Search", "Rss, Atom", "Dark mode")
FEATURES = Question(
    "q2",
    "Which features?",
    tuple(Option(f"o{n}", label, "choose") for n, label in enumerate(LABELS, 1)),
    multi_select=True,
    header="Features",
)
DATABASE = Question(
    "q1",
    "Which database?",
    (Option("o1", "PostgreSQL", "choose"), Option("o2", "SQLite", "choose")),
    header="Database",
)
PLACE = Instance(Path("/home/me/.yourcall"))


def prompt(*questions: Question) -> Prompt:
    return Prompt("k3fqabcdef", "question", "claude", "s1", "/p", "T", 1.0, questions=questions, answerable=True)


def choice(asked: Prompt, *words: str, **more: str) -> Choice | Refused:
    """Both halves: what the command makes of the words, and what the daemon makes of that."""
    seen = views.read(msgspec.to_builtins(asked), views.Prompt)
    fields = {k: json.loads(v) for k, v in understood(seen, Typed(words, **more), PLACE).items()}
    return understand(asked, msgspec.convert(fields, AnswerWords))


@pytest.mark.parametrize(
    "words",
    [
        ["o1,o4"],
        ["o1", "o4"],
        ["Login,Dark mode"],
        ["login", "DARK MODE"],
        ["Features=o1,o4"],
        ["features=Login, Dark mode"],
        ["Which features?=o1,o4"],
        ["q2=o1", "q2=o4"],
    ],
)
def test_several_options_of_one_question(words: list[str]) -> None:
    assert choice(prompt(FEATURES), *words) == Choice({"q2": ("o1", "o4")}, {})


@pytest.mark.parametrize(
    "words",
    [
        ["q1=o2", "q2=o3"],
        ["Database=SQLite", "Features=Rss, Atom"],
        ["sqlite", "rss, atom"],
        ["Features=o3", "sqlite"],
    ],
)
def test_several_questions_in_one_line(words: list[str]) -> None:
    assert choice(prompt(DATABASE, FEATURES), *words) == Choice({"q1": ("o2",), "q2": ("o3",)}, {})


def test_a_word_that_fits_two_questions_is_not_guessed_at() -> None:
    for word, why in (("o1", "2 questions offer it"), ("mysql", "no question offers it")):
        with pytest.raises(click.UsageError) as wrong:
            choice(prompt(DATABASE, FEATURES), word)
        assert why in str(wrong.value)
        assert "answer k3fqab q1=o1 q2=o1,o2" in str(wrong.value)


def test_a_label_with_a_comma_or_an_equals_sign_is_one_label() -> None:
    odd = Question("q1", "Which?", (Option("o1", "a,b", "choose"), Option("o2", "q1=x", "choose")), True)
    assert choice(prompt(odd), "a,b") == Choice({"q1": ("o1",)}, {})
    assert choice(prompt(odd), "q1=x") == Choice({"q1": ("o2",)}, {})
    assert choice(prompt(odd), "a,b", "q1=x") == Choice({"q1": ("o1", "o2")}, {})


def test_commas_name_one_option_where_only_one_may_be_chosen() -> None:
    assert isinstance(choice(prompt(DATABASE), "o1,o2"), Refused)


def test_what_show_prints_is_taken() -> None:
    for questions in ((DATABASE,), (FEATURES,), (DATABASE, FEATURES)):
        asked = prompt(*questions)
        line = sheet.answer_command(views.read(msgspec.to_builtins(asked), views.Prompt), PLACE)
        assert isinstance(choice(asked, *line.split("k3fqab ")[1].split()), Choice)
