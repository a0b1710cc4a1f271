"""The real Qwen Code, longer: races with the desk, several requests at once, either side killed, and no setup
at all."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from kit.qwen import shell
from kit.turns import text, tool
from real.qwen_scene import bare, home, model, qwen_bin, start, watch, yourcall
from real.test_qwen import prompt_besides

if TYPE_CHECKING:
    from kit.chat_server import ChatServer
    from kit.qwen import Qwen, QwenHome
    from kit.yourcall import Yourcall

__all__ = ["bare", "home", "model", "qwen_bin", "start", "yourcall"]  # fixtures

pytestmark = pytest.mark.soak

RACES = 50
NEAR_S = 0.06
READ_S = 0.5  # so often the CLI looks for answers


def test_the_desk_is_first_and_parallel_requests_are_never_mixed(
    start: Any, yourcall: Yourcall, model: ChatServer
) -> None:
    words = model.script("work", [shell("touch one"), shell("mkdir two"), shell("mkdir three")], [text("Done.")])
    qwen = start()
    qwen.say(words)
    every = until(lambda: len(found := yourcall.prompts()) == 3 and found, what="three prompts")
    by_title = {p["title"]: p for p in every}
    third = by_title["Run: mkdir three"]
    done = yourcall.run("answer", third["id"], "allow", "--no-wait")  # nothing runs until all are decided
    assert done.code in (0, 6), done
    qwen.press("1")
    first = until(lambda: (p := yourcall.show(by_title["Run: touch one"]["id"]))["state"] == "desk" and p)
    status, late = yourcall.http("POST", f"/api/prompts/{first['id']}/answer", {"option": "deny", "wait": 5})
    assert (status, late["result"]) == (409, "too_late")
    assert yourcall.run("answer", by_title["Run: mkdir two"]["id"], "allow").code == 0
    qwen.wait_ready()
    assert (qwen.made("one"), qwen.made("two"), qwen.made("three")) == (True, True, True)
    outcomes = {p["title"]: yourcall.show(p["id"])["state"] for p in every}
    assert outcomes == {"Run: touch one": "desk", "Run: mkdir two": "confirmed", "Run: mkdir three": "confirmed"}


def test_a_plan_is_approved_by_one_digit(start: Any, yourcall: Yourcall, model: ChatServer) -> None:
    plan = tool("exit_plan_mode", plan="1. Extract the parser\n2. Move the tests")
    qwen = start(args=["--approval-mode", "plan"])
    qwen.say(model.script("plan", [plan], [text("Begun.")]))
    prompt = prompt_besides(yourcall)
    assert (prompt["kind"], prompt["body"]) == ("plan", "1. Extract the parser\n2. Move the tests")
    effects = [o["effect"] for o in prompt["questions"][0]["options"]]
    assert effects == ["allow_once", "allow_session", "allow_once", "deny"]
    done = yourcall.run("answer", prompt["id"], "allow")
    assert done.code == 0, done
    until(lambda: "Begun." in qwen.screen(), show=qwen.screen)


def test_killing_either_side_leaves_the_desk_as_it_was(start: Any, yourcall: Yourcall, model: ChatServer) -> None:
    """The daemon dies while a dialog is open, comes back and answers the same prompt; then the agent dies."""
    words = model.script("work", [shell("touch one")], [shell("touch two")], [text("Never said.")])
    qwen = start()
    qwen.say(words)
    first = prompt_besides(yourcall)
    yourcall.kill()
    assert "touch one" in qwen.wait_dialog()
    yourcall.start()
    again = prompt_besides(yourcall)
    assert again["id"] == first["id"]
    done = yourcall.run("answer", first["id"], "allow")
    assert done.code == 0, done
    second = prompt_besides(yourcall, first["id"])
    pid = (qwen.registered() or {})["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: yourcall.show(second["id"])["state"] == "ended")
    assert not qwen.made("two")


def test_without_setup_it_is_found_and_its_dialogs_are_read(
    start: Any, bare: Yourcall, model: ChatServer, home: QwenHome
) -> None:
    """No hooks and no channel: the registry names the session, and one digit answers what the screen shows
    whole."""
    bare.stop()
    bare.discovery = "all"
    (bare.home / "config.toml").write_text(f"[discovery]\nroot_pid = {os.getpid()}\n")
    bare.start()
    words = model.script("work", [shell("touch one")], [text("Made it.")])
    qwen = start()
    qwen.wait_ready()
    watch(bare, qwen)
    qwen.say(words)
    prompt = prompt_besides(bare)
    assert prompt["title"] == "Shell: touch one"
    assert prompt["questions"][0]["options"][0]["label"] == "Yes, allow once"
    done = bare.run("answer", prompt["id"], "allow")
    assert done.code == 0, done
    until(lambda: qwen.made("one"))
    qwen.wait_ready()


@pytest.mark.timeout(1500)
def test_of_the_desk_and_the_phone_exactly_one_decides(start: Any, yourcall: Yourcall, model: ChatServer) -> None:
    """The desk's Escape against a yes by id, within 60 ms of the moment when the CLI reads it: it looks every
    500 ms. What ran, and what is said of it afterwards, must always be the same thing."""
    qwen = start()
    wins = {"desk": 0, "phone": 0}
    known: list[str] = []
    for number in range(RACES):
        known.append(race(qwen, yourcall, model, number, known))
        wins[winner(qwen, yourcall, known[-1], number)] += 1
        qwen.wait_ready()
    assert min(wins.values()) > 0, wins


def race(qwen: Qwen, yourcall: Yourcall, model: ChatServer, number: int, known: list[str]) -> str:
    """Both answer at nearly the same moment; the prompt's id."""
    qwen.say(model.script(f"race{number}", [shell(f"touch made{number}")], [text("Said.")]))
    prompt = prompt_besides(yourcall, *known)["id"]
    qwen.wait_dialog()
    delay = NEAR_S * 2 * number / (RACES - 1) + READ_S * (number % 5) / 5
    desk = threading.Timer(delay, qwen.terminal.key, ("Escape",))
    desk.start()
    yourcall.http("POST", f"/api/prompts/{prompt}/answer", {"option": "allow", "wait": 20})
    desk.join()
    return prompt


