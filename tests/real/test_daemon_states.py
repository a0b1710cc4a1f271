"""Whatever state yourcall is in (killed, down, hung, gone), Claude works as without it, and nothing is lost."""

from __future__ import annotations

import re
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from kit.claude import ClaudeHome, start_claude
from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kit.model_server import ModelServer
    from kit.scene import Scene
    from kit.terminal import Ptys, Tmux
    from kit.yourcall import Yourcall

SPEAKS_OF_US = re.compile(r"hook|yourcall|error|ECONN", re.IGNORECASE)
TOUCH = tool("Bash", command="touch marker", description="Make the marker")


def test_a_prompt_outlives_a_kill_and_is_answered_after_the_restart(scene: Scene) -> None:
    scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    scene.yourcall.kill()
    scene.yourcall.start()
    (again,) = scene.yourcall.prompts()
    assert (again["id"], again["opened_at"]) == (prompt["id"], prompt["opened_at"])
    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    assert scene.made("marker")


def test_an_answer_that_was_taken_survives_a_kill(scene: Scene) -> None:
    """Killed right after it took the answer: it is carried once, and confirmed after the restart."""
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    scene.yourcall.run("answer", prompt["id"], "allow", "--no-wait")
    scene.yourcall.kill()
    scene.yourcall.start()
    shown = scene.yourcall.wait_state(prompt["id"], "confirmed")
    assert shown["outcome"] == "allowed"
    assert scene.made("marker")
    claude.wait_status("idle")


def test_a_prompt_that_came_up_while_yourcall_was_down_is_there_when_it_is_back(scene: Scene) -> None:
    scene.yourcall.stop()
    claude = scene.ask([TOUCH], [text("Made it.")])
    claude.wait_dialog()
    scene.yourcall.start()
    prompt = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    assert scene.made("marker")


def test_a_prompt_that_ended_while_yourcall_was_down_is_told_as_it_was(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    scene.yourcall.kill()
    claude.press("1")
    claude.wait_status("idle")
    scene.yourcall.start()
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    assert until(lambda: scene.yourcall.show(prompt["id"])["outcome"]) == "allowed"
    assert shown["answered_by"] == "desk"


def test_the_agents_death_ends_its_prompt(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Never said.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    claude.kill()
    shown = scene.yourcall.wait_state(prompt["id"], "ended")
    assert "process is gone" in shown["history"][-1]["detail"]
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 3


def test_a_killed_hook_leaves_the_desk_in_charge(scene: Scene, ptys: Ptys) -> None:
    """In a terminal that nobody can look at. In tmux, its dialog is found on the screen a moment later."""
    scene.where = ptys
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    for pid in claude.hooks():
        claude.end_hook(pid, signal.SIGKILL)
    until(lambda: not scene.yourcall.show(prompt["id"])["held"])
    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert said.code == 2, said
    assert "desk" in said.err
    assert scene.yourcall.show(prompt["id"])["state"] == "open"
    claude.press("1")
    scene.yourcall.wait_state(prompt["id"], "desk")
    until(lambda: scene.made("marker"), what="the command that the desk allowed")


def gone(yourcall: Yourcall) -> None:
    yourcall.stop()
    shutil.rmtree(yourcall.home)


def hung(yourcall: Yourcall) -> None:
    yourcall.signal(signal.SIGSTOP)


def down(yourcall: Yourcall) -> None:
    yourcall.stop()


@pytest.mark.parametrize("trouble", [down, hung, gone], ids=["down", "hung", "gone"])
def test_claude_works_and_looks_as_without_us(
    trouble: Callable[[Yourcall], None],
    claude_bin: Path,
    model: ModelServer,
    tmp_path: Path,
    tmux: Tmux,
    claude_home: ClaudeHome,
    yourcall: Yourcall,
) -> None:
    """The same turn with and without our hooks: the same dialog, letter by letter, and not a word more."""
    with_us = claude_home.settings.read_text()
    screens: dict[str, list[str]] = {}
    for settings in ("{}", with_us):
        # The same home, made anew: Claude greets one that it knows in other words.
        shutil.rmtree(claude_home.path)
        shutil.rmtree(claude_home.project)
        ClaudeHome.make(tmp_path).settings.write_text(settings)
        if settings == with_us:
            trouble(yourcall)
        words = model.script("work", [TOUCH], [text("Made it.")])
        claude = start_claude(tmux, claude_bin, claude_home, model)
        claude.say(words)
        dialog = claude.wait_dialog()
        claude.press("1")
        until(lambda: (claude_home.project / "marker").exists())
        claude.wait_status("idle")
        screens[settings] = [dialog_of(dialog), str(len(claude.terminal.settle().splitlines()))]
        assert not SPEAKS_OF_US.search(claude.terminal.settle())
        claude.kill()
    assert screens[with_us] == screens["{}"]


def dialog_of(screen: str) -> str:
    """The dialog alone: how Claude words the call above it differs between any two runs."""
    return screen.rpartition("─" * 100)[2]


def test_a_prompt_of_a_dead_agent_is_never_offered_after_a_restart(scene: Scene) -> None:
    """It was listed as answerable for 0.4 s: no request may find it so, not even the first."""
    claude = scene.ask([TOUCH], [text("Never said.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    scene.yourcall.kill()
    claude.kill()
    claude.wait_gone()
    scene.yourcall.start()
    first = scene.yourcall.show(prompt["id"])
    assert not first["held"], first
    assert scene.yourcall.run("answer", prompt["id"], "allow").code in (2, 3)
    scene.yourcall.wait_state(prompt["id"], "ended")
