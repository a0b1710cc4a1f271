"""A real agent asks a person through `yourcall mcp`: Claude starts it, calls `ask_human`, and hears the answer."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from kit.claude import environment
from kit.turns import text, tool
from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from kit.claude import ClaudeHome
    from kit.model_server import ModelServer
    from kit.yourcall import Yourcall


def test_claude_asks_a_person_and_hears_the_answer(
    tmp_path: Path, yourcall: Yourcall, claude_bin: Path, claude_home: ClaudeHome, model: ModelServer
) -> None:
    config = tmp_path / "mcp.json"
    server = {"command": str(COMMAND), "args": ["--home", str(yourcall.home), "mcp", "--name", "Claude"]}
    config.write_text(json.dumps({"mcpServers": {"yourcall": server}}))
    asks = tool("mcp__yourcall__ask_human", question="Which region?", options=["eu", "us"])
    words = model.script("work", [asks], [text("Thank you.")])
    claude = subprocess.Popen(
        [
            str(claude_bin), "-p", words, "--mcp-config", str(config), "--strict-mcp-config",
            "--allowedTools", "mcp__yourcall__ask_human",
        ],
        env=environment(claude_home, model), cwd=claude_home.project,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        prompt = yourcall.wait_prompt()
        assert (prompt["agent"], prompt["kind"], prompt["title"]) == ("script", "question", "Which region?")
        said = yourcall.run("answer", prompt["id"], "us", "--wait", "20")
        assert said.code == 0, said
        out, err = claude.communicate(timeout=60)
    finally:
        claude.kill()
        claude.wait(10)
    assert (claude.returncode, out.strip()) == (0, "Thank you."), err
    (heard,) = model.tool_results()
    assert "The person chose: us" in heard.text
