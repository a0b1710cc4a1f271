"""Writes the hooks of the Claude Code plugin, from the one table of its events: `make format` runs this.

Rule: the plugin has the very hooks that `yourcall setup claude` writes for a new Claude Code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from yourcall import __version__
from yourcall.agents.claude import setup

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugins" / "claude-code"
CALL = '"${CLAUDE_PLUGIN_ROOT}/call"'
MISSING = {"type": "command", "command": f"{CALL} Missing", "timeout": setup.INFORM_SECONDS}


def hooks() -> dict[str, Any]:
    newest = max(event.since for event in setup.EVENTS.values())
    found: dict[str, Any] = {
        name: [{"hooks": [{**hook, "command": f"{CALL} {name}"}]}]
        for name, hook in setup.wanted("", [max(newest, setup.ASYNC_SINCE)]).items()
    }
    found["SessionStart"].append({"hooks": [MISSING]})
    return {"description": "Hands what waits for you to yourcall.", "hooks": found}


def manifest() -> dict[str, Any]:
    return {**json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text()), "version": __version__}


def main() -> None:
    (PLUGIN / "hooks" / "hooks.json").write_text(json.dumps(hooks(), indent=2) + "\n")
    (PLUGIN / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest(), indent=2) + "\n")


if __name__ == "__main__":
    main()
