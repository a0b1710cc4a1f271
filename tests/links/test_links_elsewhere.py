"""What a screen shows and a socket asks is one and the same thing, told by agent, folder and kind."""

from __future__ import annotations

import pytest

from yourcall.core.state import State
from yourcall.links.screen.ownership import asked_elsewhere, served
from yourcall.model.prompts import Kind, Prompt, PromptState
from yourcall.model.sessions import Link, Session

PANE = Session("pid-1-2", "codex", "/srv/shop", links=(Link("tmux", "%1", "/tmp/s"),))
THREAD = Session("01a1", "codex", "/srv/shop", links=(Link("socket", "01a1", "/x.sock"),))


def asks(
    kind: Kind = "permission", *, state: PromptState = "open", cwd: str = "/srv/shop", link: str = "socket"
) -> State:
    prompt = Prompt("p", kind, "codex", THREAD.id, cwd, "May I?", 1.0, state=state, link=link)
    return State(prompts={"p": prompt}, sessions={each.id: each for each in (PANE, THREAD)})


@pytest.mark.parametrize("kind", ["permission", "question", "elicitation"])
def test_what_the_socket_asks_here_is_not_asked_again(kind: Kind) -> None:
    """An MCP server's request is a form to the one and a permission to the other."""
    assert asked_elsewhere(asks(), PANE.id, kind)


@pytest.mark.parametrize("kind", ["trust", "startup", "plan", "unknown"])
def test_the_clients_own_pages_are(kind: Kind) -> None:
    assert not asked_elsewhere(asks(), PANE.id, kind)


def test_a_plan_that_the_socket_raised_is_not_raised_again() -> None:
    assert asked_elsewhere(asks("plan"), PANE.id, "plan")


def test_another_folder_another_way_or_an_answered_one_says_nothing() -> None:
    assert not asked_elsewhere(asks(cwd="/srv/other"), PANE.id, "permission")
    assert not asked_elsewhere(asks(link="screen"), PANE.id, "permission")
    assert not asked_elsewhere(asks(state="confirmed"), PANE.id, "permission")
    assert not asked_elsewhere(asks(), "nobody", "permission")


def test_a_folder_is_served_while_a_conversation_of_the_socket_is_in_it() -> None:
    assert served(asks(), PANE.id)
    alone = State(sessions={PANE.id: PANE})
    assert not served(alone, PANE.id)
    assert not served(alone, "nobody")
