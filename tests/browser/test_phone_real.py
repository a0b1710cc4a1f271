"""The whole way once: the real Claude Code asks in its own terminal, a phone answers, and it moves on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phone_scene import enter

from kit.codex import CodexHome
from kit.poll import until
from kit.responses_server import ResponsesServer, escalated, say
from kit.turns import pause, text, tool
from real.conftest import *  # noqa: F403 - the fixtures of the real agents
from real.test_claude_headless import drive
from real.test_codex_started import OfCodex

if TYPE_CHECKING:
    from collections.abc import Callable

    from chromium import Chromium, Page

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene
    from real.test_claude_headless import Driven

pytestmark = [pytest.mark.browser, pytest.mark.real]

ICON = Path(__file__).resolve().parent.parent.parent / "web" / "public" / "icon-192.png"
TOUCH = tool("Bash", command="touch marker", description="Make the marker")
REMOVE = tool("Bash", command="rm marker", description="Remove the marker")


def test_the_real_claude_code_is_answered_and_spoken_to_from_a_phone(
    built: None,
    scene: Scene,
    chromium: Chromium,
) -> None:
    page = enter(chromium, scene.yourcall)
    claude = scene.ask([TOUCH], [REMOVE], [text("Made it, and removed it.")])
    page.sees("touch marker")
    claude.wait_dialog()
    page.tap("Allow")
    until(lambda: scene.made("marker"), what="the command to run")
    page.sees("rm marker")
    page.sees("It deletes files, or work.")
    page.tap("Deny")
    scene.model.wait_for(lambda m: len(m.tool_results()) == 2)
    assert scene.made("marker")
    page.sees("Made it, and removed it.")

    def decided() -> dict[str, tuple[str, str, str]]:
        lines = scene.yourcall.http("GET", "/api/log")[1]
        return {line["title"]: (line["by"], line["state"], line["outcome"]) for line in lines}

    until(lambda: decided().get("rm marker") == ("phone", "confirmed", "denied"), what="the no", show=decided)
    assert decided()["touch marker"] == ("phone", "confirmed", "allowed")

    # It runs in tmux: the next instruction can be given from here too, as an answer or in the conversation.
    words = scene.model.script("again", [text("Good morning.")])

    def opened() -> bool:
        # The row has just come: a tap on what does not stand still yet is not counted, as it should be.
        there = "Boolean(document.querySelector('fieldset textarea, label textarea'))"
        return page.js(there) or (page.box("Reply") and page.tap("Reply"))

    until(opened, what="the card", every=0.7, show=page.text)
    page.write("What next?", words)
    page.tap("Submit")
    page.sees("The agent moved on.")
    page.tap("More", ".head")
    page.tap("Conversation")
    page.sees("Good morning.")
    words = scene.model.script("more", [text("Good evening.")])
    page.focus(".composer textarea")
    page.call("Input.insertText", text=words)
    page.tap("Send")
    page.sees("Good evening.")
    assert not page.errors
    page.close()


def tell(page: Page, words: str) -> None:
    page.focus(".composer textarea")
    page.call("Input.insertText", text=words)
    page.tap("Send")


def attach(page: Page, file: Path) -> None:
    """Choose a file, as the system's own dialog would."""
    page.call("DOM.enable")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    field = page.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=field, files=[str(file)])


def test_a_session_is_started_steered_ended_and_resumed_from_a_phone(
    built: None, tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer, chromium: Chromium
) -> None:
    with drive(tmp_path, claude_home, claude_bin, model) as driven:
        page = enter(chromium, driven.yourcall)
        page.tap("Home", "nav")
        page.tap("Start a session")
        page.write("Folder", str(claude_home.project))
        page.write("What should it do?", model.script("work", [TOUCH], [text("Made the **marker**.")]))
        page.tap("Start Claude")
        page.tap("Allow", ".dock")
        until(lambda: driven.made("marker"), what="the command to run")
        page.sees("Made the marker.")

        page.tap("Mode, model and end")
        page.js("""(() => {
            const modes = document.querySelector(".steer select");
            modes.value = "acceptEdits";
            modes.dispatchEvent(new Event("change", { bubbles: true }));
        })()""")
        page.sees("Mode changed.")
        until(lambda: driven.yourcall.http("GET", "/api/sessions")[1][0]["permission_mode"] == "acceptEdits")
        page.tap("Close", "dialog.sheet")

        tell(page, model.script("again", [text("Good morning.")]))
        page.sees("Good morning.")

        # A picture: stored on the machine, told as a path, read by Claude once it was allowed to, and seen here.
        attach(page, ICON)
        (kept,) = until(lambda: list((driven.yourcall.home / "uploads").glob("*.png")), what="the upload")
        until(lambda: page.box("Send"), what="the upload to be done")
        tell(page, model.script("look", [tool("Read", file_path=str(kept))], [text("A logo, I think.")]))
        page.tap("Allow", ".dock")
        page.sees("A logo, I think.")
        assert any(str(kept) in said for said in model.user_texts())
        page.tap("Read ")
        until(lambda: page.js("document.querySelector('.did img')?.naturalWidth") == 192, what="the picture")

        # What it has cost, as Claude itself says: in the list, and in the session.
        (known,) = driven.yourcall.http("GET", "/api/sessions")[1]
        assert known["cost_usd"] > 0
        cost = "document.querySelector('.thread .facts')?.textContent"
        page.js("location.hash = '#/'")
        until(lambda: "$" in (page.js(cost) or ""), what="the cost in the list", show=page.text)
        page.js("history.back()")
        page.sees("Made the marker.")
        assert "$" in page.js("document.querySelector('.thread-top').textContent")
        page.tap("Mode, model and end")
        page.tap("End this session")
        page.tap("End session", ".steer")
        page.sees("This session has ended.")
        page.tap("Continue it")
        page.write("What should it do?", model.script("third", [text("Here I am again.")]))
        page.tap("Continue")
        page.sees("Here I am again.")
        page.sees("Made the marker.")  # it remembers
        assert not page.errors
        page.close()


