"""How a turn of the real Gemini CLI ends: cancelled at the desk, or sent back to work by a hook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from kit.turns import pause, text
from real.gemini_scene import gemini_bin, home, model, shell, start, yourcall

if TYPE_CHECKING:
    from kit.gemini import GeminiHome, GeminiModel
    from kit.yourcall import Yourcall

__all__ = ["gemini_bin", "home", "model", "start", "yourcall"]  # fixtures


def test_a_turn_that_is_cancelled_leaves_a_session_that_is_ready(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    """At a dialog, and while a command runs, no hook tells of it: one line on the screen does."""
    gemini = start()
    gemini.say(model.script("ask", [shell("touch marker")], [text("Done.")]))
    yourcall.wait_prompt()
    gemini.press("Escape")
    ready = yourcall.pause("ready")
    assert (ready["body"], ready["held"]) == ("The turn was stopped.", True)
    assert not gemini.made("marker")
    # It is answered like any other, and the old line on the screen raises it no second time.
    words = model.script("wait", [shell("touch begun; sleep 600")], [text("Done.")])
    assert yourcall.run("answer", ready["id"], "--text", words).code == 0
    prompt = yourcall.wait_prompt()
    assert [p["id"] for p in yourcall.waiting()] == [prompt["id"]]
    status, said = yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"option": "allow", "wait": 0})
    assert status == 202, said
    until(lambda: gemini.made("begun"), show=gemini.screen)
    gemini.terminal.key("Escape")
    again = yourcall.pause("ready")
    assert again["body"] == "The turn was stopped."
    assert again["id"] != ready["id"]


@pytest.mark.soak
def test_words_that_were_said_before_it_was_cancelled_are_kept(
    start: Any, yourcall: Yourcall, model: GeminiModel
) -> None:
    """While the model speaks the hook does tell, with what was said so far: the screen adds nothing."""
    gemini = start()
    gemini.say(model.script("slow", [text("Slowly."), pause("never"), text("Done.")]))
    until(lambda: gemini.terminal.shows("Slowly."), show=gemini.screen)
    gemini.terminal.key("Escape")
    until(lambda: gemini.terminal.shows("Request cancelled."), show=gemini.screen)
    until(
        lambda: [(p["kind"], p["body"]) for p in yourcall.waiting()] == [("ready", "Slowly.")],
        show=yourcall.waiting,
    )
    model.release("never")


def test_a_stop_that_another_hook_undid_is_followed_by_the_one_that_counts(
    start: Any, yourcall: Yourcall, home: GeminiHome, model: GeminiModel
) -> None:
    """A hook of the person's own sends it back to work once; its last message is the one to be shown."""
    stop = home.path / "stop.sh"
    again = """case "$(cat)" in *'"stop_hook_active":true'*) echo '{}'; exit 0;; esac"""
    stop.write_text(f"""{again}\necho '{{"decision":"block","reason":"DO test"}}'\n""")
    settings = json.loads(home.settings.read_text())
    own = {"hooks": [{"type": "command", "command": f"sh {stop}"}]}
    settings["hooks"]["AfterAgent"].append(own)
    home.settings.write_text(json.dumps(settings))
    model.script("test", [text("Tested now.")])
    gemini = start()
    gemini.say(model.script("work", [text("Not tested.")]))
    until(
        lambda: [p["kind"] for p in yourcall.waiting() if p["body"].endswith("Tested now.")] == ["ready"],
        show=lambda: (yourcall.waiting(), gemini.screen()),
    )
    assert len(yourcall.waiting()) == 1