def winner(qwen: Qwen, yourcall: Yourcall, prompt_id: str, number: int) -> str:
    """Who decided, by what yourcall says; it must be what happened."""
    shown = until(lambda: (p := yourcall.show(prompt_id))["outcome"] and p, what=f"the end of race {number}")
    made = f"made{number}"
    if shown["state"] == "confirmed":
        assert shown["outcome"] == "allowed"
        until(lambda: qwen.made(made), what=made)
        return "phone"
    qwen.wait_ready()
    assert (shown["state"], shown["outcome"], qwen.made(made)) == ("desk", "denied", False), shown
    return "desk"


def test_a_request_is_noticed_within_300_ms_of_its_dialog(
    start: Any, yourcall: Yourcall, model: ChatServer
) -> None:
    """From the first look at the pane that shows the dialog, a hundred a second, to the row in yourcall's log."""
    qwen = start()
    late: list[float] = []
    known: list[str] = []
    for number in range(15):
        qwen.say(model.script(f"soon{number}", [shell(f"touch soon{number}")], [text("Said.")]))
        until(lambda: "Waiting for user confirmation" in qwen.screen(), every=0.01, show=qwen.screen)
        drawn = time.time()
        known.append(prompt_besides(yourcall, *known)["id"])
        late.append(1000 * (yourcall.show(known[-1])["history"][0]["at"] - drawn))
        assert yourcall.run("answer", known[-1], "allow").code == 0
        qwen.wait_ready()
    print(f"noticed: median {statistics.median(late):.0f} ms, longest {max(late):.0f} ms, n={len(late)}")
    assert statistics.median(late) <= 300
