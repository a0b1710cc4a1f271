"""Pairing, devices and what a paired phone shows besides: sessions and history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phone_scene import Agent, give_all_scopes

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux

if TYPE_CHECKING:
    from chromium import Chromium
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

IDLE = Path(__file__).resolve().parent.parent / "corpus" / "claude" / "idle-empty-80x24" / "screen.txt"


def test_a_link_pairs_in_one_tap_and_leaves_no_trace(yc: Yourcall, chromium: Chromium) -> None:
    code = yc.http("POST", "/api/pairing")[1]["code"]
    page = chromium.page(f"{yc.url}/#pair={code}")
    page.sees("Pair this device")
    assert page.js("location.href") == f"{yc.url}/"
    page.write("Name of this device", "My phone")
    page.tap("Pair", "form")
    page.sees("Turn on notifications")
    assert page.js("document.cookie") == ""
    # The head of the machine's record is no secret, and no trace of the code.
    assert page.js("Object.keys(localStorage).filter((name) => name != 'yourcall.head')") == []
    assert page.js("Object.keys(sessionStorage).length") == 0
    (device,) = yc.http("GET", "/api/devices")[1]
    assert device["name"] == "My phone"
    page.js("location.hash = '#/'")
    page.reload()
    page.sees("All caught up")
    assert not page.errors
    page.close()


def test_open_lets_this_machines_browser_in_without_a_tap(yc: Yourcall, chromium: Chromium) -> None:
    page = chromium.page(yc.run("open", "--print").out.strip())
    until(lambda: len(yc.http("GET", "/api/devices")[1]) == 1)
    until(lambda: page.js("document.querySelector('main.pair')") is None)
    assert page.js("location.href") == f"{yc.url}/"
    assert not page.errors
    page.close()


def test_a_wrong_code_says_so_and_a_typed_one_pairs(yc: Yourcall, chromium: Chromium) -> None:
    page = chromium.page(yc.url)
    page.sees("Pair this device")
    code = yc.http("POST", "/api/pairing")[1]["code"]
    page.write("Code", "0000-0000")
    page.tap("Pair", "form")
    page.sees("That code is wrong.")
    page.write("Code", code.lower())
    page.tap("Pair", "form")
    page.sees("Turn on notifications")
    page.close()


def test_a_revoked_phone_is_out_at_once_and_shows_nothing_more(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    first, second = opens("first"), opens("second")
    give_all_scopes(yc, "second")
    agent.bash("revokeaaa2", "secret command")
    first.sees("secret command")
    second.tap("Settings", "nav")
    second.sees("this one")
    second.tap("Change first")
    second.tap("Revoke")
    second.tap("Revoke", ".sheet")
    first.sees("This device was revoked.")
    assert "secret command" not in first.text()
    second.loses("first")
    names = [device["name"] for device in yc.http("GET", "/api/devices")[1] if device["revoked_at"] is None]
    assert names == ["second"]


def test_what_was_typed_goes_with_the_pairing(tmp_path: Path, yc: Yourcall, opens: Opens) -> None:
    page = opens()
    box = "document.querySelector('.composer textarea')"
    with Tmux() as tmux:
        pane = Drawn(tmp_path, {"idle": IDLE.read_text()}, {}).start(tmux, 80, 24)
        with Agent(tmp_path, yc, pane=pane) as agent:
            agent.begins()
            page.js(f"location.hash = '#/s/{agent.session_id}'")
            until(lambda: page.js(f"Boolean({box})"), what="the composer", show=page.text)
            page.js(f"{box}.focus()")
            page.call("Input.insertText", text="my half a thought")
            until(lambda: "half a thought" in page.js("JSON.stringify(localStorage)"), what="the draft")
            (device,) = yc.http("GET", "/api/devices")[1]
            yc.http("DELETE", f"/api/devices/{device['id']}")
            page.sees("Pair this device")
            page.write("Code", yc.http("POST", "/api/pairing")[1]["code"])
            page.tap("Pair", "form")
            until(lambda: page.js(f"Boolean({box})"), what="the composer again", show=page.text)
            assert page.js(f"{box}.value") == ""


def test_sessions_warn_of_modes_that_do_not_ask(tmp_path: Path, yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.mode = "bypassPermissions"
    agent.raises("UserPromptSubmit", prompt="go")
    page.sees("One session is running")
    text = page.sees("Bypass: everything is allowed")
    assert "kite-shop" in text
    assert "working" in text


def test_where_nothing_can_be_started_nothing_is_asked_about_it(yc: Yourcall, opens: Opens) -> None:
    assert yc.http("GET", "/api/startable")[1] == []
    page = opens()
    page.js("location.hash = '#/start'")
    page.sees("No agent on your computer that yourcall can start.")
    assert "Model" not in page.text()
    assert "Permission mode" not in page.text()


def test_what_is_answered_while_the_history_is_open_is_added_to_it(
    yc: Yourcall, agent: Agent, other: Agent, opens: Opens
) -> None:
    """More than a page of it is there, of which none is lost or told twice."""
    for n in range(32):
        agent.bash(f"early{n:02}aa2", f"npm run early{n:02}")
        until(lambda: yc.http("POST", f"/api/prompts/early{n:02}aa2/answer", {"option": "deny"})[0] == 202)  # noqa: B023
    page = opens("phone")
    page.js("location.hash = '#/history'")
    page.sees("npm run early31")
    page.tap("Show earlier")
    page.sees("npm run early00")
    held = other.asks("Bash", command="npm run later")
    waits = until(lambda: [p["id"] for p in yc.waiting() if p["title"] == "npm run later"], what="the prompt")
    assert yc.http("POST", f"/api/prompts/{waits[0]}/answer", {"option": "allow"})[0] == 202
    page.sees("npm run later")
    assert held.answer() is not None
    other.goes_on(held)
    row = "document.querySelector('.log li')?.innerText ?? ''"
    until(lambda: "allowed" in page.js(row), what="how it ended", show=lambda: page.js(row))
    text = page.text()
    assert [text.count(f"npm run early{n:02}") for n in range(32)] == [1] * 32
    page.line(False)
    page.sees("No connection. Trying again")
    page.tap("Home", "nav")
    page.tap("History", "nav")
    page.sees("No connection to yourcall.")
    page.line(True)
    page.sees("npm run later")
    page.loses("No connection to yourcall.")


def test_the_history_says_who_answered_what(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens("phone")
    held = agent.asks("Bash", command="npm test")
    page.tap("Allow")
    held.answer()
    agent.goes_on(held)
    page.sees("All caught up")
    page.tap("History", "nav")
    text = page.sees("waited")
    assert "npm test" in text
    assert "allowed" in text
    assert "you" in text
    page.tap("npm test", ".log")
    page.sees("Allowed. The agent moved on.")
    assert page.box("Allow") is None
    page.tap("More", ".head")
    page.tap("What happened")
    page.sees("confirmed")


def test_what_was_said_before_is_one_tap_away(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    page = opens()
    said = {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "I will test."}]},
    }
    agent._writes(said)
    agent.asks("Bash", command="npm test")
    page.tap("More choices")
    page.tap("More", ".head")
    page.tap("Conversation")
    page.sees("I will test.")
    page.tap("Back")
    until(lambda: page.box("Deny"), what="the card again")
