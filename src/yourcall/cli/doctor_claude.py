"""What `doctor` looks at in Claude Code: its versions, its settings, and the undocumented signs we rely on.

Rule: a sign that is missing is said; nothing is assumed about a version that was not asked.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from yourcall.agents.claude.setup import Version, blocked, show_version
from yourcall.cli import changes
from yourcall.cli.client import get
from yourcall.cli.finding import Finding, note, well, wrong
from yourcall.cli.installed import Installed, ask, find_claude, versions
from yourcall.cli.place import Place, Problem
from yourcall.cli.settings_file import read
from yourcall.cli.views import Session
from yourcall.cli.views import read as view
from yourcall.model import Refused

# Measured: 2.1.197 starts in a mode that asks, 2.1.325 in `auto` (docs/reference/agents/claude-code.md).
LAST_THAT_ASKS: Version = (2, 1, 197)
FIRST_AUTO: Version = (2, 1, 325)

# Modes in which Claude Code decides by itself: no dialog, so no prompt, ever.
SILENT = {"auto": "auto", "bypassPermissions": "bypass-permissions", "dontAsk": "don't-ask"}

# Claude Code 2.1.325 then offers, once, to make auto mode the default after all, with Yes preselected.
_ASK_AGAIN = (
    'Put "permissions": {"defaultMode": "default"} into %s; should Claude Code then ask whether to make auto mode'
    " the default, choose No."
)


def connection(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """Installed, new enough, and calling us; in the user's settings and in every file that setup changed."""
    programs = _programs()
    found = [
        note("claude", f"{program.path} did not tell its version.", f"Try it yourself: {program.path} --version")
        for program in programs
        if program.version is None
    ]
    known = versions(programs)
    if not programs:
        found.append(note("claude", "Claude Code is not installed, or not on your PATH."))
    elif known:
        found.append(well("claude", f"Claude Code {', '.join(show_version(v) for v in known)} is installed."))
    said: set[str] = set()
    mine = {change.path for change in changes.noted(place.home) if change.agent == "claude"}
    for state in changes.states(place.home, known):
        # Who has no Claude Code need not connect it.
        level = wrong if programs or state.path in mine else note
        if not state.findings:
            found.append(well("hooks", f"Claude Code calls yourcall ({state.path})."))
        for each in state.findings:
            if each.code in said and each.code in ("too_old",):
                continue
            said.add(each.code)
            found.append(level("hooks", f"{each.says} ({state.path})", each.do))
    return found


def project(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """Settings of the project in this folder can switch all hooks off, too."""
    found: list[Finding] = []
    for scope in changes.scopes_here()[1:]:
        path = changes.claude_settings(scope, Path())
        text = _text(path)
        known = {Path(change.path) for change in changes.noted(place.home)}
        if text is not None and path not in known:
            found += [wrong("hooks", f"{each.says} ({path})", each.do) for each in blocked(text)]
    return found


def mode(_place: Place, _told: dict[str, Any]) -> list[Finding]:
    """In which mode will a session start here, and does anybody get asked in it?"""
    user = changes.claude_settings("user", Path())
    chosen, where = "", user
    for scope in changes.scopes_here():
        path = changes.claude_settings(scope, Path())
        said = default_mode(_text(path))
        # A project cannot switch a person to auto mode: Claude Code ignores it there.
        if said and not (said == "auto" and scope != "user"):
            chosen, where = said, path
    if chosen in SILENT:
        says = f"Sessions start in {SILENT[chosen]} mode ({where}), where no dialog ever comes."
        return [wrong("mode", says, _ASK_AGAIN % where)]
    if chosen:
        return [well("mode", f"Sessions start in {chosen} mode ({where}), where you are asked.")]
    known = versions(_programs())
    newest = max(known, default=LAST_THAT_ASKS)
    if newest <= LAST_THAT_ASKS:
        return []
    word = "starts" if newest >= FIRST_AUTO else "may start"
    says = (
        f"Claude Code {show_version(newest)} {word} in auto mode unless told otherwise; no dialog ever comes then."
    )
    return [wrong("mode", says, _ASK_AGAIN % user)]


def running(place: Place, told: dict[str, Any]) -> list[Finding]:
    """Sessions that run now: their mode, and whether the undocumented signs of an ended prompt are there."""
    if not told["running"]:
        return []
    try:
        sessions = view(get(place.home, "/api/sessions"), list[Session])
    except Problem:
        return []
    mine = [s for s in sessions if s.agent == "claude" and s.state != "ended" and s.mode == "terminal"]
    found: list[Finding] = []
    for session in mine:
        name = f"The session {session.id[:8]} in {session.cwd}"
        if session.permission_mode in SILENT:
            says = f"{name} is in {SILENT[session.permission_mode]} mode: it asks nobody."
            found.append(note("session", says, "Switch its mode with shift+tab."))
    unsigned = [
        s for s in mine if s.pid and not (changes.claude_folder() / "sessions" / f"{s.pid}.json").is_file()
    ]
    if unsigned:
        says = (
            f"Claude Code keeps no session file for pid {', '.join(str(s.pid) for s in unsigned)}, so an answer"
            " given at the desk is noticed late."
        )
        found.append(
            note("signs", says, "Nothing to do: it is an undocumented file; other signs are used instead.")
        )
    elif mine:
        found.append(well("signs", "Claude Code's session files are there: a prompt's end is noticed at once."))
    return found


def default_mode(text: str | None) -> str:
    """`permissions.defaultMode` of a settings text, if it has one that makes sense."""
    try:
        settings = json.loads(text or "")
    except (ValueError, RecursionError):
        return ""
    permissions: Any = cast("dict[str, Any]", settings).get("permissions") if isinstance(settings, dict) else None
    said: Any = cast("dict[str, Any]", permissions).get("defaultMode") if isinstance(permissions, dict) else None
    return said if isinstance(said, str) else ""


@cache
def _programs() -> list[Installed]:
    """Asked once: each takes a fraction of a second to tell its version."""
    return ask(find_claude(changes.claude_folder()))


def _text(path: Path) -> str | None:
    found = read(path)
    return None if isinstance(found, Refused) else found.text


CHECKS = (connection, project, mode, running)
