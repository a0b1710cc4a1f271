"""Older versions of Claude Code: a permission, a question and a plan are answered and confirmed there too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.claude import start_claude
from kit.turns import plan_file, text, tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kit.claude import Claude, ClaudeHome
    from kit.model_server import ModelServer
    from kit.terminal import Tmux
    from kit.turns import Block

pytestmark = pytest.mark.soak

TOUCH = tool("Bash", command="touch marker", description="Make the marker")
PLAN = "# Plan\n\n1. Create `health.py`\n"
QUESTION = {
    "question": "Which database should we use?",
    "header": "Database",
    "multiSelect": False,
    "options": [{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}],
}


@pytest.fixture(params=["2.0.76", "2.1.197"])
def binary(request: pytest.FixtureRequest, fetched: Callable[..., Path]) -> Path:
    return fetched("claude", request.param)


@pytest.fixture
def connected(binary: Path, tmp_path: Path, claude_home: ClaudeHome) -> Iterator[Yourcall]:
    with Yourcall(tmp_path, claude_home) as running:
        running.setup_claude(binary)
        yield running


def ask(
    tmux: Tmux, binary: Path, home: ClaudeHome, model: ModelServer, *turns: list[Block], mode: str = "default"
) -> Claude:
    words = model.script("work", *turns)
    claude = start_claude(tmux, binary, home, model, args=("--permission-mode", mode))
    claude.say(words)
    return claude


def test_a_permission(
    binary: Path, connected: Yourcall, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux
) -> None:
    ask(tmux, binary, claude_home, model, [TOUCH], [TOUCH], [text("Done.")])
    first = connected.wait_prompt()
    said = connected.run("answer", first["id"], "deny", "--text", "Not now.")
    assert said.code == 0, (said, connected.show(first["id"]))
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert "Not now." in result.text
    second = connected.wait_prompt()
    assert second["id"] != first["id"]
    said = connected.run("answer", second["id"], "allow")
    assert said.code == 0, (said, connected.show(second["id"]))
    assert (claude_home.project / "marker").exists()


def test_the_desk_is_told_when_its_call_is_over(
    binary: Path, connected: Yourcall, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux
) -> None:
    claude = ask(tmux, binary, claude_home, model, [TOUCH], [text("Done.")])
    prompt = connected.wait_prompt()
    claude.wait_dialog()
    claude.press("1")
    connected.wait_state(prompt["id"], "desk")
    assert (claude_home.project / "marker").exists()


def test_a_question(
    binary: Path, connected: Yourcall, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux
) -> None:
    ask(tmux, binary, claude_home, model, [tool("AskUserQuestion", questions=[QUESTION])], [text("Thanks.")])
    prompt = connected.wait_prompt()
    said = connected.run("answer", prompt["id"], "SQLite")
    assert said.code == 0, (said, connected.show(prompt["id"]))
    (result,) = model.wait_for(lambda m: m.tool_results())
    assert "SQLite" in result.text


def test_a_plan(
    binary: Path, connected: Yourcall, claude_home: ClaudeHome, model: ModelServer, tmux: Tmux
) -> None:
    write = tool("Write", file_path=str(claude_home.project / "health.py"), content="ok = True\n")
    ask(
        tmux, binary, claude_home, model, [tool("Write", file_path=plan_file, content=PLAN)],
        [tool("ExitPlanMode", plan=PLAN)], [write], [text("Done.")], mode="plan",
    )  # fmt: skip
    prompt = connected.wait_prompt()
    assert prompt["kind"] == "plan"
    said = connected.run("answer", prompt["id"], "approve_edits")
    assert said.code == 0, (said, connected.show(prompt["id"]))
    model.wait_for(lambda m: any(r.name == "Write" and not r.is_error for r in m.tool_results()[1:]))
    assert (claude_home.project / "health.py").exists()
