"""A thumb answers what it was put on, and nothing that came under it since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phone_scene import Agent, give_all_scopes

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

WORKS = Path(__file__).resolve().parent.parent / "corpus" / "claude" / "working-slow-80x24" / "screen.txt"

# From here on no time passes for the page: what moves now has moved just now, however busy this machine is.
STILL = "performance.now = ((now) => () => now)(performance.now())"


def state(yc: Yourcall, prompt_id: str) -> str:
    return yc.http("GET", f"/api/prompts/{prompt_id}")[1]["state"]


def moved(page: Page, from_: float) -> dict[str, float]:
    return until(lambda: (to := page.box("Allow")) and to["y"] != from_ and to, what="the list to move")


def paused(yc: Yourcall, page: Page) -> None:
    assert yc.http("POST", "/api/pause")[0] == 200
    page.sees("Rules are paused")


def test_a_button_that_moved_as_the_banner_went_takes_no_press(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("banneraaa2", "npm test")
    paused(yc, page)
    before = page.find("Allow")
    page.js(STILL)
    assert yc.http("POST", "/api/resume")[0] == 200
    page.touch(moved(page, before["y"]), 0.01)
    until(lambda: page.js("document.querySelector('.nudged') !== null"), what="it to say so")
    assert state(yc, "banneraaa2") == "open"


def test_a_button_that_came_under_a_finger_is_not_pressed_by_it(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("fingeraaa2", "npm test")
    without = page.find("Allow")
    paused(yc, page)
    before = page.find("Allow")
    assert before["y"] != without["y"]
    page.js(STILL)
    where = {"x": without["x"] + without["width"] / 2, "y": without["y"] + 6}
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[where])
    assert yc.http("POST", "/api/resume")[0] == 200
    moved(page, before["y"])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.sees("Just moved.")
    assert state(yc, "fingeraaa2") == "open"


def test_a_hold_ends_with_the_page_it_was_on(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("heldaaaaa2", "rm -rf build")
    box = page.find("Hold to allow")
    page.js("setTimeout(() => (location.hash = '#/history'), 200)")  # as a tap on a notification does
    page.touch(box, 0.4)
    page.sees("Every answer, from here or your computer")
    page.js("new Promise((done) => setTimeout(done, 800))")  # longer than a hold takes
    assert state(yc, "heldaaaaa2") == "open"


def test_the_brake_is_not_let_go_by_a_tap_for_what_was_there_before(
    yc: Yourcall, agent: Agent, opens: Opens
) -> None:
    page = opens()
    agent.bash("brakeaaaa2", "npm test")
    page.find("Allow")
    page.js(STILL)
    paused(yc, page)
    page.touch(until(lambda: page.box("Resume"), what="the banner"), 0.01)
    page.tap("Settings")  # whatever the tap did is done
    page.sees("Rules decide nothing now")
    assert yc.http("GET", "/api/status")[1]["paused"] is True


def test_no_rule_is_made_by_a_tap_for_what_was_there_before(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens(height=1600)
    agent.bash("rulemade22", "npm test")
    page.js("location.hash = '#/p/rulemade22'")
    page.tap("More", ".head")
    page.find("Create rule…")
    page.js(STILL)
    page.touch(page.find("Create rule…"))
    page.touch(until(lambda: page.box("Add this rule"), what="the rule in words", show=page.text), 0.01)
    page.touch(until(lambda: page.box("Cancel"), what="the rule to be left", show=page.text))
    page.find("Create rule…")
    assert yc.http("GET", "/api/rules")[1]["rules"] == []


def test_a_device_is_not_unpaired_by_a_double_tap(yc: Yourcall, opens: Opens) -> None:
    page = opens("phone", width=360, height=740)
    give_all_scopes(yc, "phone")
    page.js("location.hash = '#/devices'")
    dots = page.find("Change phone")
    page.js(STILL)
    page.touch(dots, 0.01)
    page.touch(until(lambda: page.box("Unpair"), what="what can be done", show=page.text), 0.01)
    small = """[...document.querySelectorAll(".device button")].map((one) => one.getBoundingClientRect())
        .filter((r) => Math.min(r.width, r.height) < 43.5).length"""
    assert page.js(small) == 0
    page.touch(until(lambda: page.box("Rename"), what="another one", show=page.text), 0.01)
    until(lambda: page.box("Save"), what="the tap after it", show=page.text)
    assert [device["name"] for device in yc.http("GET", "/api/devices")[1]] == ["phone"]


def test_a_second_tap_on_send_stops_nothing(tmp_path: Path, yc: Yourcall, opens: Opens) -> None:
    page = opens()
    with Tmux() as tmux:
        drawn = Drawn(tmp_path, {"works": WORKS.read_text()}, {})
        with Agent(tmp_path, yc, pane=drawn.start(tmux, 80, 24)) as agent:
            agent.says("Hello.")
            agent.begins()
            page.js(f"location.hash = '#/s/{agent.session_id}'")
            page.sees("Hello.")
            until(lambda: page.box("Stop"), what="a turn that can be stopped", show=page.text)
            page.focus(".composer textarea")
            page.call("Input.insertText", text="x")
            page.find("Send")
            page.js(STILL)
            page.key("Backspace", 8)  # as what was sent goes from the box
            stop = until(lambda: page.box("Stop"), what="another button in its place", show=page.text)
            page.touch(stop, 0.01)
            page.call("Input.insertText", text="y")
            page.find("Send")
            assert not [url for url in page.asked if url.endswith("/interrupt")]
