"""Denies and the real Claude Code in auto mode, which asks nobody: they hold with the daemon stopped or gone."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from test_claude_headless import drive

from kit.claude import environment, start_claude
from kit.poll import PATIENCE_S, until
from kit.turns import text, tool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from test_claude_headless import Driven

    from kit.claude import Claude, ClaudeHome
    from kit.model_server import ModelServer
    from kit.scene import Scene

DENIED = tool("Bash", command="touch denied", description="Make the first")
ASKED = tool("Bash", command="mkdir asked", description="Make the second")
FREE = tool("Bash", command="cp here free", description="Make the third")

RULES = """
[no-touching]
do = "deny"
command = "touch"
message = "Nothing is touched here."

[folders]
do = "ask"
command = "mkdir"
"""


def set_up(scene: Scene) -> None:
    (scene.yourcall.home / "rules.toml").write_text(RULES)
    (scene.home.project / "here").write_text("")
    said = scene.yourcall.run("setup", "claude", "--rules", "--yes", "--cli", str(scene.binary))
    assert said.code == 0, said


def in_auto_mode(scene: Scene, *calls: object) -> Claude:
    claude = start_claude(scene.where, scene.binary, scene.home, scene.model, args=("--permission-mode", "auto"))
    turns = [[call] for call in calls]
    claude.say(scene.model.script("work", *turns, [text("Done.")]))  # type: ignore[arg-type]
    return claude


@pytest.mark.parametrize("trouble", ["stopped", "killed"])
def test_in_auto_mode_a_deny_holds_without_a_daemon(scene: Scene, trouble: str) -> None:
    set_up(scene)
    if trouble == "killed":
        scene.yourcall.kill()
    else:
        scene.yourcall.signal(signal.SIGSTOP)
    try:
        claude = in_auto_mode(scene, FREE, DENIED, ASKED)
        first, second = scene.model.wait_for(lambda m: len(m.tool_results()) == 2 and m.tool_results())
        assert not first.is_error  # no rule is about it: it ran, unasked
        assert scene.made("free")
        assert second.is_error
        assert "Nothing is touched here." in second.text
        claude.wait_dialog()
        assert not scene.made("denied")
        assert not scene.made("asked")
    finally:
        if trouble == "killed":
            scene.yourcall.start()
        else:
            scene.yourcall.signal(signal.SIGCONT)


def test_in_a_run_without_a_person_a_deny_holds_without_a_daemon(scene: Scene) -> None:
    """Nobody could be asked either: what a rule wants asked is not run."""
    set_up(scene)
    scene.yourcall.kill()
    try:
        words = scene.model.script("once", [FREE], [DENIED], [ASKED], [text("Printed.")])
        done = subprocess.run(
            [scene.binary, "-p", words, "--permission-mode", "auto"], env=environment(scene.home, scene.model),
            cwd=scene.home.project, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
            check=True,
        )  # fmt: skip
        assert "Printed." in done.stdout
        assert (scene.made("free"), scene.made("denied"), scene.made("asked")) == (True, False, False)
    finally:
        scene.yourcall.start()


def test_a_variable_in_a_projects_settings_silences_no_rule(scene: Scene) -> None:
    set_up(scene)
    own = scene.home.project / ".claude" / "settings.json"
    own.parent.mkdir(exist_ok=True)
    own.write_text(json.dumps({"env": {"YOURCALL_OWNED": "1"}}))
    claude = in_auto_mode(scene, DENIED, ASKED)
    (result,) = scene.model.wait_for(lambda m: m.tool_results())
    assert result.is_error
    assert "Nothing is touched here." in result.text
    claude.wait_dialog()
    (prompt,) = until(  # and what asks a person is heard of as well
        lambda: [p for p in scene.yourcall.prompts() if p["tool"]["input"]["command"] == "mkdir asked"]
    )
    assert prompt["held"]
    assert not scene.made("denied")
    assert not scene.made("asked")


@pytest.fixture
def driven(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Driven]:
    with drive(tmp_path, claude_home, claude_bin, model) as running:
        yield running


def test_a_session_that_yourcall_drives_is_denied_the_same_in_auto_mode(driven: Driven, claude_bin: Path) -> None:
    """Its hooks were silent altogether; over the pipes, auto mode asks us nothing."""
    (driven.yourcall.home / "rules.toml").write_text(RULES)
    (driven.home.project / "here").write_text("")
    assert driven.yourcall.run("setup", "claude", "--rules", "--yes", "--cli", str(claude_bin)).code == 0
    session = driven.start([FREE], [DENIED], [ASKED], [text("Done.")], permission_mode="auto")
    prompt = driven.next(session, "permission")
    first, second = driven.model.tool_results()
    assert not first.is_error
    assert second.is_error
    assert "Nothing is touched here." in second.text
    assert prompt["tool"]["input"]["command"] == "mkdir asked"
    assert not driven.made("denied")
    row = driven.session(session)
    assert row is not None
    assert (row["mode"], [link["kind"] for link in row["links"]]) == ("headless", ["stdio"])
    assert driven.answer(prompt, option="allow")["result"] == "confirmed"
    assert driven.made("asked")
    (line,) = until(  # what came of a deny is known once Claude's own record shows it
        lambda: [
            row for row in driven.yourcall.http("GET", "/api/log")[1] if row["via"] == "rule" and row["outcome"]
        ]
    )
    assert (line["by"], line["outcome"]) == ("rule no-touching", "denied")
