"""The desk of a real Codex and the phone answer at the same moment: one outcome, and the world agrees."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from kit.codex import start_codex
from kit.codex_scene import CodexScene, joined
from kit.poll import until
from kit.responses_server import call, escalated, patch, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.codex import Codex
    from kit.responses_server import Step
    from kit.terminal import Tmux

GAPS_MS = (0, 10, 30, 60)


def rounds(short: int, long: int) -> list[object]:
    """The same race a few times in `make test`, and many times in `make soak`."""
    patient = (pytest.mark.soak, pytest.mark.timeout(20 * long))  # a race takes about five seconds
    return [pytest.param(short, id=str(short)), pytest.param(long, id=str(long), marks=patient)]


@pytest.fixture
def scene(tmp_path: Path, fetched: Callable[..., Path], tmux: Tmux) -> Iterator[CodexScene]:
    with joined(tmp_path, fetched("codex"), tmux) as made:
        yield made


@pytest.mark.parametrize("count", rounds(3, 60))
def test_a_yes_at_the_desk_against_a_no_from_afar(scene: CodexScene, count: int) -> None:
    codex = start_codex(scene.tmux, scene.binary, scene.home)
    won = [race(scene, codex, n, ("desk", "phone")[n % 2], GAPS_MS[n % len(GAPS_MS)]) for n in range(count)]
    print({who: won.count(who) for who in ("desk", "phone")})
    assert len(won) == count


def race(scene: CodexScene, codex: Codex, number: int, first: str, gap_ms: int) -> str:
    marker = f"marker{number}"
    codex.say(scene.model.script(f"race{number}", [escalated(f"touch {marker}")], [say("Done.")]))
    prompt = scene.prompt(kind="permission")
    codex.wait_dialog()
    acts = [lambda: codex.terminal.key("y"), lambda: _deny(scene, prompt["id"])]
    acts = acts if first == "desk" else acts[::-1]
    later = threading.Timer(gap_ms / 1000, acts[1])
    later.start()
    acts[0]()
    later.join()
    shown = until(
        lambda: (s := scene.yourcall.show(prompt["id"]))["state"] in ("confirmed", "desk") and s["outcome"] and s,
        30,
        show=lambda: scene.yourcall.show(prompt["id"]),
    )
    scene.prompt(prompt, kind="ready")
    # Whoever won, what is told is what happened.
    assert scene.made(marker) == (shown["outcome"] == "allowed"), shown
    assert (shown["state"], shown["outcome"]) in (("confirmed", "denied"), ("desk", "allowed")), shown
    codex.terminal.settle(0.4)
    codex.terminal.key("C-u")  # a key that came late is a letter in the input box
    until(lambda: not scene.yourcall.prompts())
    return "desk" if shown["state"] == "desk" else "phone"


def _deny(scene: CodexScene, prompt_id: str) -> None:
    status, said = scene.yourcall.http("POST", f"/api/prompts/{prompt_id}/answer", {"option": "deny"})
    assert status in (200, 202, 409), said


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [15])
def test_a_server_that_dies_as_the_answer_is_written(scene: CodexScene, count: int) -> None:
    """Never told as done unless it was; what is not known is told as unsure, or as open at a desk that is gone."""
    seen: list[dict[str, Any]] = []
    for number in range(count):
        codex = start_codex(scene.tmux, scene.binary, scene.home)
        marker = f"marker{number}"
        codex.say(scene.model.script(f"dies{number}", [escalated(f"touch {marker}")], [say("Done.")]))
        prompt = scene.prompt(*seen, kind="permission")
        seen.append(prompt)
        path = f"/api/prompts/{prompt['id']}/answer"
        answering = threading.Thread(target=scene.yourcall.http, args=("POST", path, {"option": "allow"}))
        answering.start()
        time.sleep(0.002 * number)  # the moment that is tried, not one that is waited for
        scene.home.kill_server()
        answering.join()
        codex.close()
        final = ("confirmed", "unsure", "ended", "desk")  # a server that stays away is given up after 20 s
        shown = scene.yourcall.wait_state(prompt["id"], *final)
        assert shown["state"] != "confirmed" or scene.made(marker), shown
        assert shown["outcome"] != "allowed" or scene.made(marker), shown
        scene.home.close()
        (scene.home.config / "app-server-daemon/daemon.pid").unlink(missing_ok=True)


@dataclass
class Kind:
    """What is asked; how the desk says yes, and how the phone says no. `happened`: was it the desk's yes?"""

    asks: Callable[[CodexScene, int], Step]
    yes: dict[str, Any]
    no: dict[str, Any]
    happened: Callable[[CodexScene, int, str], bool]
    proved: bool = True


