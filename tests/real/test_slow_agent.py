"""An agent that is slow to read an answer, because it is stopped or starved: the answer stays *sent*."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.claude import MANUAL, Claude, environment
from kit.poll import until
from kit.terminal import Tmux, alive
from kit.turns import text, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


def ask(scene: Scene) -> Claude:
    """A Claude that asks, below a shell: tmux itself wakes a child of its own that is stopped."""
    assert isinstance(scene.where, Tmux)
    words = scene.model.script("work", [TOUCH], [text("Made it.")])
    command = ["sh", "-c", '"$0" "$@"; exit', str(scene.binary), *MANUAL]
    pane = scene.where.start(command, cwd=scene.home.project, env=environment(scene.home, scene.model))
    children = Path(f"/proc/{pane.pid}/task/{pane.pid}/children")
    pane.pid = int(until(children.read_text, what="Claude's process"))
    claude = Claude(pane, scene.home)
    claude.say(words)
    return claude


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def watch_states(scene: Scene, prompt_id: str, seconds: float) -> set[str]:
    """Every state that this prompt shows for so long."""
    end, seen = time.monotonic() + seconds, set[str]()
    while time.monotonic() < end:
        seen.add(scene.yourcall.show(prompt_id)["state"])
        time.sleep(0.1)
    return seen


# `IGNORED_S` is 3 s: before, each stop longer than that brought a false "bounced".
@pytest.mark.parametrize("seconds", [5, *(pytest.param(s, marks=pytest.mark.soak) for s in (2, 10, 30, 60))])
def test_an_answer_that_claude_has_not_read_stays_sent(scene: Scene, seconds: int) -> None:
    claude = ask(scene)
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    (hook,) = claude.hooks()
    with stopped(claude.pid):
        scene.yourcall.run("answer", prompt["id"], "allow", "--no-wait")
        until(lambda: not alive(hook), what="the end of the hook")
        scene.yourcall.wait_state(prompt["id"], "sent")
        assert watch_states(scene, prompt["id"], seconds) == {"sent"}
        second = scene.yourcall.run("answer", prompt["id"], "deny")
        assert second.code == 3, second
    shown = scene.yourcall.wait_state(prompt["id"], "confirmed")
    assert shown["outcome"] == "allowed"
    assert shown["answered_by"] == "cli", shown
    assert scene.made("marker")
    # After half a minute one look finds both the dialog's end and the proof: `accepted` is then left out.
    states = scene.states(prompt["id"])
    assert [state for state in states if state != "accepted"] == ["open", "answering", "sent", "confirmed"], states


def test_the_next_daemon_does_not_offer_again_what_claude_has_not_read(scene: Scene) -> None:
    """The daemon is killed while the answer lies unread: its successor can't know, and must not ask anew."""
    claude = ask(scene)
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    (hook,) = claude.hooks()
    with stopped(claude.pid):
        scene.yourcall.run("answer", prompt["id"], "allow", "--no-wait")
        until(lambda: not alive(hook), what="the end of the hook")
        scene.yourcall.wait_state(prompt["id"], "sent")
        scene.yourcall.kill()
        scene.yourcall.start()
        assert "open" not in watch_states(scene, prompt["id"], 5)
    shown = scene.yourcall.wait_state(prompt["id"], "confirmed")
    assert shown["outcome"] == "allowed"


def test_no_key_is_pressed_while_claude_reads_none(scene: Scene) -> None:
    """Without its hook the dialog is answered by a key. One that lay unread would meet whatever comes next."""
    claude = ask(scene)
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    (hook,) = claude.hooks()
    claude.end_hook(hook, signal.SIGKILL)
    until(lambda: len(scene.yourcall.show(prompt["id"])["history"]) > 1, what="word of its loss")
    until(lambda: scene.yourcall.show(prompt["id"])["held"], what="a way in again")
    with stopped(claude.pid):
        said = scene.yourcall.run("answer", prompt["id"], "allow")
        assert said.code == 4, said
        assert "isn't reading its terminal" in said.out + said.err
    assert scene.yourcall.run("answer", prompt["id"], "deny").code == 0
    claude.wait_status("idle")
    assert not scene.made("marker")
