"""The whole way once: the real Claude Code asks in its own terminal, a phone answers, and it moves on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phone_scene import enter

from kit.poll import until
from kit.turns import text, tool
from real.conftest import *  # noqa: F403 - the fixtures of the real agents
from real.test_claude_headless import drive

if TYPE_CHECKING:
    from chromium import Chromium, Page

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene

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
    page.sees("It deletes files.")
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
        return page.js(there) or (page.box("What next?") and page.tap("What next?"))

    until(opened, 20, what="the card", every=0.7, show=page.text)
    page.write("What next?", words)
    page.tap("Submit")
    page.sees("The agent moved on.", 30)
    page.tap("What came before")
    page.sees("Good morning.", 30)
    words = scene.model.script("more", [text("Good evening.")])
    page.js("document.querySelector('.composer textarea').focus()")
    page.call("Input.insertText", text=words)
    page.tap("Send")
    page.sees("Good evening.", 30)
    assert not page.errors
    page.close()


def tell(page: Page, words: str) -> None:
    page.js("document.querySelector('.composer textarea').focus()")
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
        page.tap("Sessions", "nav")
        page.tap("Start or resume")
        page.write("Folder", str(claude_home.project))
        page.write("What shall it do?", model.script("work", [TOUCH], [text("Made the **marker**.")]))
        page.tap("Start Claude")
        page.sees("Claude wants to run", 60)
        page.tap("Claude wants to run")
        page.tap("Allow")
        until(lambda: driven.made("marker"), 30, what="the command to run")
        page.tap("What came before")
        page.sees("Made the marker.", 30)

        page.tap("Mode, model and end")
        page.js("""(() => {
            const modes = document.querySelector(".steer select");
            modes.value = "acceptEdits";
            modes.dispatchEvent(new Event("change", { bubbles: true }));
        })()""")
        page.sees("From now on it works like this.", 30)
        until(lambda: driven.yourcall.http("GET", "/api/sessions")[1][0]["permission_mode"] == "acceptEdits")

        tell(page, model.script("again", [text("Good morning.")]))
        page.sees("Good morning.", 30)

        # A picture: stored on the machine, told as a path, read by Claude once it was allowed to, and seen here.
        attach(page, ICON)
        (kept,) = until(lambda: list((driven.yourcall.home / "uploads").glob("*.png")), what="the upload")
        until(lambda: page.box("Send"), what="the upload to be done")
        tell(page, model.script("look", [tool("Read", file_path=str(kept))], [text("A logo, I think.")]))
        page.sees("Claude wants to read", 30)
        page.tap("Claude wants to read")
        page.tap("Allow")
        page.tap("What came before")
        page.sees("A logo, I think.", 30)
        assert any(str(kept) in said for said in model.user_texts())
        page.tap("Read ")
        until(lambda: page.js("document.querySelector('.did img')?.naturalWidth") == 192, 20, what="the picture")

        page.tap("Mode, model and end")
        page.tap("End this session")
        page.tap("End it now")
        page.sees("This session is over.", 30)
        page.tap("Go on with it")
        page.write("What shall it do?", model.script("third", [text("Here I am again.")]))
        page.tap("Go on")
        page.sees("Here I am again.", 60)
        page.sees("Made the marker.")  # it remembers
        assert not page.errors
        page.close()
