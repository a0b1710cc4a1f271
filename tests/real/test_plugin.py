"""The plugin for Claude Code, installed by the real one; and an administrator's settings, with a private /etc."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.claude import environment, start_claude
from kit.poll import PATIENCE_S, until
from kit.turns import text, tool
from kit.yourcall import COMMAND, Yourcall
from real.test_managed_real import ONLY, Machine
from yourcall.agents.claude import setup
from yourcall.agents.setup_spec import Edited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux

ROOT = Path(__file__).parents[2]
TOUCH = tool("Bash", command="touch marker", description="Make the marker")


@pytest.fixture
def alone(tmp_path: Path, claude_home: ClaudeHome) -> Iterator[Yourcall]:
    """A running yourcall that no settings call."""
    with Yourcall(tmp_path, claude_home) as running:
        yield running


@pytest.mark.soak
def test_the_plugin_hands_a_permission_over_once(
    claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, alone: Yourcall, tmux: Tmux
) -> None:
    env = {"YOURCALL_HOME": str(alone.home)}
    claude = start_claude(tmux, claude_bin, claude_home, model, env=env)
    claude.say(f"/plugin marketplace add {ROOT}")
    until(lambda: claude.terminal.shows("Successfully added marketplace: yourcall"), what="the marketplace")
    claude.say("/plugin install yourcall@yourcall")
    claude.wait_dialog("Will install")
    claude.press("Enter")
    until(lambda: "yourcall@yourcall" in claude_home.settings.read_text(), what="the plugin")
    claude.kill()

    words = model.script("work", [TOUCH], [text("Made it.")])
    claude = start_claude(tmux, claude_bin, claude_home, model, env=env)
    claude.say(words)
    prompt = alone.wait_prompt()
    claude.wait_dialog()
    assert alone.run("answer", prompt["id"], "allow").code == 0
    assert [result.is_error for result in model.wait_for(lambda m: m.tool_results())] == [False]

    # `setup` sees it, and changes nothing.
    said = alone.run("setup", "claude", "--yes", "--cli", str(claude_bin))
    assert "plugin connects Claude Code already" in said.out, said
    found = json.loads(alone.run("setup", "--json").out)
    assert [each["findings"] for each in found if each["agent"] == "claude"] == [[]]

    # With hooks in the settings as well, each prompt is handed over once.
    ours = alone.run("setup", "claude", "--yes", "--cli", str(claude_bin), "--ask", "Bash")
    assert ours.code == 0, ours
    claude.kill()
    words = model.script("again", [tool("Bash", command="touch second", description="Make it")], [text("Done.")])
    claude = start_claude(tmux, claude_bin, claude_home, model, env=env)
    claude.say(words)
    claude.wait_dialog()
    alone.wait_prompt()
    until(lambda: len(claude.hooks()) == 1, what="one hook that holds it")
    assert len(alone.prompts()) == 1
    assert len(claude.hooks()) == 1


@pytest.mark.soak
def test_an_administrator_connects_everybody(
    tmp_path: Path, claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, alone: Yourcall
) -> None:
    machine = Machine(tmp_path)
    machine.says({"managed-settings.json": ONLY})
    people = machine.etc / "passwd"
    lines = [line.split(":") for line in people.read_text().splitlines()]
    people.write_text("".join(f"{':'.join([*line[:5], str(claude_home.path), line[6]])}\n" for line in lines))
    (claude_home.path / ".yourcall").symlink_to(alone.home)
    env = {**alone.env, "PATH": f"{claude_bin.parent}{os.pathsep}{alone.env['PATH']}"}

    locked = machine.run([str(COMMAND), "doctor"], env, claude_home.path).stdout
    assert "sudo yourcall setup claude --scope managed" in locked
    done = machine.run([str(COMMAND), "setup", "claude", "--scope", "managed", "--yes"], env, claude_home.path)
    assert done.returncode == 0, done
    written = machine.etc / "claude-code"
    assert (written / "yourcall-hook").stat().st_mode & 0o777 == 0o755
    assert (written / "managed-settings.d" / "50-yourcall.json").stat().st_mode & 0o777 == 0o644
    # Hooks of a person's own beside them tell nothing twice.
    machine.run([str(COMMAND), "setup", "claude", "--ask", "Read", "--yes"], env, claude_home.path)
    words = model.script("hi", [text("Hi.")])
    ran = machine.run([str(claude_bin), "-p", words], environment(claude_home, model), claude_home.project)
    assert ran.stdout.strip() == "Hi.", ran
    until(lambda: "SessionSeen" in alone.facts(), what="our hooks to be called")
    found = json.loads(machine.run([str(COMMAND), "doctor", "--json"], env, claude_home.path).stdout)
    hooks = [each for each in found if each["check"] == "hooks" and "Codex" not in each["says"]]
    assert [each for each in hooks if each["level"] == "wrong"] == []
    assert any("for everybody on this machine" in each["says"] for each in hooks)

    undone = machine.run(
        [str(COMMAND), "setup", "claude", "--scope", "managed", "--undo", "--yes"], env, claude_home.path
    )
    assert undone.returncode == 0, undone
    assert [path.name for path in written.rglob("*") if path.is_file()] == ["managed-settings.json"]


@pytest.mark.parametrize("beside", ["nothing", "settings", "no yourcall"])
def test_the_plugin_leaves_what_the_settings_tell_to_them(tmp_path: Path, beside: str) -> None:
    home = tmp_path / ".yourcall"
    (tmp_path / ".claude").mkdir()
    if beside != "no yourcall":
        home.mkdir()
        (home / "hook").write_text('#!/bin/sh\necho "$@" called\n')
        (home / "hook").chmod(0o755)
    if beside == "settings":
        settings = setup.add(None, str(home / "hook"), [(2, 1, 325)])
        assert isinstance(settings, Edited)
        (tmp_path / ".claude" / "settings.json").write_text(settings.text or "")

    def says(event: str) -> str:
        call = [str(ROOT / "plugins" / "claude-code" / "call"), event]
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "CLAUDE_PROJECT_DIR": str(tmp_path)}
        done = subprocess.run(call, env=env, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        return done.stdout

    assert says("Stop") == {"nothing": "claude Stop called\n"}.get(beside, "")
    assert ("uv tool install yourcall" in says("Missing")) == (beside == "no yourcall")


def test_the_plugin_has_the_hooks_that_setup_writes() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import gen_plugin
    finally:
        sys.path.pop(0)
    plugin = gen_plugin.PLUGIN
    assert json.loads((plugin / "hooks" / "hooks.json").read_text()) == gen_plugin.hooks()
    assert json.loads((plugin / ".claude-plugin" / "plugin.json").read_text()) == gen_plugin.manifest()
