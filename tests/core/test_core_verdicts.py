"""The one word on an answer: the same for the exit code, the reply and the button."""

from __future__ import annotations

from typing import get_args

import pytest
from core_scene import answer, answered, asked, in_state, sent

from yourcall.core.lifecycle import STATES
from yourcall.core.outcomes import final, verdict_of
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptWithdrawn,
    TraceLost,
)
from yourcall.model.prompts import PromptState, Verdict, VerdictWord

# What anna's answer a1, ben's later a2, and an answer nobody gave are told in each state.
WORDS = {
    "open": ("refused", "taken", "refused"),
    "answering": ("taken", "too_late", "too_late"),
    "sent": ("sent", "too_late", "too_late"),
    "accepted": ("accepted", "too_late", "too_late"),
    "confirmed": ("confirmed", "too_late", "too_late"),
    "desk": ("too_late", "too_late", "too_late"),
    "ended": ("too_late", "too_late", "too_late"),
    "unsure": ("unsure", "too_late", "too_late"),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_a_word_for_every_answer(state: PromptState) -> None:
    scene = in_state(state)
    anna, ben, nobody = WORDS[state]
    assert scene.verdict("a1").result == anna
    assert scene.verdict("never given").result == nobody
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert scene.verdict("a2").result == ben


@pytest.mark.parametrize("word", get_args(VerdictWord))
def test_final_is_everything_but_what_is_on_its_way(word: VerdictWord) -> None:
    assert final(Verdict(word)) == (word not in ("taken", "sent", "accepted"))


def test_ones_own_words_are_not_those_about_a_later_answer() -> None:
    scene = sent()
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    before = scene.verdict("a1")
    assert before == Verdict("sent", "handed to the agent", "", 14.0)
    scene.feed(CallSettled(0, "p1", "allowed", "held", "it ran, decided by a hook"))
    said = scene.verdict("a1")
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a3", "carl")))
    assert scene.verdict("a1") == said
    assert said.detail == "it ran, decided by a hook"


def test_who_was_turned_away_is_told_for_whom_even_after_that_one_came_back() -> None:
    scene = answered()
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert (scene.verdict("a2").result, scene.verdict("a2").by) == ("too_late", "anna")
    scene.feed(AnswerNotWritten(0, "p1", "a1", "its state is unclear"))
    assert scene.verdict("a1") == Verdict("bounced", "its state is unclear", "anna", scene.at)
    assert (scene.verdict("a2").result, scene.verdict("a2").by) == ("too_late", "anna")
    assert "open again" in scene.verdict("a2").detail


def test_a_bounce_stays_a_bounce_whoever_answers_next() -> None:
    scene = answered()
    scene.feed(AnswerNotWritten(0, "p1", "a1", "its state is unclear"))
    bounced = scene.verdict("a1")
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")), AnswerWritten(0, "p1", "a2"))
    scene.feed(CallSettled(0, "p1", "denied", "held"))
    assert scene.verdict("a1") == bounced
    assert scene.verdict("a2").result == "confirmed"


def test_an_answer_told_twice_is_taken_once() -> None:
    scene = answered()
    before, wished = scene.row(), list(scene.wishes)
    done = scene.feed(AnswerGiven(0, "p1", answer()))
    assert done.verdict is not None
    assert done.verdict.result == "taken"
    assert (scene.row(), scene.wishes) == (before, wished)
    scene.feed(AnswerNotWritten(0, "p1", "a1", "no"))
    done = scene.feed(AnswerGiven(0, "p1", answer()))
    assert done.verdict is not None
    assert done.verdict.result == "bounced"
    assert (scene.row().state, scene.wishes) == ("open", wished)


def test_a_prompt_nobody_knows() -> None:
    done = asked().feed(AnswerGiven(0, "p9", answer()))
    assert done.verdict == Verdict("refused", "There is no such prompt.")


def test_an_answer_to_what_was_lost_before_anybody_answered() -> None:
    scene = asked()
    scene.feed(TraceLost(0, "p1", "nobody can tell"))
    done = scene.feed(AnswerGiven(0, "p1", answer()))
    assert done.verdict is not None
    assert done.verdict.result == "unsure"
    scene.feed(DialogStillOpen(0, "p1"))
    assert scene.row().state == "open"
    assert scene.verdict("a1").result == "bounced"


def test_a_yes_of_another_hook_is_not_called_the_desk() -> None:
    scene = asked()
    scene.feed(CallSettled(0, "p1", "allowed", "held"))
    done = scene.feed(AnswerGiven(0, "p1", answer("deny")))
    assert done.verdict is not None
    assert (done.verdict.result, done.verdict.by) == ("too_late", "hook")
    assert "desk" not in done.verdict.detail


def test_a_device_called_hook_does_not_make_it_one() -> None:
    scene = asked()
    scene.feed(DialogClosed(0, "p1", "busy"), AnswerGiven(0, "p1", answer("deny", "a1", "hook")))
    assert scene.verdict("a1").by == "desk"


def test_what_is_no_longer_asked_is_not_called_a_session_that_is_over() -> None:
    scene = asked()
    scene.feed(PromptWithdrawn(0, "p1", "asked anew"))
    done = scene.feed(AnswerGiven(0, "p1", answer()))
    assert done.verdict is not None
    assert (done.verdict.result, done.verdict.by) == ("too_late", "agent")
    assert done.verdict.detail == "the agent no longer asks this"


def test_unsure_says_whose_answer_it_was() -> None:
    scene = answered()
    scene.feed(HolderLost(0, "p1", "broken"))
    done = scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert done.verdict is not None
    assert done.verdict.detail == "already answered by anna; it is not known whether the agent took that"


def test_the_time_of_too_late_is_that_of_the_first_answer() -> None:
    scene = answered()
    first = scene.at
    scene.feed(AnswerGiven(0, "p1", answer("deny", "a2", "ben")))
    assert scene.verdict("a2").at == first


def test_it_is_the_same_word_after_a_holder_came_back() -> None:
    scene = answered()
    scene.feed(HolderLost(0, "p1"), HolderConnected(0, "p1"))
    assert scene.verdict("a1").result == "bounced"
    assert verdict_of(scene.row(), "a1").detail == "the request is still held, and nothing was written"