def outside(scene: CodexScene, number: int) -> Path:
    return scene.home.path / f"outside{number}.txt"


WISH = {"network": {"enabled": True}}
KINDS = {
    "change": Kind(
        lambda scene, n: patch(f"*** Add File: {outside(scene, n)}", "+hello"),
        {"decision": "accept"},
        {"option": "deny"},
        lambda scene, n, told: outside(scene, n).exists(),
    ),
    "permissions": Kind(
        lambda scene, n: call("request_permissions", reason="To fetch.", permissions=WISH),
        {"permissions": WISH, "scope": "turn"},
        {"option": "deny"},
        lambda scene, n, told: '"enabled":true' in told,
    ),
    "tool": Kind(
        lambda scene, n: call("add_ticket", namespace="mcp__demo"),
        {"action": "accept", "content": {}},
        {"option": "deny"},
        lambda scene, n, told: "ticket 42 created" in told,
    ),
    "form": Kind(
        lambda scene, n: call("book_table", namespace="mcp__demo"),
        {"action": "accept", "content": {"people": 2}},
        {"choices": {"action": ["decline"]}},
        lambda scene, n, told: '"people": 2' in told,
        proved=False,
    ),
}


@pytest.mark.parametrize("count", rounds(3, 60))
@pytest.mark.parametrize("name", KINDS)
def test_a_yes_of_another_client_against_a_no_from_afar(scene: CodexScene, name: str, count: int) -> None:
    """The other kinds of request: what is told is what happened, and nothing is told that nobody knows."""
    kind = KINDS[name]
    desk, _ = scene.begin(*([kind.asks(scene, n)] for n in range(count)), [say("All asked.")])
    seen: list[dict[str, Any]] = []
    if name == "form":  # its tool is asked for first
        request, prompt = desk.asked(), scene.prompt()
        seen.append(prompt)
        desk.reply(request["id"], {"action": "accept", "content": {}, "_meta": {"persist": "session"}})
    won: list[str] = []
    for number in range(count):
        request, prompt = desk.asked(), scene.prompt(*seen)
        seen.append(prompt)
        path = f"/api/prompts/{prompt['id']}/answer"
        ours = threading.Thread(target=scene.yourcall.http, args=("POST", path, kind.no))
        ours.start()
        time.sleep(0.002 * (number % 8))  # the moment that is tried, not one that is waited for
        desk.reply(request["id"], kind.yes)
        ours.join()
        told = scene.model.wait_for(lambda m, n=number: len(m.outputs()) > n and m.outputs()[n])
        yes = kind.happened(scene, number, told)
        ends = ("confirmed", "desk") if kind.proved else ("accepted", "desk")
        shown = scene.yourcall.wait_state(prompt["id"], *ends)
        if kind.proved:
            shown = until(lambda id=prompt["id"]: (s := scene.yourcall.show(id))["outcome"] and s)
            assert shown["outcome"] == ("allowed" if yes else "denied"), (told, shown)
            assert (shown["state"] == "desk") == yes, (told, shown)
        else:
            assert shown["state"] == "accepted" or yes, (told, shown)
        won.append("desk" if yes else "phone")
    print({who: won.count(who) for who in ("desk", "phone")})
    assert scene.prompt(*seen)["body"] == "All asked."


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [30])
def test_two_answers_to_a_question_at_once_are_one_and_the_right_one_is_named(
    scene: CodexScene, count: int
) -> None:
    options = [{"label": label, "description": ""} for label in ("Red", "Blue")]
    question = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    turns = [[call("request_user_input", questions=[question])] for _ in range(count)]
    desk, _ = scene.begin(*turns, [say("All asked.")])
    seen: list[dict[str, Any]] = []
    won: list[str] = []
    for number in range(count):
        request, prompt = desk.asked(), scene.prompt(*seen)
        seen.append(prompt)
        path = f"/api/prompts/{prompt['id']}/answer"
        ours = threading.Thread(target=scene.yourcall.http, args=("POST", path, {"option": "Blue"}))
        ours.start()
        time.sleep(0.002 * (number % 8))  # the moment that is tried, not one that is waited for
        desk.reply(request["id"], {"answers": {"colour": {"answers": ["Red"]}}})
        ours.join()
        told = scene.model.wait_for(lambda m, n=number: len(m.outputs()) > n and m.outputs()[n])
        shown = scene.yourcall.wait_state(prompt["id"], "confirmed", "desk")
        assert (shown["state"] == "confirmed") == ("Blue" in told), (told, shown)
        won.append(shown["state"])
    print({state: won.count(state) for state in ("confirmed", "desk")})
