"""What `doctor` looks at in Gemini CLI: its version, its settings, and what keeps its dialogs from being answered.

Rule: says nothing where Gemini CLI is neither installed nor connected.
"""

from __future__ import annotations

import json
from typing import Any, cast

from yourcall.agents.gemini.setup import blocked
from yourcall.agents.kit import doctor
from yourcall.agents.kit.doctor import only_watched
from yourcall.agents.kit.hook_settings import uncommented
from yourcall.agents.setup_spec import Health, Machine, Version, note
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/gemini.md).
MEASURED: Version = (0, 61, 0)


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and calling us."""
    return doctor.connection(machine, "gemini", "Gemini CLI", MEASURED, "Gemini CLI calls yourcall")


def settings(machine: Machine) -> list[Health]:
    """What the person's settings switch off that we look at: hooks, and the title of the terminal."""
    if not machine.programs:
        return []
    findings: list[Health] = []
    for scope, path, text in doctor.settings_texts(machine, machine.scopes[:2]):
        if path not in machine.changed and scope == "project":
            findings += doctor.blocked_here(path, blocked(text))
        ui = _section(text, "ui")
        if ui.get("hideWindowTitle") is True or ui.get("dynamicWindowTitle") is False:
            says = f"Gemini CLI does not say in its title what it is doing ({path})"
            findings.append(note("title", f"{says}: a dialog is then told by its shape on the screen alone."))
    return findings


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "does not run in tmux: its prompts are shown, not answered."
    return only_watched(machine, TERMINALS, says, "Start it inside tmux, or with: yourcall run -- gemini")


def _section(text: str, name: str) -> dict[str, Any]:
    try:
        payload: Any = json.loads(uncommented(text) or "{}")
    except (ValueError, RecursionError):
        return {}
    section: Any = cast("dict[str, Any]", payload).get(name) if isinstance(payload, dict) else None
    return cast("dict[str, Any]", section) if isinstance(section, dict) else {}


CHECKS = (connection, settings, running)
