"""Requests that lost their hook: the same prompt is answered on its dialog, by keys, or says why it cannot be."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import MANUAL, start_claude
from kit.poll import until
from kit.terminal import Ptys
from kit.turns import text, tool
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from kit.claude import Claude
    from kit.scene import Scene

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
DATABASE = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": label, "description": ""} for label in ("PostgreSQL", "SQLite")],
}
FEATURES = {
    "question": "Which features do you want?",
    "header": "Features",
    "multiSelect": True,
    "options": [{"label": label, "description": ""} for label in ("Auth", "Billing", "Search")],
}


def loses_its_hook(scene: Scene, claude: Claude, prompt: dict[str, Any]) -> None:
    (hook,) = until(claude.hooks)
    claude.end_hook(hook, signal.SIGKILL)
    until(lambda: len(scene.yourcall.show(prompt["id"])["history"]) > 1, what="word of its loss")


def reached(scene: Scene, prompt: dict[str, Any]) -> dict[str, Any]:
    """The prompt once it can be answered again."""

    def look() -> dict[str, Any] | None:
        now = scene.yourcall.show(prompt["id"])
        told = any("answered again" in moment["detail"] for moment in now["history"])
        return now if told and now["held"] else None

    return until(look, what="a way in again", show=lambda: scene.yourcall.show(prompt["id"]))


def answer(scene: Scene, prompt: dict[str, Any], **body: object) -> dict[str, Any]:
    _, told = scene.yourcall.http("POST", f"/api/prompts/{prompt['id']}/answer", {"wait": 30, **body})
    return told


def test_a_killed_hooks_prompt_is_allowed_by_a_key(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    loses_its_hook(scene, claude, prompt)
    now = reached(scene, prompt)
    assert [p["id"] for p in scene.yourcall.prompts()] == [prompt["id"]]
    assert (now["title"], now["tool"]["input"]["command"]) == ("touch marker", "touch marker")
    told = answer(scene, prompt, option="allow")
    assert told["result"] == "confirmed", told
    until(lambda: scene.made("marker"))
    assert scene.yourcall.show(prompt["id"])["outcome"] == "allowed"


def test_a_killed_hooks_prompt_that_the_desk_answers_is_the_desks(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    loses_its_hook(scene, claude, prompt)
    reached(scene, prompt)
    claude.press("1")
    scene.yourcall.wait_state(prompt["id"], "desk")
    assert until(lambda: scene.yourcall.show(prompt["id"])["outcome"]) == "allowed"
    until(lambda: scene.made("marker"))


def test_several_questions_that_lost_their_hook_are_answered_in_one_go(scene: Scene) -> None:
    claude = scene.ask([tool("AskUserQuestion", questions=[DATABASE, FEATURES])], [text("Thanks.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog("Which database")
    loses_its_hook(scene, claude, prompt)
    now = reached(scene, prompt)
    assert [q["id"] for q in now["questions"]] == ["q1", "q2"]
    told = answer(scene, prompt, choices={"q2": ["Auth", "Search"]}, texts={"q1": "DuckDB, in memory"})
    assert told["result"] == "confirmed", told
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert '="DuckDB, in memory"' in result.text
    assert '="Auth, Search"' in result.text


def test_a_subagents_prompt_that_went_to_the_desk_is_answered_there_by_a_key(scene: Scene) -> None:
    scene.model.script("below", [TOUCH], [text("The subagent is done.")])
    start = tool("Agent", description="Look around", prompt="DO below", subagent_type="general-purpose")
    scene.ask([start], [text("Started it.")])
    prompt = scene.yourcall.wait_prompt()
    assert "general-purpose" in prompt["subagent"]
    reached(scene, prompt)  # somebody typed just now, so its hook let go and its dialog is on the screen
    told = answer(scene, prompt, option="allow")
    assert told["result"] in ("confirmed", "accepted"), told
    until(lambda: scene.made("marker"))
    shown = scene.yourcall.wait_state(prompt["id"], "confirmed")
    assert shown["outcome"] == "allowed"


def test_a_subagents_prompt_is_answered_in_its_first_moment_with_somebody_at_the_desk(scene: Scene) -> None:
    """Its hook has let go and its dialog is not drawn yet: the answer waits for the dialog."""
    scene.model.script("below", [TOUCH], [text("The subagent is done.")])
    start = tool("Agent", description="Look around", prompt="DO below", subagent_type="general-purpose")
    scene.ask([start], [text("Started it.")])
    prompt = scene.yourcall.wait_prompt()
    told = answer(scene, prompt, option="allow")
    assert told["result"] in ("confirmed", "accepted"), told
    until(lambda: scene.made("marker"))
    scene.yourcall.wait_state(prompt["id"], "confirmed")


def test_a_form_that_went_to_the_desk_is_filled_in_there(scene: Scene, tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
    config.write_text(json.dumps({"mcpServers": {"demo": server}}))
    allowed = {"permissions": {"allow": ["mcp__demo__book_table"]}}
    scene.home.write_settings(json.loads(scene.home.settings.read_text()) | allowed)
    words = scene.model.script("book", [tool("mcp__demo__book_table")], [text("Booked.")])
    args = (*MANUAL, "--mcp-config", str(config))
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=args)
    claude.say(words)
    prompt = scene.yourcall.wait_prompt()
    now = reached(scene, prompt)
    assert {q["id"] for q in now["questions"]} == {"people", "seating", "name", "window", "action"}
    told = answer(
        scene,
        prompt,
        texts={"people": "4"},
        choices={"seating": ["terrace"], "window": ["Yes"], "action": ["accept"]},
    )
    assert told["result"] in ("confirmed", "accepted"), told
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    content = {"people": 4, "seating": "terrace", "window": True}
    assert json.loads(result.text) == {"action": "accept", "content": content}


def test_outside_tmux_it_says_that_the_desk_must_answer(scene: Scene, ptys: Ptys) -> None:
    scene.where = ptys
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    loses_its_hook(scene, claude, prompt)
    shown = scene.yourcall.show(prompt["id"])
    assert not shown["held"]
    assert "answer at the desk" in shown["history"][-1]["detail"]
    said = scene.yourcall.run("answer", prompt["id"], "allow")
    assert (said.code, "desk" in said.err) == (2, True)
    claude.press("1")
    scene.yourcall.wait_state(prompt["id"], "desk")


@pytest.mark.soak
def test_a_daemon_that_was_away_longer_than_the_hook_finds_the_dialog(scene: Scene) -> None:
    claude = scene.ask([TOUCH], [text("Made it.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    scene.yourcall.kill()
    (hook,) = until(claude.hooks)
    claude.end_hook(hook, signal.SIGKILL)
    scene.yourcall.start()
    reached(scene, prompt)
    told = answer(scene, prompt, option="allow")
    assert told["result"] == "confirmed", told
    until(lambda: scene.made("marker"))
