"""Standing orders on the phone: given later from the composer, arranged above it, held and let go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit import small_acp
from kit.poll import until

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


def started(yc: Yourcall, folder: Path) -> tuple[str, Path]:
    project, log = folder / "kite-shop", folder / "told.jsonl"
    project.mkdir()
    done = yc.run("run", "--acp", "--cwd", str(project), "--", sys.executable, small_acp.__file__, str(log))
    assert done.code == 0, done
    return done.out.strip(), log


def told(log: Path) -> list[str]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def later(page: Page, text: str, choice: str = "After this turn") -> None:
    page.focus(".composer textarea")
    page.call("Input.insertText", text=text)
    page.tap("Give it later")
    page.tap(choice)
    page.becomes("document.querySelector('.composer textarea')?.value", "")


def test_an_instruction_waits_for_the_end_of_the_turn(yc: Yourcall, tmp_path: Path, opens: Opens) -> None:
    session, log = started(yc, tmp_path)
    held = tmp_path / "held"
    assert yc.run("send", session, f"HOLD {held}").code == 0
    page = opens()
    page.js(f"location.hash = '#/s/{session}'")
    page.sees("Working…")
    later(page, "Now update the docs.")
    page.sees("1 queued")
    later(page, "Then run the tests.")
    page.sees("2 queued")
    page.tap("2 queued")
    page.sees("After this turn.")
    page.tap("Move 2 up")
    first = "document.querySelector('.orders li')?.innerText.includes('Then run')"
    page.becomes(first, True)
    page.tap("Edit 2")
    page.focus(".orders textarea")
    page.js("document.querySelector('.orders textarea').select()")
    page.call("Input.insertText", text="Now update the docs, please.")
    page.tap("Save")
    page.sees("Now update the docs, please.")
    page.tap("Hold")
    page.sees("Held: by phone")
    held.touch()
    page.loses("Working…")
    assert told(log) == [f"HOLD {held}"]
    page.tap("Go on", within=".queue")
    until(lambda: len(told(log)) == 3, what="both to be given", show=lambda: str(told(log)))
    assert told(log)[1:] == ["Then run the tests.", "Now update the docs, please."]
    page.loses("queued")


def test_what_a_script_changes_is_shown_and_a_no_is_said(yc: Yourcall, tmp_path: Path, opens: Opens) -> None:
    session, log = started(yc, tmp_path)
    page = opens()
    page.js(f"location.hash = '#/s/{session}'")
    page.sees("Nothing has been said yet.")
    yc.run("queue", session, "add", "later", "--at", "+1h")
    page.sees("1 queued")
    page.tap("1 queued")
    page.sees("not before")
    for _ in range(49):
        yc.http("POST", f"/api/sessions/{session}/queue", {"text": "more", "trigger": "turn"})
    page.sees("50 queued")
    page.focus(".composer textarea")
    page.call("Input.insertText", text="one too many")
    page.tap("Give it later")
    page.tap("As the next in its queue")
    page.sees("50 instructions wait here already")
    assert page.js("document.querySelector('.composer textarea').value") == "one too many"
    assert told(log) == []
