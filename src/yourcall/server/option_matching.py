"""From the words of a request to the options they name: ids, labels, or a unique effect word.

Rule: pure, and never a guess; a word that could mean two options, or none, is refused with the list of choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from yourcall.model.prompts import Option, Prompt, Question, Refused

# `allow` means this once: a wider grant is only ever given by its own name.
EFFECT_WORDS = {
    "allow": "allow_once",
    "allow_once": "allow_once",
    "allow_session": "allow_session",
    "allow_always": "allow_always",
    "deny": "deny",
    "stop": "stop",
}

# What the agent will not ask about again, for a while or for good: as good as a rule.
LASTING = frozenset({"allow_session", "allow_always"})


class AnswerWords(Struct, frozen=True):
    """What somebody asked for, not yet understood."""

    option: str | None = None
    question: str | None = None
    text: str | None = None
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}


class Choice(Struct, frozen=True):
    choices: dict[str, tuple[str, ...]]
    texts: dict[str, str]


def understand(prompt: Prompt, words: AnswerWords) -> Choice | Refused:
    """The answer these words are, by the ids of this prompt."""
    choices: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    wanted = list(words.choices.items())
    written = list(words.texts.items())
    if words.option is not None or words.text is not None or words.question is not None:
        question = _the_question(prompt, words.question)
        if isinstance(question, Refused):
            return question
        if words.option is not None:
            wanted.append((question.id, (words.option,)))
        if words.text is not None:
            written.append((question.id, words.text))
    if not wanted and not written:
        return Refused(f"Say what to answer. {_listed(prompt.questions)}")
    for name, picks in wanted:
        question = _named(prompt, name)
        if isinstance(question, Refused):
            return question
        if question.id in choices:
            return Refused(f"{question.text!r} was answered twice in one request; answer it once.")
        ids: list[str] = []
        for word in picks:
            for one in several(question, word):
                option = find(question, one)
                if isinstance(option, Refused):
                    return option
                ids.append(option.id)
        choices[question.id] = tuple(ids)
    for name, text in written:
        question = _named(prompt, name)
        if isinstance(question, Refused):
            return question
        if question.id in texts:
            return Refused(f"{question.text!r} was given two texts in one request; give it one.")
        texts[question.id] = text
    return Choice(choices, texts)


def grants_more_than_once(prompt: Prompt, choices: Mapping[str, Sequence[str]]) -> bool:
    """Does this answer also allow what the agent would have asked later?"""
    return any(
        option.effect in LASTING and option.id in choices.get(question.id, ())
        for question in prompt.questions
        for option in question.options
    )


def find(question: Question, word: str) -> Option | Refused:
    """The one option a word names: by id, else by label, else by what it does."""
    for option in question.options:
        if option.id == word:
            return option
    text = _plain(word)
    options = [option for option in question.options if _plain(option.label) == text]
    effect = EFFECT_WORDS.get(text)
    if effect is not None and not any(option.effect == effect for option in options):
        # A label is written by others: one that says `deny` and does something else must not hide the real one.
        options += [option for option in question.options if option.effect == effect]
    if len(options) == 1:
        return options[0]
    if options:
        several = ", ".join(f"{option.id} ({option.label})" for option in options)
        return Refused(f"{word!r} could mean {several}; use one of these ids.")
    return Refused(f"There is no option {word!r}. {_listed((question,))}")


def several(question: Question, word: str) -> list[str]:
    """`o1,o4` names two options where several may be chosen, unless an option is called just that."""
    if not question.multi_select or "," not in word or not isinstance(find(question, word), Refused):
        return [word]
    return [part.strip() for part in word.split(",") if part.strip()]


def _the_question(prompt: Prompt, name: str | None) -> Question | Refused:
    if name is not None:
        return _named(prompt, name)
    if len(prompt.questions) == 1:
        return prompt.questions[0]
    return Refused(f"Say which question is meant. {_listed(prompt.questions)}")


def _named(prompt: Prompt, name: str) -> Question | Refused:
    for question in prompt.questions:
        if question.id == name:
            return question
    for alike in (
        [question for question in prompt.questions if question.header and _plain(question.header) == _plain(name)],
        [question for question in prompt.questions if _plain(question.text) == _plain(name)],
    ):
        if len(alike) == 1:
            return alike[0]
    return Refused(f"There is no question {name!r}. {_listed(prompt.questions)}")


def _listed(questions: Sequence[Question]) -> str:
    if not questions:
        return "This prompt offers nothing to choose: answer it in the agent's own dialog, at the desk."
    if len(questions) == 1:
        return _choices(questions[0])
    return "It asks: " + " ".join(f"{question.id} ({_choices(question)})" for question in questions)


def _choices(question: Question) -> str:
    ids = ", ".join(f"{option.id} ({option.label})" for option in question.options)
    if not ids:
        return "It takes a text."
    number = "Choose one or more of" if question.multi_select else "Choose one of"
    return f"{number}: {ids}{', or write a text' if question.free_text else ''}."


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
