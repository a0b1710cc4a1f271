"""The spine: a permission of the real Claude Code, from its own terminal to yourcall and back, confirmed."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from kit.claude import COMPOSER
from kit.poll import until
from kit.terminal import alive
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
AGAIN = tool("Bash", command="touch second", description="Make the second marker")
# Not beginning with sleep: the CLI refuses that before any prompt.
LONG = tool(
    "Bash", command="touch started; while [ ! -e go ]; do sleep 0.05; done; touch ended", description="Long"
)


@pytest.mark.parametrize("terminal", ["tmux", "ptys"])
def test_allow_is_confirmed_by_the_agent(scene: Scene, terminal: str, request: pytest.FixtureRequest) -> None:
    scene.where = request.getfixturevalue(terminal)
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    assert scene.yourcall.run("ls", "--json").json == [prompt]
    assert scene.yourcall.run("show", prompt["id"][:6], "--json").json == scene.yourcall.show(prompt["id"])
    assert (prompt["kind"], prompt["state"], prompt["agent"]) == ("permission", "open", "claude")
    assert prompt["tool"] == {
        "name": "Bash",
        "input": {"command": "touch marker", "description": "Make the marker"},
    }
    assert prompt["cwd"] == str(scene.home.project)
    assert not scene.made("marker")

    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert said.code == 0, said
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert not result.is_error
    assert scene.made("marker")
    assert scene.yourcall.prompts() == []
    assert scene.states(prompt["id"]) == ["open", "answering", "sent", "accepted", "confirmed"]
    claude.wait_status("idle")


def test_deny_carries_the_reason_to_the_model(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Understood.")])
    prompt = scene.yourcall.wait_prompt()
    said = scene.yourcall.run("answer", prompt["id"], "deny", "--text", "Use the build folder instead.")
    assert said.code == 0, said
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert result.is_error
    assert "Use the build folder instead." in result.text
    claude.wait_status("idle")
    assert not scene.made("marker")
    shown = scene.yourcall.show(prompt["id"])
    assert (shown["state"], shown["outcome"]) == ("confirmed", "denied")


def test_stop_refuses_and_ends_the_turn(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Never said.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    said = scene.yourcall.run("answer", prompt["id"], "stop")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    claude.wait_status("idle")
    assert not scene.made("marker")
    assert scene.model.tool_results() == []  # the model is not asked again
    assert scene.yourcall.show(prompt["id"])["outcome"] == "stopped"


def test_an_edited_input_runs_instead(scene: Scene) -> None:
    scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    edited = json.dumps({"command": "touch edited", "description": "Make another one"})
    said = scene.yourcall.run("answer", prompt["id"], "allow", "--input", edited)
    assert said.code == 0, said
    assert scene.made("edited")
    assert not scene.made("marker")


def test_remembering_asks_no_second_time(scene: Scene) -> None:
    build = tool("Bash", command="git init -q made && touch made/x", description="Make a repository")
    claude = scene.ask([build], [build], [text("Made twice.")])
    prompt = scene.yourcall.wait_prompt()
    (question,) = prompt["questions"]
    kept = [o for o in question["options"] if o["effect"] in ("allow_session", "allow_always")]
    assert kept, question
    assert all(o["description"] for o in kept)
    (always,) = [o for o in kept if o["label"].startswith("Allow and don't ask again")]
    assert "settings.local.json" in always["description"]
    said = scene.yourcall.run("answer", prompt["id"], always["id"])
    assert said.code == 0, said
    scene.model.wait_for(lambda m: len(m.tool_results()) == 2)
    claude.wait_status("idle")
    assert scene.yourcall.prompts() == []


def test_the_desk_first_then_the_phone_is_too_late(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    claude.press("1")
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    said = scene.yourcall.run("answer", prompt["id"], "deny")
    assert said.code == 3, said
    assert "desk" in said.out + said.err
    scene.model.wait_for(lambda m: m.tool_results())
    assert scene.made("marker")
    shown = until(lambda: (s := scene.yourcall.show(prompt["id"]))["outcome"] and s)
    assert (shown["state"], shown["outcome"]) == ("desk", "allowed")


@pytest.mark.parametrize(("key", "outcome"), [("1", "allowed"), ("Escape", "stopped")])
def test_of_a_turn_that_nobody_saw_end_the_record_tells(scene: Scene, key: str, outcome: str) -> None:
    """On a busy machine our looks come late: allowed at the desk, done, and at rest again between two of them. It
    was told as stopped, and stayed so."""
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    (hook,) = claude.hooks()
    scene.yourcall.signal(signal.SIGSTOP)
    claude.end_hook(hook, signal.SIGSTOP)
    claude.press(key)
    claude.wait_status("idle")
    if hook in claude.hooks():  # at an Escape, the agent may have ended it for good
        claude.end_hook(hook, signal.SIGCONT)
    until(lambda: not alive(hook), what="the end of the hook")
    scene.yourcall.signal(signal.SIGCONT)
    shown = until(lambda: (s := scene.yourcall.show(prompt["id"]))["outcome"] and s)
    assert (shown["state"], shown["outcome"]) == ("desk", outcome)
    assert scene.made("marker") == (outcome == "allowed")


def test_escape_at_the_desk_is_told_as_stopped_there(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Never said.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    claude.press("Escape")
    scene.yourcall.wait_state(prompt["id"], "desk")
    assert until(lambda: scene.yourcall.show(prompt["id"])["outcome"]) == "stopped"
    assert not scene.made("marker")


def test_the_phone_first_then_a_key_at_the_desk_changes_nothing(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [AGAIN], [text("Made both.")])
    first = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    assert scene.yourcall.run("answer", first["id"], "deny").code == 0
    second = scene.next_prompt(first)
    assert scene.yourcall.run("answer", first["id"], "allow").code == 3
    assert scene.yourcall.show(second["id"])["state"] == "open"
    assert not scene.made("second")
    assert scene.yourcall.run("answer", second["id"], "allow").code == 0
    assert scene.made("second")
    assert not scene.made("marker")


def test_two_queued_prompts_and_a_double_answer(scene: Scene) -> None:
    claude = scene.ask([TOUCH, AGAIN], [text("Made both.")])
    first = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", first["id"], "allow", "--no-wait").code in (0, 6)
    assert scene.yourcall.run("answer", first["id"], "allow").code == 3
    second = scene.next_prompt(first)
    assert second["tool"]["input"]["command"] == "touch second"
    assert not scene.made("second")
    assert scene.yourcall.run("answer", second["id"], "deny").code == 0
    claude.wait_status("idle")
    assert scene.made("marker")
    assert not scene.made("second")


def test_two_identical_prompts_in_a_row_are_two(scene: Scene) -> None:
    scene.ask([TOUCH], [TOUCH], [text("Twice.")])
    first = scene.yourcall.wait_prompt()
    assert scene.yourcall.run("answer", first["id"], "deny").code == 0
    second = scene.next_prompt(first)
    assert scene.yourcall.show(second["id"])["state"] == "open"
    assert not scene.made("marker")
    assert scene.yourcall.run("answer", second["id"], "allow").code == 0
    assert scene.made("marker")


def test_a_long_command_is_accepted_until_it_is_over(scene: Scene) -> None:
    scene.ask([LONG], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    said = scene.yourcall.run("answer", prompt["id"], "allow", "--wait", "2")
    assert said.code == 6, said
    assert scene.yourcall.show(prompt["id"])["state"] == "accepted"
    assert scene.made("started")
    (scene.home.project / "go").touch()
    shown = scene.yourcall.wait_state(prompt["id"], "confirmed")
    assert shown["outcome"] == "allowed"
    assert scene.made("ended")


def test_a_long_command_allowed_at_the_desk_is_told_at_once(scene: Scene) -> None:
    claude = scene.ask([LONG], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    claude.press("1")
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    assert shown["outcome"] is None
    # A late stop must not kill what the desk allowed.
    assert scene.yourcall.run("answer", prompt["id"], "stop").code == 3
    (scene.home.project / "go").touch()
    until(lambda: scene.yourcall.show(prompt["id"])["outcome"] == "allowed")
    assert scene.made("ended")


def test_the_agent_shows_nothing_of_us(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    scene.yourcall.wait_prompt()
    claude.wait_dialog()
    assert "hook" not in claude.terminal.settle().lower()
    claude.press("1")
    claude.wait_status("idle")
    screen = claude.terminal.settle()
    assert "hook" not in screen.lower()
    assert COMPOSER in screen