# From here on no time passes for the page: what comes now has come just now, however busy this machine is.
STILL = "performance.now = ((now) => () => now)(performance.now())"
CHOOSE = """((mode) => {
    const modes = document.querySelector(".steer select");
    modes.value = mode;
    modes.dispatchEvent(new Event("change", { bubbles: true }));
})"""
# What is chosen is one that a device may not set.
WORSE = """
  JSON.stringify = ((real) => (value, ...more) =>
    real(value?.permission_mode === "plan" ? { permission_mode: "bypassPermissions" } : value, ...more)
  )(JSON.stringify)
"""


def in_session(chromium: Chromium, driven: Driven) -> tuple[Page, str]:
    """A phone that shows a session which has just said hello; and its id."""
    page = enter(chromium, driven.yourcall)
    session = driven.start([text("Hello.")])
    page.js(f"location.hash = '#/s/{session}'")
    page.sees("Hello.")
    return page, session


def test_steering_shows_the_mode_that_is_so_and_a_double_tap_ends_nothing(
    built: None, tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer, chromium: Chromium
) -> None:
    with drive(tmp_path, claude_home, claude_bin, model) as driven:
        page, session = in_session(chromium, driven)
        page.tap("Mode, model and end")
        shown = "document.querySelector('.steer select').value"
        page.js(WORSE)
        page.js(f"{CHOOSE}('plan')")
        page.sees("you are no longer asked")
        until(lambda: page.js(shown) == "default", what="the mode that is so", show=lambda: page.js(shown))
        page.line(False)
        page.js(f"{CHOOSE}('acceptEdits')")
        page.sees("It may or may not have arrived.")
        until(lambda: page.js(shown) == "default", what="the mode as it was last heard of")
        page.line(True)
        until(lambda: page.js("document.querySelector('header .lamp') === null"), what="the line")

        box = page.find("End this session")
        page.js(STILL)
        page.touch(box, 0.01)
        for name in ("Keep running", "End session"):
            page.touch(until(lambda: page.box(name), what=name, show=page.text), 0.01)  # noqa: B023
        until(lambda: page.box("End session"), what="it still to ask", show=page.text)
        page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert not [url for url in page.asked if url.endswith("/stop")]
        assert driven.session(session)
        assert not page.errors
        page.close()


# The reply to what is sent comes when the test says so.
SLOW = """
  window.fetch = ((asks) => async (path, ...more) => {
    const reply = await asks(path, ...more);
    if (/send$/.test(path)) await new Promise((go) => (window.arrives = go));
    return reply;
  })(window.fetch.bind(window))
"""


def test_a_file_that_is_attached_while_a_message_is_on_its_way_stays_for_the_next_one(
    built: None, tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer, chromium: Chromium
) -> None:
    with drive(tmp_path, claude_home, claude_bin, model) as driven:
        page, _ = in_session(chromium, driven)
        page.js(SLOW)
        tell(page, model.script("again", [text("Good morning.")]))
        until(lambda: page.js("Boolean(window.arrives)"), what="the message to arrive")
        attach(page, ICON)
        (kept,) = until(lambda: list((driven.yourcall.home / "uploads").glob("*.png")), what="the upload")
        page.js("window.arrives()")
        page.sees("Good morning.")
        until(lambda: page.js("document.querySelector('.composer textarea').value") == "", what="an empty box")
        tell(page, model.script("look", [text("Seen.")]))
        until(lambda: any(str(kept) in said for said in model.user_texts()), what="the file to be told")
        assert not page.errors
        page.close()


