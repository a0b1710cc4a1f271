"""A person takes a prompt off the list: it is over, nobody was answered, and the agent's dialog is left alone."""

from __future__ import annotations

import pytest
from core_scene import Scene, asked, in_state, permission

from yourcall.core.lifecycle import CLOSED, STATES
from yourcall.model.events import CallSettled, Deliver, PromptDismissed, PromptRaised, Release, SessionSeen
from yourcall.model.prompts import PromptState
from yourcall.model.sessions import Session


@pytest.mark.parametrize("state", [state for state in STATES if state not in CLOSED | {"answering"}])
def test_anything_that_is_listed_can_be_dismissed(state: PromptState) -> None:
    scene = in_state(state)
    delivered = sum(isinstance(wish, Deliver) for wish in scene.wishes)
    done = scene.feed(PromptDismissed(0.0, "p1", "anna"))
    assert done.verdict is not None
    assert (done.verdict.result, scene.row().state, scene.row().answerable) == ("confirmed", "ended", False)
    assert "p1" not in scene.state.prompts
    assert sum(isinstance(wish, Deliver) for wish in scene.wishes) == delivered, "nothing was said to the agent"


def test_its_holder_is_let_go_and_its_session_still_waits() -> None:
    scene = asked()
    before = dict(scene.sessions)
    scene.feed(PromptDismissed(0.0, "p1", "anna"))
    assert scene.wishes[-1] == Release("p1")
    assert scene.sessions == before
    scene.feed(CallSettled(0.0, "p1", "allowed", "desk", "it ran"))
    assert (scene.row().state, scene.row().outcome) == ("desk", "allowed"), "what the desk said later is known"


def test_an_answer_on_its_way_is_not_dismissed_and_a_late_one_hears_of_it() -> None:
    scene = in_state("answering")
    done = scene.feed(PromptDismissed(0.0, "p1", "anna"))
    assert done.verdict is not None
    assert (done.verdict.result, scene.row().state) == ("refused", "answering")


def test_after_a_written_answer_the_record_is_not_called_the_desks() -> None:
    scene = in_state("sent")
    scene.feed(PromptDismissed(0.0, "p1", "anna"), CallSettled(0.0, "p1", "allowed", "held", "it ran"))
    assert scene.row().state == "ended"


def test_a_request_without_a_desk_is_answered_or_its_session_stopped() -> None:
    session = Session("s1", "claude", "/src", "working")
    scene = Scene(SessionSeen(0.0, session), PromptRaised(0.0, permission(link="stdio")))
    done = scene.feed(PromptDismissed(0.0, "p1", "anna"))
    assert done.verdict is not None
    assert (done.verdict.result, scene.row().state) == ("refused", "open")
    ready = permission("p2", session_id="s2", link="stdio", kind="ready", fingerprint="ready")
    scene.feed(PromptRaised(0.0, ready), PromptDismissed(0.0, "p2", "anna"))
    assert scene.row("p2").state == "ended"
