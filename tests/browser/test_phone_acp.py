"""A real agent over ACP, answered and spoken to from a phone like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from phone_scene import enter

from kit.poll import until
from real.acp_scene import on_stage
from real.conftest import fetched

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chromium import Chromium

__all__ = ["fetched"]  # a fixture
pytestmark = [pytest.mark.browser, pytest.mark.real]


def test_gemini_over_acp_is_started_answered_and_spoken_to_from_a_phone(
    built: None, tmp_path: Path, fetched: Callable[..., Path], chromium: Chromium
) -> None:
    with on_stage("gemini-acp", tmp_path, fetched) as agent:
        page = enter(chromium, agent.yourcall)
        page.js("location.hash = '#/start'")
        page.tap("Gemini CLI", ".chips")
        page.loses("Codex")  # whose program is not here
        page.write("Folder", str(agent.project))
        page.write("What should it do?", agent.script("touch", [("run", "touch marker")], [("speak", "Made it.")]))
        page.tap("Start Gemini CLI")
        page.sees("touch marker")
        (session,) = [each["id"] for each in agent.yourcall.run("sessions", "--json").json]
        page.js("location.hash = '#/'")
        page.sees("Gemini CLI")
        page.tap("Allow")
        until(lambda: agent.made("marker"), what="the command to run")
        page.sees("Made it.")
        # What was answered leaves the list, and what is below moves up: only then does a tap go where it should.
        page.becomes("document.querySelectorAll('li.row.permission').length", 0)
        page.tap("DO touch", ".thread")
        page.becomes("location.hash", f"#/s/{session}")
        agent.script("more", [("speak", "Good evening.")])
        page.focus(".composer textarea")
        page.call("Input.insertText", text="DO more")
        page.tap("Send")
        page.sees("Good evening.")
        assert agent.entries(session)[-1]["text"] == "Good evening."
        assert not page.errors
        page.close()
