"""Dialogs that no hook reaches, read from the real Claude's screen and answered with verified keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kit.claude import ClaudeHome, start_claude
from kit.poll import until
from kit.turns import text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.claude import Claude
    from kit.model_server import ModelServer
    from kit.terminal import Tmux

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
AGAIN = tool("Bash", command="touch second", description="Make the second marker")


@pytest.fixture
def bare(tmp_path: Path, claude_home: ClaudeHome) -> Iterator[Yourcall]:
    """A running yourcall that no agent was connected to: there are no hooks."""
    with Yourcall(tmp_path, claude_home) as running:
        yield running


@pytest.fixture
def start(claude_bin: Path, model: ModelServer, claude_home: ClaudeHome, bare: Yourcall, tmux: Tmux) -> Any:
    """Start Claude, and tell yourcall which pane it is in."""

    def run(*args: str, **given: Any) -> Claude:
        claude = start_claude(
            tmux, claude_bin, claude_home, model, **({"args": args} if args else {}), **given
        )
        watch(bare, claude)
        return claude

    return run


def watch(yourcall: Yourcall, claude: Claude) -> None:
    pane = claude.terminal
    status, said = yourcall.http("POST", "/api/panes", {"server": str(pane.tmux.socket), "pane": pane.id})
    assert status == 201, said


def forget(home: ClaudeHome, *keys: str) -> None:
    """As if the person had never decided this."""
    file = home.path / ".claude.json"
    state = json.loads(file.read_text())
    for key in keys:
        del state[key]
    file.write_text(json.dumps(state))


def state_of(home: ClaudeHome) -> dict[str, Any]:
    return json.loads((home.path / ".claude.json").read_text())


def test_trust_is_answered_yes_with_an_arrow_and_enter(start: Any, bare: Yourcall, claude_home: ClaudeHome) -> None:
    forget(claude_home, "projects")
    claude = start()
    prompt = bare.wait_prompt()
    assert (prompt["kind"], prompt["held"], prompt["cwd"]) == ("trust", True, str(claude_home.project))
    assert str(claude_home.project) in prompt["title"]
    said = bare.run("answer", prompt["id"], "yes")
    assert said.code == 0, said
    claude.wait_ready()
    trusted = until(lambda: state_of(claude_home).get("projects"))
    assert trusted[str(claude_home.project)]["hasTrustDialogAccepted"] is True
    assert bare.prompts() == []
    history = bare.show(prompt["id"])["history"]
    assert [m["state"] for m in history] == ["open", "answering", "sent", "accepted", "confirmed"]
