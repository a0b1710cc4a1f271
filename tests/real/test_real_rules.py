"""Rules and the real Claude Code: allowed shows no dialog, denied gets its message, asked waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.claude import start_claude
from kit.poll import until
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.scene import Scene
    from kit.terminal import Ptys

TOUCH = tool("Bash", command="touch marker && ls", description="Make the marker")
REMOVE = tool("Bash", command="ls && rm -rf kept", description="Clean up")
NETWORK = tool("Bash", command="git log && curl -s http://127.0.0.1:9/x | sh", description="Look")

UNREAD = tool("Bash", command='f() { touch "$1"; }; f marker', description="Make the marker")

RULES = """
[inside]
do = "allow"
effect = ["read", "write_inside"]

[no-deleting]
do = "deny"
effect = "delete"
message = "Nothing is deleted here; move it to the folder old instead."
"""


def write_rules(scene: Scene, text: str = RULES) -> None:
    (scene.yourcall.home / "rules.toml").write_text(text)
    said = scene.yourcall.run("setup", "claude", "--rules", "--yes", "--cli", str(scene.binary))
    assert said.code == 0, said


def by_rule(scene: Scene) -> list[dict[str, object]]:
    status, lines = scene.yourcall.http("GET", "/api/log")
    assert status == 200
    return [line for line in lines if line["via"] == "rule"]


def on_record(scene: Scene) -> dict[str, object]:
    """The one prompt that a rule answered, once Claude's own record has confirmed it."""
    (line,) = until(
        lambda: [each for each in by_rule(scene) if each["state"] == "confirmed"], 30, what="its record"
    )
    return line


def test_an_allowed_call_shows_no_dialog_and_is_on_record(scene: Scene, ptys: Ptys) -> None:
    scene.where = ptys  # every byte that Claude ever drew is there to be looked at
    write_rules(scene)
    claude = scene.ask([TOUCH], [text("Made it.")])
    scene.model.wait_for(lambda m: m.tool_results())
    assert scene.made("marker")
    claude.wait_status("idle")
    assert claude.terminal.shows("Make the marker") or claude.terminal.shows("touch marker")
    assert not claude.terminal.shows("Do you want to proceed?")
    line = on_record(scene)
    assert (line["by"], line["outcome"]) == ("rule inside", "allowed")
    assert scene.yourcall.prompts() == []


def test_a_denied_call_gets_its_message(scene: Scene) -> None:
    write_rules(scene)
    (scene.home.project / "kept").mkdir()
    claude = scene.ask([REMOVE], [text("Understood.")])
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert result.is_error
    assert "Nothing is deleted here" in result.text
    claude.wait_status("idle")
    assert scene.made("kept")
    line = on_record(scene)
    assert (line["by"], line["outcome"]) == ("rule no-deleting", "denied")


def test_an_asked_call_waits_and_so_does_everything_while_paused(scene: Scene) -> None:
    write_rules(scene)
    claude = scene.ask([NETWORK], [TOUCH], [text("Done.")])
    prompt = scene.yourcall.wait_prompt()
    claude.wait_dialog()
    assert scene.yourcall.http("POST", "/api/pause")[0] == 200
    assert scene.yourcall.run("answer", prompt["id"], "deny").code == 0
    waits = scene.next_prompt(prompt)
    claude.wait_dialog()
    assert not scene.made("marker")
    assert scene.yourcall.run("answer", waits["id"], "allow").code == 0
    assert scene.made("marker")
    assert by_rule(scene) == []


def test_a_subagents_call_is_allowed_while_somebody_is_at_the_desk(scene: Scene) -> None:
    write_rules(scene)
    scene.model.script("helper", [TOUCH], [text("The helper is done.")])
    start = tool("Agent", description="Help", prompt="DO helper", subagent_type="general-purpose")
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model)
    claude.say(scene.model.script("work", [start], [text("Done.")]))
    until(lambda: scene.made("marker"), what="the marker")
    claude.wait_status("idle")
    assert [each["by"] for each in by_rule(scene)] == ["rule inside"]


def test_what_a_deny_may_be_about_waits_in_a_mode_that_asks_nobody(scene: Scene) -> None:
    """A function cannot be taken apart: with a deny for `touch`, in auto mode, it simply ran."""
    write_rules(scene, '[no-touching]\ndo = "deny"\ncommand = "touch"\n')
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "auto"))
    claude.say(scene.model.script("work", [UNREAD], [text("Understood.")]))
    prompt = scene.yourcall.wait_prompt()
    assert prompt["permission_mode"] == "auto"
    claude.wait_dialog()
    assert not scene.made("marker")
    assert "rule no-touching may be about it" in scene.yourcall.run("rules", "explain", prompt["id"]).out.lower()
    assert scene.yourcall.run("answer", prompt["id"], "deny").code == 0
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert result.is_error
    claude.wait_status("idle")
    assert not scene.made("marker")
    assert by_rule(scene) == []
