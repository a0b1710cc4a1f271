"""What `doctor` looks at in Gemini CLI: its version, its settings, and what keeps its dialogs from being answered.

Rule: says nothing where Gemini CLI is neither installed nor connected.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from yourcall.agents.gemini.setup import blocked
from yourcall.agents.set_up import Version, show_version
from yourcall.agents.settings_text import uncommented
from yourcall.cli import changes
from yourcall.cli.client import get
from yourcall.cli.connectable import GEMINI
from yourcall.cli.finding import Finding, note, well, wrong
from yourcall.cli.installed import Installed, ask, find, versions
from yourcall.cli.place import Place, Problem
from yourcall.cli.settings_file import read
from yourcall.cli.views import Session
from yourcall.cli.views import read as view
from yourcall.model import TERMINALS, Refused

# The version that everything was measured with (docs/reference/agents/gemini.md).
MEASURED: Version = (0, 61, 0)


def connection(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """Installed, new enough, and calling us."""
    programs = _programs()
    noted = any(change.agent == "gemini" for change in changes.noted(place.home))
    if not programs and not noted:
        return []
    found = [
        note("gemini", f"{program.path} did not tell its version.", f"Try it yourself: {program.path} --version")
        for program in programs
        if program.version is None
    ]
    known = versions(programs)
    if known:
        found.append(well("gemini", f"Gemini CLI {', '.join(map(show_version, known))} is installed."))
    newer = [version for version in known if version > MEASURED]
    if newer:
        says = f"Gemini CLI {show_version(max(newer))} is newer than the one yourcall was tried with"
        found.append(note("gemini", f"{says} ({show_version(MEASURED)}): a dialog may be shown as unknown."))
    for state in changes.states_of(GEMINI, place.home, known):
        if not state.findings:
            found.append(well("hooks", f"Gemini CLI calls yourcall ({state.path})."))
        level = wrong if noted else note
        found += [level("hooks", f"{each.says} ({state.path})", each.do) for each in state.findings]
    return found


def settings(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """What the person's settings switch off that we look at: hooks, and the title of the terminal."""
    if not _programs():
        return []
    found: list[Finding] = []
    known = {Path(change.path) for change in changes.noted(place.home)}
    for scope in changes.scopes_here()[:2]:
        path = changes.settings_of("gemini", scope, Path())
        text = read(path)
        if isinstance(text, Refused) or text.text is None:
            continue
        if path not in known and scope == "project":
            found += [wrong("hooks", f"{each.says} ({path})", each.do) for each in blocked(text.text)]
        ui = _section(text.text, "ui")
        if ui.get("hideWindowTitle") is True or ui.get("dynamicWindowTitle") is False:
            says = f"Gemini CLI does not say in its title what it is doing ({path})"
            found.append(note("title", f"{says}: a dialog is then told by its shape on the screen alone."))
    return found


def running(place: Place, told: dict[str, Any]) -> list[Finding]:
    """Sessions that run now and that can only be watched."""
    if not told["running"]:
        return []
    try:
        sessions = view(get(place.home, "/api/sessions"), list[Session])
    except Problem:
        return []
    mine = [s for s in sessions if s.agent == "gemini" and s.state != "ended" and s.mode == "terminal"]
    outside = [s for s in mine if not any(link.kind in TERMINALS for link in s.links)]
    return [
        note(
            "session",
            f"The session {each.id[:8]} in {each.cwd} does not run in tmux: its prompts are shown, not answered.",
            "Start it inside tmux, or with: yourcall run -- gemini",
        )
        for each in outside
    ]


def _section(text: str, name: str) -> dict[str, Any]:
    try:
        told: Any = json.loads(uncommented(text) or "{}")
    except (ValueError, RecursionError):
        return {}
    section: Any = cast("dict[str, Any]", told).get(name) if isinstance(told, dict) else None
    return cast("dict[str, Any]", section) if isinstance(section, dict) else {}


@cache
def _programs() -> list[Installed]:
    """Asked once: each takes a second or two to tell its version."""
    return ask(find("gemini"))


CHECKS = (connection, settings, running)
