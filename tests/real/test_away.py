"""Weeks of outages in minutes: after each, yourcall says what the agent's screen, files and processes say."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.claude import Claude
    from kit.scene import Scene

NOTICED_S = 4.0  # a stop that is shorter than this loses nothing: hooks wait at the socket


class Outages:
    """yourcall is away in one of these ways, and comes back."""

    def __init__(self, scene: Scene) -> None:
        self.yourcall, self.how, self.since = scene.yourcall, "", 0.0

    def begin(self, how: str) -> None:
        self.how, self.since = how, time.monotonic()
        match how:
            case "killed":
                self.yourcall.kill()
            case "down":
                self.yourcall.stop()
            case "hung":
                self.yourcall.signal(signal.SIGSTOP)
            case _:
                pass

    def end(self) -> None:
        if self.how == "hung":
            until(lambda: time.monotonic() - self.since > NOTICED_S, what="a stop that is noticed")
            self.yourcall.signal(signal.SIGCONT)
        elif self.how:
            self.yourcall.start()
        self.how = ""


def truth_is_told(scene: Scene, claude: Claude, said: str, asked: int) -> None:
    """One session, at rest; one prompt, which says so; and every request is known to have been allowed."""

    def told() -> bool:
        sessions: list[dict[str, Any]] = scene.yourcall.http("GET", "/api/sessions")[1]
        everything: list[dict[str, Any]] = scene.yourcall.http("GET", "/api/prompts?all=1&limit=500")[1]
        waiting = [(p["kind"], p["body"]) for p in scene.yourcall.waiting()]
        requests = [
            (p["state"] in ("desk", "confirmed"), p["outcome"]) for p in everything if p["kind"] == "permission"
        ]
        return (
            [(s["state"], s["pid"]) for s in sessions] == [("idle", claude.pid)]
            and waiting == [("ready", said)]
            and set(requests) == {(True, "allowed")}
            and len(requests) <= asked
        )

    shown = lambda: str((said, scene.yourcall.http("GET", "/api/prompts?all=1")[1]))  # noqa: E731
    until(told, what="the truth", show=shown)


def away(scene: Scene, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    claude.wait_ready()
    outages = Outages(scene)
    for number in range(rounds):
        call = tool("Bash", command=f"touch made{number}", description=f"Round {number}")
        words = scene.model.script(f"round{number}", [call], [text(f"Done {number}.")])
        how, when = (
            chance.choice(("killed", "down", "hung", "")),
            chance.choice(("before", "while asked", "after")),
        )
        if when == "before":
            outages.begin(how)
        claude.say(words)
        claude.wait_dialog()
        if when == "while asked":
            outages.begin(how)
        if outages.how or chance.random() < 0.5:
            claude.press("1")
        else:
            assert scene.yourcall.run("answer", scene.yourcall.wait_prompt()["id"], "allow").code == 0
        if when == "after":
            outages.begin(how)
        until(lambda number=number: scene.made(f"made{number}"), what="the command")
        claude.wait_status("idle")
        outages.end()
        truth_is_told(scene, claude, f"Done {number}.", number + 1)
    outages.begin("hung")
    claude.kill()
    outages.end()
    until(lambda: scene.yourcall.http("GET", "/api/sessions")[1] == [], what="the end of the session")
    until(lambda: scene.yourcall.waiting() == [], what="the end of its prompts")


def test_a_day_of_outages_leaves_the_truth(scene: Scene) -> None:
    away(scene, 4, 3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_two_weeks_of_outages_leave_the_truth(scene: Scene, seed: int) -> None:
    away(scene, 40, seed)
