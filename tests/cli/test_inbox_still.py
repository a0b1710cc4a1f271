"""The inbox's keys and the impatient thumb: real keys in a real pane, against a running daemon."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest
from test_inbox import COLOURS, Desk, decided, desk, shown

from kit.poll import until
from kit.telegram_server import LOOK_S
from kit.terminal import Pty, Ptys
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scripted_claude import Held

__all__ = ["desk"]

RUNS = 50 if os.environ.get("YOURCALL_SOAK") else 1  # with each of four numbers of keys

# A key that took longer than this to be pressed may have been looked at.
BREATH_S = 0.95


def taps(pty: Pty, keys: Sequence[str], pauses: Iterator[float]) -> None:
    """Keys in the rhythm of a thumb that does not look: the pauses are what is tested. It ends early if the
    machine is too slow for that."""
    last = time.monotonic()
    for key in keys:
        time.sleep(next(pauses))
        if time.monotonic() - last > BREATH_S:
            return
        last = time.monotonic()
        pty.key(key)


def rhythm(seed: int) -> Iterator[float]:
    """Between two keys: 50 to 800 ms."""
    chance = random.Random(seed)
    while True:
        yield chance.uniform(0.05, 0.8)


def look() -> None:
    """Somebody reads what is there."""
    time.sleep(LOOK_S)


@pytest.fixture
def ptys() -> Iterator[Ptys]:
    """Plain terminals: a key is there at once, which a `tmux send-keys` on a busy machine is not."""
    with Ptys() as all_of_them:
        yield all_of_them


def inbox(desk: Desk, ptys: Ptys) -> Pty:
    env = {**desk.yc.env, "TERM": "xterm-256color"}
    return ptys.start([str(COMMAND), "inbox"], cwd=desk.folder, env=env, cols=80, rows=24)


def open_ones(desk: Desk) -> list[str]:
    return [p["title"] for p in desk.yc.prompts() if p["state"] == "open"]


def waits(held: Held) -> bool:
    return held.process.poll() is None


@pytest.mark.parametrize("extra", [1, 3, 8, 20])
def test_extra_keys_answer_nothing_that_was_not_looked_at(desk: Desk, ptys: Ptys, extra: int) -> None:
    _extra_keys(desk, ptys, extra, seed=extra)


@pytest.mark.soak
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("extra", [1, 3, 8, 20])
def test_extra_keys_answer_nothing_in_two_hundred_runs(desk: Desk, ptys: Ptys, extra: int) -> None:
    for run in range(RUNS):
        _extra_keys(desk, ptys, extra, seed=1000 * extra + run)


def _extra_keys(desk: Desk, ptys: Ptys, extra: int, seed: int) -> None:
    """One answer, then the same key and the one that goes on, in any rhythm: the next prompt waits."""
    agent, first = desk.asks("Bash", command=f"npm test {seed}")
    other, second = desk.asks("Bash", command=f"make one {seed}")
    pty = inbox(desk, ptys)
    until(lambda: pty.shows(f"$ npm test {seed}"), show=pty.seen)
    look()
    pty.key("a")
    assert decided(first)["behavior"] == "allow"
    agent.goes_on(first)
    until(lambda: pty.shows("The agent moved on."), show=pty.seen)
    taps(pty, ["Enter", *["a", "Enter"] * extra][: extra + 1], rhythm(seed))
    until(lambda: pty.shows(f"$ make one {seed}"), show=pty.seen)
    assert waits(second)
    assert open_ones(desk) == [f"make one {seed}"]
    look()
    pty.key("a")  # whoever looks first is heard
    assert decided(second)["behavior"] == "allow"
    other.goes_on(second)
    until(lambda: not desk.yc.prompts(), what="an empty inbox for the next run")
    pty.key("q")
    agent.ends()
    other.ends()


@pytest.mark.parametrize("extra", [1, 3, 8, 20])
def test_a_key_right_after_the_cursor_moved_is_refused_and_says_why(desk: Desk, ptys: Ptys, extra: int) -> None:
    _, first = desk.asks("Bash", command="npm test")
    _, second = desk.asks("Bash", command="make one")
    pty = inbox(desk, ptys)
    until(lambda: pty.shows("$ npm test"), show=pty.seen)
    look()
    pty.key("j")
    taps(pty, ["a"] * extra, rhythm(extra))
    until(lambda: pty.shows("Not taken: this has been on the screen for less than a second"), show=pty.seen)
    assert waits(first)
    assert waits(second)
    look()
    pty.key("a")
    assert decided(second)["behavior"] == "allow"
    assert waits(first)


def test_what_is_asked_twice_is_not_said_in_one_breath(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="rm -rf build")
    pane = desk.inbox()
    shown(pane, "! It deletes files", "asks again")
    pane.key("a", "y")
    screen = pane.wait_until(lambda screen: "Not taken" in screen)
    assert "Press y for yes" in screen
    assert waits(held)
    shown(pane, "Press y for yes")
    pane.key("y")
    assert decided(held)["behavior"] == "allow"


def test_the_questions_of_a_form_are_not_answered_in_one_breath(desk: Desk) -> None:
    _, held = desk.asks("AskUserQuestion", questions=[COLOURS[0], {**COLOURS[0], "question": "Which edge?"}])
    pane = desk.inbox()
    shown(pane, "▸ Which colour?", "2  Blue")
    pane.key("2", "2", "Enter")
    shown(pane, "Which colour?  Blue", "▸ Which edge?", "Not taken")
    assert waits(held)
    assert open_ones(desk) == ["Which colour?"]


def test_what_is_written_is_kept_when_its_enter_does_not_count(desk: Desk) -> None:
    _, first = desk.asks("Bash", command="npm test")
    _, second = desk.asks("Bash", command="make one")
    pane = desk.inbox()
    shown(pane, "2 waiting", "t  Deny")
    pane.key("j", "t", "no, use ninja", "Enter")  # in one go: however slow the machine, it is less than a second
    pane.wait_until(lambda screen: "Not taken" in screen and "no, use ninja" in screen)
    assert waits(second)
    shown(pane, "no, use ninja")
    pane.key("Enter")
    assert "no, use ninja" in decided(second)["message"]
    assert waits(first)


def test_after_the_list_of_keys_the_prompt_has_to_be_looked_at_again(desk: Desk) -> None:
    _, held = desk.asks("Bash", command="npm test")
    pane = desk.inbox()
    shown(pane, "$ npm test", "a  Allow")
    pane.key("?")
    pane.wait_until(lambda screen: "nothing is answered by leaving" in screen)
    pane.key("x", "a")
    shown(pane, "$ npm test", "a  Allow")
    assert waits(held)
    pane.key("a")
    assert decided(held)["behavior"] == "allow"
