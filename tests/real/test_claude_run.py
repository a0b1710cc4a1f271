"""`yourcall run`: the real Claude in the person's own terminal, in a private tmux, and without a terminal."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from test_claude_headless import Here, shell_files

from kit.claude import Claude
from kit.poll import until
from kit.terminal import Pane
from kit.turns import text, tool
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")


@pytest.fixture
def here(tmp_path: Path, claude_home: ClaudeHome, claude_bin: Path, model: ModelServer) -> Iterator[Here]:
    shell_files(claude_home, claude_bin, model)
    running = Here(tmp_path, claude_home)
    running.home.mkdir(mode=0o700)
    (running.home / "config.toml").write_text("[claude]\nuse_api_billing = true\n")
    with running:
        running.setup_claude(claude_bin)
        yield running


def test_in_the_persons_own_terminal(here: Here, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux) -> None:
    """Started with a poor PATH: the login shell knows where `claude` is, and what it needs."""
    argv = [str(COMMAND), "run", "--", "claude", "--permission-mode", "manual"]
    env = {**here.env, "TERM": "tmux-256color"}
    claude = Claude(tmux.start(argv, cwd=claude_home.project, env=env), claude_home)
    claude.say(model.script("work", [TOUCH], [text("Made it.")]))
    prompt = here.wait_prompt()
    (row,) = here.http("GET", "/api/sessions")[1]
    assert (row["pid"], row["mode"]) == (claude.pid, "terminal")
    assert {link["kind"] for link in row["links"]} >= {"hook", "tmux"}
    claude.wait_dialog()
    assert here.run("answer", prompt["id"], "allow").code == 0
    assert (claude_home.project / "marker").exists()
    assert "x-api-key" in model.requests[-1].headers


def test_a_key_that_is_withheld_is_said(here: Here) -> None:
    env = {**here.env, "ANTHROPIC_API_KEY": "sk-ant-of-a-test", "CLAUDE_CODE_OAUTH_TOKEN": "oat", "TERM": "dumb"}
    for config, billed in (("", False), ("[claude]\nuse_api_billing = true\n", True)):
        (here.home / "config.toml").write_text(config)
        done = subprocess.run(
            [str(COMMAND), "run", "--", "env"], env=env, capture_output=True, text=True, check=True, timeout=20
        )
        assert ("ANTHROPIC_API_KEY=sk-ant-of-a-test" in done.stdout, "use_api_billing" in done.stderr) == (
            billed,
            not billed,
        )
        assert "CLAUDE_CODE_OAUTH_TOKEN=oat" in done.stdout
        assert "TERM=xterm-256color" in done.stdout
        assert "sk-ant" not in done.stderr


def test_in_a_private_tmux(here: Here, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux) -> None:
    """Its first dialog comes before any hook; it is read from the screen of that tmux."""
    other = claude_home.project.parent / "other"
    other.mkdir()
    said = here.run(
        "run", "--tmux", "--json", "--cwd", str(other), "--", "claude", "--permission-mode", "manual",
        model.script("work", [TOUCH], [text("Made it.")]),
    )  # fmt: skip
    assert said.code == 0, said
    started = said.json
    try:
        assert started["watched"], said
        trust = here.wait_prompt()
        assert trust["kind"] == "trust", trust
        (yes,) = [o for q in trust["questions"] for o in q["options"] if "trust" in o["label"].lower()]
        told = here.run("answer", trust["id"], yes["id"])
        assert told.code == 0, (told, here.show(trust["id"]))
        prompt = until(
            lambda: [p for p in here.prompts() if p["kind"] == "permission"],
            what="the permission",
            show=here.prompts,
        )[0]
        assert here.run("answer", prompt["id"], "allow").code == 0
        assert (other / "marker").exists()

        argv = [str(COMMAND), "attach", started["name"]]
        attached = tmux.start(argv, cwd=other, env={**here.env, "TERM": "tmux-256color"})
        assert isinstance(attached, Pane)
        until(lambda: "Made it." in attached.screen(), what="its screen", show=attached.screen)
        ended = here.run("stop", prompt["session_id"][:8])
        assert ended.code == 0, ended
    finally:
        here.run("stop", started["name"])
    until(lambda: not os.path.exists(started["server"]) or here.run("attach", started["name"]).code == 2)


def test_without_a_terminal(here: Here, claude_home: ClaudeHome, model: ModelServer) -> None:
    words = model.script("work", [TOUCH], [text("Made it.")])
    said = here.run("run", "--headless", "--cwd", str(claude_home.project), words)
    assert said.code == 0, said
    session = said.out.strip()
    prompt = here.wait_prompt()
    assert prompt["session_id"] == session
    assert here.run("answer", prompt["id"], "allow").code == 0
    assert (claude_home.project / "marker").exists()
    until(lambda: [p["kind"] for p in here.waiting()] == ["ready"], show=here.waiting)
    sent = here.run("send", session[:8], model.script("more", [text("Heard.")]))
    assert (sent.code, "Confirmed" in sent.out) == (0, True), sent
    until(lambda: [p["body"] for p in here.waiting()] == ["Heard."])
    assert here.run("stop", session[:8]).code == 0
    assert here.run("sessions", "--json").json == []
    assert here.run("stop", session).code == 2
    refused = here.run("run", "--headless", "--cwd", str(claude_home.project), "--resume", "no-such-one", "x")
    assert refused.code == 2, refused
    assert "ended at once" in refused.err
    assert "no-such-one" in refused.err
    assert json.loads((here.home / "daemon.json").read_text())["pid"] == here.pid
