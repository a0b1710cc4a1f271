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
    from kit.claude import Claude
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


def waiting_with(scene: Scene, *bodies: str) -> None:
    until(
        lambda: [p["body"] for p in scene.yourcall.waiting()] == list(bodies) and looked_again(scene),
        what=f"{bodies} to wait",
        show=lambda: str(scene.yourcall.http("GET", "/api/prompts?all=1")[1]),
    )


def looked_again(scene: Scene) -> bool:
    log = (scene.yourcall.home / "log" / "yourcall.log").read_text()
    return "looked at every session" in log.rpartition("listening on")[2]


def turn_meanwhile(scene: Scene, claude: Claude, said: str) -> None:
    """So short a turn that Claude's session file may not tell of it."""
    scene.yourcall.kill()
    claude.say(scene.model.script(said.lower().replace(" ", "_").rstrip("."), [text(said)]))
    until(lambda: any(said in str(line["message"]) for line in assistant(scene)), what="a turn")
    claude.wait_status("idle")
    scene.yourcall.start()


def assistant(scene: Scene) -> list[dict[str, Any]]:
    return [line for line in scene.home.lines() if line.get("type") == "assistant"]


def test_short_turns_that_ended_while_yourcall_was_down_are_each_told(scene: Scene) -> None:
    """One after the other, and after one that was dismissed; and none of them twice."""
    claude = scene.ask([text("Said 0.")])
    waiting_with(scene, "Said 0.")
    for said in ("Said 1.", "Said 2."):
        turn_meanwhile(scene, claude, said)
        waiting_with(scene, said)
    assert scene.yourcall.run("dismiss", ready(scene)["id"]).code == 0
    turn_meanwhile(scene, claude, "Said 3.")
    waiting_with(scene, "Said 3.")
    assert scene.yourcall.run("dismiss", ready(scene)["id"]).code == 0
    scene.yourcall.kill()
    scene.yourcall.start()
    waiting_with(scene)


def test_a_turn_that_was_stopped_while_yourcall_was_down_leaves_nothing_ready(scene: Scene) -> None:
    claude = scene.ask([text("Said 0.")])
    waiting_with(scene, "Said 0.")
    scene.yourcall.kill()
    claude.say(scene.model.script("stopped", [TOUCH], [text("Never said.")]))
    claude.wait_dialog()
    claude.press("Escape")
    claude.wait_status("idle")
    scene.yourcall.start()
    waiting_with(scene)
    assert session(scene)["state"] == "idle"
    turn_meanwhile(scene, claude, "Said 1.")
    waiting_with(scene, "Said 1.")
