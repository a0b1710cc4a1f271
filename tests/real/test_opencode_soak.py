"""The real opencode and Kilo, at length: races, requests side by side, sub-agents, stops, sudden deaths."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import statistics
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from kit.opencode import DIALOG, shell
from kit.poll import until
from kit.turns import text, tool
from real.opencode_scene import home, model, scene

if TYPE_CHECKING:
    from kit.opencode import Opencode
    from real.opencode_scene import Scene

__all__ = ["home", "model", "scene"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

GAPS_MS = (0, 10, 20, 30, 40, 50, 60)


@pytest.fixture(params=["opencode", "kilo"])
def app(request: pytest.FixtureRequest) -> str:
    return request.param


def command(number: int) -> str:
    """Kilo asks for none that it takes for harmless."""
    return f"python3 -c \"open('marker{number}','w')\""


def turn(scene: Scene, cli: Opencode, number: int) -> dict[str, Any]:
    cli.say(scene.model.script(f"race{number}", [shell(command(number))]))
    prompt = scene.yourcall.wait_prompt()
    cli.asks()
    return prompt


def about(scene: Scene, command: str) -> dict[str, Any]:
    """The prompt of this command: an earlier one may be on the list until the plugin has told of its end."""
    return until(lambda: next((p for p in scene.yourcall.prompts() if command in p["body"]), None), what=command)


def post(scene: Scene, prompt: dict[str, Any], option: str) -> tuple[int, Any]:
    return scene.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": option, "sure": True})


def test_the_desk_against_the_phone(scene: Scene) -> None:
    """A yes at the desk, a no from afar: one outcome, it is the one that is told, and the loser is told."""
    cli = scene.start()
    won: list[str] = []
    for number in range(50):
        prompt = turn(scene, cli, number)
        said: list[tuple[int, Any]] = []
        acts = [lambda: cli.pane.key("Enter"), lambda p=prompt, to=said: to.append(post(scene, p, "reject"))]
        acts = acts if number % 2 else acts[::-1]
        later = threading.Timer(GAPS_MS[number % len(GAPS_MS)] / 1000, acts[1])
        later.start()
        acts[0]()
        later.join()
        shown = until(
            lambda p=prompt: (s := scene.yourcall.show(p["id"]))["state"] in ("confirmed", "desk") and s,
            show=lambda p=prompt: scene.yourcall.show(p["id"]),
        )
        scene.yourcall.pause("ready")
        assert cli.made(f"marker{number}") == (shown["outcome"] == "allowed"), shown
        assert (shown["state"], shown["outcome"]) in (("confirmed", "denied"), ("desk", "allowed")), shown
        (told,) = said
        assert shown["state"] == "confirmed" or "desk" in str(shown["history"]) + str(told), (shown, told)
        won.append(shown["state"])
        cli.asks_no_more()
        cli.pane.settle()
        cli.pane.key("C-u")  # a key that came late is a letter in the composer
    print({who: won.count(who) for who in ("confirmed", "desk")})
    assert len(won) == 50


def test_requests_side_by_side_are_never_mixed(scene: Scene) -> None:
    cli = scene.start()
    for round in range(5):
        names = [round * 10 + each for each in range(3)]
        cli.say(scene.model.script(f"side{round}", [shell(command(name)) for name in names]))
        scene.yourcall.wait_prompt(3)
        asked = {p["action"]["command"]: p for p in scene.yourcall.prompts()}
        middle = asked[command(names[1])]
        assert post(scene, middle, "once")[0] in (200, 202)
        assert scene.settled(middle["id"]) == ("confirmed", "allowed")
        until(lambda n=names: cli.made(f"marker{n[1]}"), what="the file of the middle one")
        assert not cli.made(f"marker{names[0]}")
        assert not cli.made(f"marker{names[2]}")
        last = asked[command(names[2])]
        assert post(scene, last, "reject")[0] in (200, 202)
        assert scene.settled(last["id"]) == ("confirmed", "denied")
        # Its own rule: a rejection rejects whatever else is asked in the session.
        first = asked[command(names[0])]
        assert scene.settled(first["id"]) == ("desk", "denied")
        scene.yourcall.pause("ready")
        assert not cli.made(f"marker{names[0]}")


def began_at(scene: Scene, command: str) -> float:
    """When the program began this call, as it keeps it in its own database."""
    file = scene.home.path / ".local" / "share" / scene.home.app / f"{scene.home.app}.db"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
        parts = [json.loads(data) for (data,) in base.execute("SELECT data FROM part")]
    (call,) = [p for p in parts if p["type"] == "tool" and p["state"]["input"].get("command") == command]
    return call["state"]["time"]["start"] / 1000


def test_a_request_is_noticed_at_once(scene: Scene) -> None:
    """From the moment at which the program begins the call, by its own clock, to the prompt."""
    cli = scene.start()
    took: list[float] = []
    for number in range(15):
        prompt = turn(scene, cli, number)
        assert post(scene, prompt, "once")[0] in (200, 202)
        assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
        took.append(prompt["opened_at"] - began_at(scene, command(number)))
        scene.yourcall.pause("ready")
    print(f"noticed after {statistics.median(took) * 1000:.0f} ms, {max(took) * 1000:.0f} at most")
    assert statistics.median(took) < 0.3


def test_a_sub_agent_asks_in_the_session_it_works_for(scene: Scene) -> None:
    child = scene.model.script("child", [shell(command(1))], [text("Child done.")])
    given = {"description": "Child work", "prompt": child, "subagent_type": "general"}
    cli = scene.ask([tool("task", **given)], [text("All is done.")])
    prompt = scene.yourcall.wait_prompt()
    assert prompt["subagent"].startswith("Child work")
    session = scene.session()
    assert prompt["session_id"] == session["id"]
    assert post(scene, prompt, "once")[0] in (200, 202)
    assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
    assert scene.yourcall.pause("ready")["body"] == "All is done."
    assert cli.made("marker1")
    task = next(each for each in scene.entries(session["id"]) if each.get("tool") == "task" and each["child"])
    path = f"/api/sessions/{session['id']}/conversation?subagent={task['child']}"
    status, page = scene.yourcall.http("GET", path)
    assert status == 200, page
    assert "Child done." in str(page["entries"])


def test_a_stop_leaves_nothing_that_could_still_run(scene: Scene) -> None:
    cli = scene.start()
    for number in range(5):
        prompt = turn(scene, cli, number)
        status, said = scene.yourcall.http("POST", f"/api/sessions/{prompt['session_id']}/interrupt", {})
        assert status in (200, 202), said
        assert scene.settled(prompt["id"])[0] == "ended"
        cli.asks_no_more()
        status, said = post(scene, prompt, "once")
        assert status == 409, said
        assert scene.yourcall.pause("ready")["body"] == "The turn was stopped."
        cli.pane.settle()
        assert not cli.made(f"marker{number}")


def test_the_daemon_is_killed_and_the_desk_goes_on(scene: Scene) -> None:
    cli = scene.start()
    turn(scene, cli, 0)
    scene.yourcall.kill()
    before = cli.pane.settle()
    assert DIALOG in before
    cli.pane.key("Enter")
    until(lambda: cli.made("marker0"), what="the file")
    cli.asks_no_more()
    cli.pane.settle()
    cli.say(scene.model.script("second", [shell(command(1))]))
    cli.asks()
    scene.yourcall.start()
    prompt = about(scene, command(1))
    assert post(scene, prompt, "once")[0] in (200, 202)
    assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
    until(lambda: cli.made("marker1"), what="the file")


def test_a_request_outlives_the_daemon(scene: Scene) -> None:
    """It is the same prompt afterwards, and what the desk said meanwhile is known."""
    cli = scene.start()
    for number, at_desk in enumerate((False, True)):
        prompt = turn(scene, cli, number)
        scene.yourcall.kill()
        if at_desk:
            cli.pane.key("Enter")
            until(lambda n=number: cli.made(f"marker{n}"), what="the file")
        scene.yourcall.start()
        if at_desk:
            assert scene.settled(prompt["id"]) == ("desk", "allowed")
        else:
            until(lambda p=prompt: scene.yourcall.show(p["id"])["held"], what="the plugin")
            assert scene.yourcall.wait_prompt()["id"] == prompt["id"]
            assert post(scene, prompt, "once")[0] in (200, 202)
            assert scene.settled(prompt["id"]) == ("confirmed", "allowed")
            until(lambda n=number: cli.made(f"marker{n}"), what="the file")
        scene.yourcall.pause("ready")


def test_a_daemon_that_hangs_delays_nothing(scene: Scene) -> None:
    cli = scene.start()
    turn(scene, cli, 0)
    scene.yourcall.signal(signal.SIGSTOP)
    cli.pane.key("Enter")
    until(lambda: cli.made("marker0"), what="the file")
    cli.asks_no_more()
    cli.pane.settle()
    cli.say(scene.model.script("second", [shell(command(1))]))
    cli.asks()
    scene.yourcall.signal(signal.SIGCONT)
    prompt = about(scene, command(1))
    assert post(scene, prompt, "once")[0] in (200, 202)
    assert scene.settled(prompt["id"]) == ("confirmed", "allowed")


def test_the_agent_is_killed(scene: Scene) -> None:
    cli = scene.start()
    prompt = turn(scene, cli, 0)
    os.kill(cli.pane.pid, signal.SIGKILL)
    assert scene.settled(prompt["id"])[0] == "ended"
    until(lambda: not scene.sessions(), what="the end of the session")
    assert not cli.made("marker0")


def test_an_instruction_keeps_the_persons_agent(scene: Scene) -> None:
    """In plan mode it stays a plan; without its agent it would be carried out."""
    cli = scene.start()
    cli.pane.key("Tab")
    cli.pane.wait_until(lambda screen: "Plan" in screen)
    cli.say("Make a plan.")
    scene.yourcall.pause("ready")
    session = scene.session()
    status, said = scene.yourcall.http(
        "POST", f"/api/sessions/{session['id']}/send", {"text": "And the next step?"}
    )
    assert status in (200, 202), said
    until(lambda: any("And the next step?" in str(r) for r in scene.model.requests), what="the instruction")
    last = next(r for r in reversed(scene.model.requests) if "And the next step?" in str(r))
    assert "plan" in str(last["messages"]).lower()
    assert scene.session()["permission_mode"] == "plan"
