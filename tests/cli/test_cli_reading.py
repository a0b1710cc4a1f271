"""The rules that the how-to recommends, through the real hook and the real daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from scripted_claude import ScriptedClaude

from kit.yourcall import Yourcall

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "rules.md"


def heard(yc: Yourcall, claude: ScriptedClaude, tool: str, **fields: str) -> str:
    """What Claude hears from our hook before it runs a tool; empty if nothing."""
    payload = {
        "session_id": claude.session_id,
        "hook_event_name": "PreToolUse",
        "transcript_path": str(claude.transcript),
        "cwd": str(claude.project),
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": fields,
        "tool_use_id": "toolu_1",
    }
    done = subprocess.run(
        [str(yc.home / "hook"), "claude", "Rules"], input=json.dumps(payload).encode(), capture_output=True,
        env={"PATH": os.defpath, "CLAUDE_PID": str(claude.pid)}, timeout=30, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] if done.stdout else ""


def test_the_recommended_rules_allow_reading_in_the_project_only(
    yc: Yourcall, claude: ScriptedClaude, tmp_path: Path
) -> None:
    recommended = re.search(r"```toml\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    assert recommended is not None
    (yc.home / "rules.toml").write_text(recommended[1])
    claude.is_("busy")
    (claude.project / "notes.md").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (claude.project / "link").symlink_to(elsewhere)
    assert heard(yc, claude, "Bash", command="cat notes.md && rg '/api/users' .") == "allow"
    assert heard(yc, claude, "Read", file_path=str(claude.project / "notes.md")) == "allow"
    for command in (f"cat {elsewhere}/x", f"rg -uuu . {elsewhere}", "rg -uuu . /opt", "cat link/x", "ls .."):
        assert heard(yc, claude, "Bash", command=command) != "allow", command
    assert heard(yc, claude, "Bash", command=f"cat {elsewhere}/x") == ""  # nothing is said: Claude asks
    assert heard(yc, claude, "Read", file_path=f"{elsewhere}/x") == ""
    assert heard(yc, claude, "Grep", pattern="x", path=str(elsewhere)) != "allow"
    for command in ("cat ~/.config/Signal/config.json", "cat gcp-key.json", "cat /etc/wireguard/wg0.conf"):
        assert heard(yc, claude, "Bash", command=command) == "deny", command
    why = yc.run("rules", "test", f"cat {elsewhere}/x", "--dir", str(claude.project))
    assert "read outside" in why.out, why.out + why.err


def test_writing_in_the_project_is_not_writing_what_agents_obey(yc: Yourcall, claude: ScriptedClaude) -> None:
    (yc.home / "rules.toml").write_text('[in]\ndo = "allow"\neffect = ["read", "write_inside"]\n')
    claude.is_("busy")
    assert heard(yc, claude, "Bash", command="echo x > notes.md") == "allow"
    assert heard(yc, claude, "Write", file_path=str(claude.project / "notes.md"), content="x") == "allow"
    for name in (
        "CLAUDE.md",
        "AGENTS.md",
        "sub/GEMINI.md",
        ".cursorrules",
        ".mcp.json",
        "x.code-workspace",
        ".pylintrc",
    ):
        assert heard(yc, claude, "Bash", command=f"echo x > {name}") == "", name
        assert heard(yc, claude, "Write", file_path=str(claude.project / name), content="x") == "", name
