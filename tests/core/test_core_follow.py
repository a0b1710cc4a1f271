"""A run that goes by another id, and a request that lost its holder and is reached on its screen."""

from __future__ import annotations

import pytest
from core_scene import SESSION, Scene, answer, answered, asked, in_state, permission, sent
from msgspec.structs import replace

from yourcall.core.lifecycle import CLOSED, STATES
from yourcall.model.events import (
    AnswerGiven,
    CallSettled,
    Deliver,
    DialogReached,
    HolderConnected,
    HolderLost,
    PromptFollowed,
    PromptRaised,
    SessionEnded,
    SessionSeen,
)
from yourcall.model.prompts import Option, PromptState, Question
from yourcall.model.sessions import Session

NEW = SessionSeen(0, Session("s2", "claude", "/src", "idle", pid=7, pid_started="then", transcript="/t/s2.jsonl"))
FOLLOWED = PromptFollowed(0, "p1", "s2", "/t/s1.jsonl")
GONE_ON = SessionEnded(0, "s1", "it goes on as s2", "s2")
KEYS = Question("decision", "Proceed?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "stop")))
REACHED = DialogReached(0, "p1", "screen", (KEYS,), "body-of-the-screen")


@pytest.mark.parametrize("told", [(FOLLOWED,), ()], ids=["told", "raised meanwhile"])
@pytest.mark.parametrize("state", [state for state in STATES if state not in CLOSED])
def test_what_is_not_over_goes_with_its_run_and_is_not_ended(
    state: PromptState, told: tuple[PromptFollowed, ...]
) -> None:
    scene = in_state(state)
    scene.feed(SessionSeen(0, replace(SESSION.session, transcript="/t/s1.jsonl")))
    before = scene.row()
    scene.feed(NEW, *told, GONE_ON)
    row = scene.row()
    assert (row.state, row.answer, row.answerable) == (before.state, before.answer, before.answerable)
    assert (row.session_id, row.record) == ("s2", "/t/s1.jsonl")
    assert scene.story()[-1].endswith("its session goes on as s2")
    old, new = scene.sessions["s1"], scene.sessions["s2"]
    assert (old.state, old.goes_on_as) == ("ended", "s2")
    assert (new.state, new.goes_on_as) == ("waiting" if state == "open" else "idle", "")
    # The end of the run is the end of it.
    scene.feed(SessionEnded(0, "s2"))
    assert scene.row().state in ("ended", "unsure")


def test_the_first_record_is_kept_through_several_names() -> None:
    scene = asked()
    scene.feed(NEW, FOLLOWED, GONE_ON, PromptFollowed(0, "p1", "s3", "/t/s2.jsonl"))
    assert (scene.row().session_id, scene.row().record) == ("s3", "/t/s1.jsonl")


def test_what_is_over_stays_where_it_was() -> None:
    scene = in_state("confirmed")
    scene.feed(NEW, FOLLOWED)
    assert scene.row().session_id == "s1"


def test_a_pause_says_what_is_true_now() -> None:
    scene = asked(kind="ready", body="Shall I push?", link="speech", fingerprint="ready")
    scene.feed(NEW, replace(FOLLOWED, body="It was cleared."), GONE_ON)
    assert (scene.row().body, scene.row().state) == ("It was cleared.", "open")
    assert scene.sessions["s2"].state == "idle"


def lost() -> Scene:
    scene = asked()
    scene.feed(HolderLost(0, "p1", "its hook was killed"))
    return scene


def test_a_request_that_nobody_holds_is_answered_on_its_screen() -> None:
    scene = lost()
    scene.feed(REACHED)
    row = scene.row()
    assert (row.link, row.answerable, row.questions, row.request) == (
        "screen",
        True,
        (KEYS,),
        "body-of-the-screen",
    )
    scene.feed(AnswerGiven(0, "p1", answer()))
    assert scene.wishes == [Deliver("p1", answer())]
    assert scene.row().state == "answering"


@pytest.mark.parametrize("begin", [asked, answered, sent])
def test_what_is_held_or_under_way_keeps_its_way(begin: object) -> None:
    scene = begin()  # type: ignore[operator]
    before = scene.row()
    scene.feed(REACHED)
    assert scene.row() == before


def test_the_holder_that_comes_back_brings_back_its_own_way() -> None:
    scene = lost()
    scene.feed(REACHED, PromptRaised(0, permission()))
    row = scene.row()
    assert (row.link, row.answerable, row.questions) == ("hook", True, permission().questions)


def test_the_holder_that_comes_back_while_keys_are_pressed_carries_nothing() -> None:
    scene = lost()
    scene.feed(REACHED, AnswerGiven(0, "p1", answer()))
    wished = list(scene.wishes)
    scene.feed(PromptRaised(0, permission()))
    assert (scene.wishes, scene.row().link) == (wished, "screen")


def test_out_of_sight_it_is_the_desks_until_it_is_seen_again() -> None:
    scene = lost()
    scene.feed(REACHED, HolderLost(0, "p1", "its dialog is not on the screen any more"))
    assert not scene.row().answerable
    assert scene.feed(AnswerGiven(0, "p1", answer())).verdict.result == "refused"  # type: ignore[union-attr]
    scene.feed(HolderConnected(0, "p1"))
    assert scene.row().answerable
    scene.feed(CallSettled(0, "p1", "allowed", "desk"))
    assert scene.row().state == "desk"


def test_a_session_that_comes_back_under_its_old_id_is_no_longer_gone_on() -> None:
    scene = Scene(SESSION, NEW, GONE_ON, SESSION)
    assert (scene.sessions["s1"].state, scene.sessions["s1"].goes_on_as) == ("working", "")
