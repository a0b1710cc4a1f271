"""The whole way once: the real Claude Code asks in its own terminal, a phone answers, and it moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from phone_scene import enter

from kit.poll import until
from kit.turns import text, tool
from real.conftest import *  # noqa: F403 - the fixtures of the real agents

if TYPE_CHECKING:
    from chromium import Chromium

    from kit.scene import Scene

pytestmark = [pytest.mark.browser, pytest.mark.real]

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
        page.tap("What next?")
        return page.js("Boolean(document.querySelector('fieldset textarea, label textarea'))")

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