# A line on which nothing that looks again and again gets a reply before the test's word.
LOOKS = """
  window.looks = { speaking: [], conversation: [] };
  window.fetch = ((asks) => async (path, init) => {
    const kind = /speaking$/.test(path) ? "speaking" : /conversation.*after=/.test(path) ? "conversation" : "";
    if (kind) await new Promise((go) => window.looks[kind].push(go));
    return asks(path, init);
  })(window.fetch.bind(window))
"""
# More often than the page looks: seven of its own half seconds.
A_WHILE = """new Promise((done) => {
    let left = 7;
    const timer = setInterval(() => --left || (clearInterval(timer), done()), 500);
})"""


def test_on_a_slow_line_the_page_asks_for_nothing_a_second_time_before_it_is_told(
    built: None, tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer, chromium: Chromium
) -> None:
    """A browser has six lines to one address: looks that pile up would hold up an answer given meanwhile."""
    with drive(tmp_path, claude_home, claude_bin, model) as driven:
        page, _ = in_session(chromium, driven)
        page.js(LOOKS)
        tell(page, model.script("slow", [text("Half a sentence"), pause("half")], [text("Done.")]))
        until(
            lambda: page.js("looks.speaking.length && looks.conversation.length"), 30, what="looks", show=page.text
        )
        page.js(A_WHILE)
        assert page.js("[looks.speaking.length, looks.conversation.length]") == [1, 1]
        page.js("Object.values(looks).forEach((all) => all.splice(0).forEach((go) => go()))")
        page.sees("Half a sentence")
        model.release("half")
        assert not page.errors
        page.close()


def test_a_session_that_is_cleared_goes_on_in_the_open_page_with_its_prompt(
    built: None, scene: Scene, chromium: Chromium
) -> None:
    page = enter(chromium, scene.yourcall)
    scene.ask([text("Shall I push?")])
    ready = scene.yourcall.pause("ready")
    first = ready["session_id"]
    page.sees("Shall I push?")
    page.js(f"location.hash = '#/s/{first}'")
    page.sees("Shall I push?")
    page.tap("Commands")
    page.tap("/clear")
    page.tap("Send", ".composer .box")
    new = until(
        lambda: next((s["id"] for s in scene.yourcall.http("GET", "/api/sessions")[1] if s["id"] != first), None),
        60,
        what="another id",
        show=page.text,
    )
    page.loses("Shall I push?")
    # What is said in the page that was open all along reaches the run, and its answer comes here.
    until(lambda: page.js("document.querySelector('.composer textarea')?.value") == "", what="an empty box")
    tell(page, scene.model.script("more", [text("Here I am.")]))
    page.sees("Here I am.")
    page.js("location.hash = '#/'")
    page.sees("Here I am.")
    (waits,) = until(
        lambda: [p for p in scene.yourcall.waiting() if p["kind"] == "ready" and "Here I am." in p["body"]],
        30,
        what="ready",
        show=scene.yourcall.waiting,
    )
    assert waits["session_id"] == new
    shown = "[...document.querySelectorAll('a')].map((e) => e.hash).filter((h) => h.startsWith('#/p/'))"
    until(lambda: page.js(shown) and all(waits["id"] in each for each in page.js(shown)), what="one row")
    assert not page.errors
    page.close()


def test_codex_is_started_answered_and_spoken_to_from_a_phone(
    built: None, tmp_path: Path, fetched: Callable[..., Path], chromium: Chromium
) -> None:
    binary = fetched("codex")
    with ResponsesServer() as brain:
        home = CodexHome.make(tmp_path, brain)
        (home.path / ".bash_profile").write_text(f'export PATH="{binary.parent}:$PATH"\n')
        try:
            with OfCodex(tmp_path, home, binary) as yourcall:
                page = enter(chromium, yourcall)
                page.tap("Home", "nav")
                page.tap("Start a session")
                page.write("Folder", str(home.project))
                page.write(
                    "What should it do?", brain.script("work", [escalated("touch marker")], [say("Made it.")])
                )
                page.tap("Codex")
                page.sees("Start Codex")
                assert "Permission mode" not in page.text(), "modes of Claude are none of Codex"
                page.tap("Start Codex")
                page.tap("Allow", ".dock")
                until(lambda: (home.project / "marker").exists(), what="the command to run")
                page.sees("Made it.")
                tell(page, brain.script("again", [say("Good morning.")]))
                page.sees("Good morning.")
                (session,) = yourcall.http("GET", "/api/sessions")[1]
                assert (session["agent"], session["mode"]) == ("codex", "headless")
                assert not page.errors
                page.close()
        finally:
            home.close()
