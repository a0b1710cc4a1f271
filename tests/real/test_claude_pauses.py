"""The pauses in which Claude asks nothing: ready for the next instruction, stopped by a problem; and subagents."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from kit.claude import environment, start_claude
from kit.poll import until
from kit.turns import error, text, tool

if TYPE_CHECKING:
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


def test_ready_shows_the_last_message_and_closes_with_the_next_instruction(scene: Scene) -> None:
    claude = scene.ask([text("The tests are green. Shall I push?")])
    ready = scene.yourcall.pause("ready")
    assert "Shall I push?" in ready["body"]
    assert ready["session_id"] == claude.session["sessionId"]
    (session,) = scene.yourcall.run("sessions", "--json").json
    assert (session["state"], session["permission_mode"]) == ("idle", "default")

    claude.say(scene.model.script("more", [text("Pushed.")]))
    # The hooks of a turn run beside it, and its end may overtake its beginning.
    scene.yourcall.wait_state(ready["id"], "desk", "ended")
    again = until(lambda: [p for p in scene.yourcall.waiting() if p["id"] != ready["id"]])[0]
    assert (again["kind"], again["body"]) == ("ready", "Pushed.")

    claude.kill()
    scene.yourcall.wait_state(again["id"], "ended")


def test_a_stop_that_another_hook_undid_is_followed_by_the_one_that_counts(scene: Scene) -> None:
    """A hook of the person's own sends Claude back to work once; its last message is the one to be shown."""
    stop = scene.home.path / "stop.sh"
    again = """case "$(cat)" in *'"stop_hook_active":true'*) exit 0;; esac"""
    stop.write_text(f"""{again}\necho '{{"decision":"block","reason":"Run the tests first."}}'\n""")
    (scene.home.project / ".claude").mkdir()
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"sh {stop}"}]}]}}
    (scene.home.project / ".claude" / "settings.json").write_text(json.dumps(hooks))
    scene.ask([text("Not tested.")])
    until(
        lambda: [p["kind"] for p in scene.yourcall.waiting() if "Run the tests first." in p["body"]] == ["ready"],
        30,
        show=scene.yourcall.waiting,
    )
    assert len(scene.yourcall.waiting()) == 1


def test_a_print_run_never_says_ready(scene: Scene) -> None:
    words = scene.model.script("once", [text("Printed.")])
    done = subprocess.run(
        [scene.binary, "-p", words], cwd=scene.home.project, env=environment(scene.home, scene.model),
        capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Printed." in done.stdout
    # All its hooks came through: Stop before SessionEnd, which is the last that we hear of it.
    facts = until(lambda: "SessionEnded" in (told := scene.yourcall.facts()) and told)
    assert "PromptRaised" not in facts


def test_a_failed_turn_is_a_problem_with_what_to_do(scene: Scene) -> None:
    broke = error(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
    claude = scene.ask([broke])
    problem = scene.yourcall.pause("problem")
    assert "credit" in problem["title"].lower() + problem["body"].lower()
    claude.say(scene.model.script("again", [text("Back.")]))
    scene.yourcall.wait_state(problem["id"], "ended")


def test_a_subagents_prompt_names_it_and_goes_to_the_desk_when_somebody_is_there(scene: Scene) -> None:
    scene.model.script("below", [TOUCH], [text("The subagent is done.")])
    start = tool("Agent", description="Look around", prompt="DO below", subagent_type="general-purpose")
    claude = scene.ask([start], [text("Started it.")])
    prompt = scene.yourcall.wait_prompt()
    assert "general-purpose" in prompt["subagent"]
    # Somebody typed just now, so the desk has it: its dialog is on the screen (and may be answered there by us).
    assert not any(moment["detail"] == "held again" for moment in scene.yourcall.show(prompt["id"])["history"])
    assert [p for p in scene.yourcall.waiting() if p["kind"] == "ready"] == []
    claude.wait_dialog()
    claude.press("1")
    shown = scene.yourcall.wait_state(prompt["id"], "desk")
    assert until(lambda: scene.yourcall.show(prompt["id"])["outcome"]) == "allowed", shown
    until(lambda: scene.made("marker"))


def test_a_subagents_prompt_is_answered_from_afar_while_the_desk_is_empty(scene: Scene) -> None:
    scene.yourcall.configure("[claude]\naway_after_s = 0\n")
    scene.model.script("below", [TOUCH], [text("The subagent is done.")])
    start = tool("Agent", description="Look around", prompt="DO below", subagent_type="general-purpose")
    scene.ask([start], [text("Started it.")])
    prompt = scene.yourcall.wait_prompt()
    assert prompt["held"]
    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]))
    assert scene.made("marker")


def test_the_mode_is_told_and_follows_the_person(scene: Scene) -> None:
    words = scene.model.script("hello", [text("Hello.")])
    claude = start_claude(
        scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "acceptEdits")
    )
    claude.say(words)
    scene.yourcall.pause("ready")
    (session,) = scene.yourcall.run("sessions", "--json").json
    assert session["permission_mode"] == "acceptEdits"


def test_ask_brings_the_dialog_back_in_auto_mode(scene: Scene) -> None:
    said = scene.yourcall.run("setup", "claude", "--yes", "--cli", str(scene.binary), "--ask", "Bash")
    assert said.code == 0, said
    words = scene.model.script("work", [TOUCH], [text("Made it.")])
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "auto"))
    claude.say(words)
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    assert prompt["permission_mode"] == "auto"
    assert not scene.made("marker")
    assert scene.yourcall.run("answer", prompt["id"], "allow").code == 0
    assert scene.made("marker")

    before = scene.home.settings.read_text()
    again = scene.yourcall.run("setup", "claude", "--diff", "--cli", str(scene.binary))
    assert "PreToolUse" not in again.out  # an earlier --ask stays unless it is taken back
    assert scene.yourcall.run("setup", "claude", "--yes", "--no-ask", "--cli", str(scene.binary)).code == 0
    assert "PreToolUse" in before
    assert "PreToolUse" not in scene.home.settings.read_text()
