"""After yourcall was away, sessions and prompts are as the agents' own files and processes say."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
LONG = tool("Bash", command="while [ ! -e go ]; do sleep 0.05; done; touch ended", description="Wait for go")


def session(scene: Scene) -> dict[str, Any]:
    (found,) = scene.yourcall.http("GET", "/api/sessions")[1]
    return found


def ready(scene: Scene) -> dict[str, Any]:
    return until(
        lambda: next((p for p in scene.yourcall.waiting() if p["kind"] == "ready"), None),
        what="a session that is ready",
        show=lambda: str(scene.yourcall.http("GET", "/api/sessions")[1]),
    )


def test_a_turn_that_ended_while_yourcall_was_down_leaves_the_session_ready(scene: Scene) -> None:
    claude = scene.ask([LONG], [text("All done.")])
    prompt = scene.yourcall.wait_prompt()
    scene.yourcall.run("answer", prompt["id"], "allow", "--no-wait")
    scene.yourcall.wait_state(prompt["id"], "accepted", "confirmed")
    scene.yourcall.kill()
    (scene.home.project / "go").touch()
    claude.wait_status("idle")
    scene.yourcall.start()
    rested = ready(scene)
    assert (rested["body"], rested["held"], session(scene)["state"]) == ("All done.", True, "idle")
    scene.yourcall.wait_state(prompt["id"], "confirmed")
    more = scene.model.script("more", [text("And more.")])
    assert scene.yourcall.run("answer", rested["id"], "--text", more).code == 0
    until(lambda: ready(scene)["body"] == "And more.", what="the next turn")


def test_what_was_answered_at_the_desk_while_yourcall_was_down_leaves_the_session_ready(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    scene.yourcall.kill()
    claude.press("1")
    claude.wait_status("idle")
    scene.yourcall.start()
    assert ready(scene)["body"] == "Made it."
    assert scene.yourcall.wait_state(prompt["id"], "desk")["answered_by"] == "desk"
    assert session(scene)["state"] == "idle"
    assert len(scene.yourcall.waiting()) == 1


def test_a_session_that_died_while_yourcall_stood_still_leaves_nothing_behind(scene: Scene) -> None:
    claude = scene.ask([text("First.")])
    first = ready(scene)
    scene.yourcall.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    claude.kill()
    until(lambda: time.monotonic() - stopped > 5, what="a stop that is noticed")
    scene.yourcall.signal(signal.SIGCONT)
    scene.yourcall.wait_state(first["id"], "ended")
    assert (scene.yourcall.waiting(), scene.yourcall.http("GET", "/api/sessions")[1]) == ([], [])


def test_a_ready_prompt_that_its_hook_told_of_after_the_end_goes_by_itself(scene: Scene) -> None:
    """The hook of a turn's end waits at the socket while its session dies."""
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    claude.wait_ready()
    scene.yourcall.signal(signal.SIGSTOP)
    claude.say(scene.model.script("one", [text("Said.")]))
    until(lambda: claude.hooks() or claude.status == "idle", what="its turn")
    os.kill(claude.pid, signal.SIGKILL)
    scene.yourcall.signal(signal.SIGCONT)
    until(lambda: scene.yourcall.http("GET", "/api/sessions")[1] == [], what="the end of the session")
    until(lambda: scene.yourcall.waiting() == [], what="the end of its prompts")


def test_dismissing_takes_a_prompt_off_the_list_and_answers_nothing(scene: Scene) -> None:
    claude = scene.ask([text("First.")])
    rested = ready(scene)
    said = scene.yourcall.run("dismiss", rested["id"])
    assert said.code == 0, said
    assert scene.yourcall.waiting() == []
    shown = scene.yourcall.show(rested["id"])
    assert (shown["state"], shown["history"][-1]["detail"]) == ("ended", "dismissed; the agent was told nothing")
    claude.wait_status("idle")
    assert scene.yourcall.run("dismiss", rested["id"]).code == 1


def test_a_plan_without_a_file_is_confirmed(scene: Scene) -> None:
    scene.yourcall.run("status")
    words = scene.model.script("plan", [tool("ExitPlanMode", plan="1. Look\n2. Mend\n")], [text("Off I go.")])
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "plan"))
    claude.wait_ready()
    claude.say(words)
    prompt = until(lambda: next((p for p in scene.yourcall.waiting() if p["kind"] == "plan"), None), what="a plan")
    said = scene.yourcall.run("answer", prompt["id"], "approve")
    assert said.code == 0, (said, scene.yourcall.show(prompt["id"]), scene.home.tool_result_lines())
    assert scene.yourcall.show(prompt["id"])["state"] == "confirmed"
