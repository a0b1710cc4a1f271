"""What `doctor` looks at in Claude Code: its versions, its settings, and the undocumented signs we rely on.

Rule: a sign that is missing is said; nothing is assumed about a version that was not asked.
"""

from __future__ import annotations

import json
from typing import Any, cast

from yourcall.agents.claude.managed import above, managed
from yourcall.agents.claude.setup import blocked
from yourcall.agents.kit.doctor import blocked_here, settings_texts
from yourcall.agents.setup_spec import Health, Machine, Version, note, show_version, well, wrong
from yourcall.model.prompts import Refused

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


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and calling us; in the user's settings and in every file that setup changed."""
    programs, known = machine.programs, machine.versions
    found = [
        note("claude", f"The version of {program.path} is unknown.", f"Try it yourself: {program.path} --version")
        for program in programs
        if program.version is None
    ]
    if not programs:
        found.append(note("claude", "Claude Code is not installed, or not on your PATH."))
    elif known:
        found.append(well("claude", f"Claude Code {', '.join(show_version(v) for v in known)} is installed."))
    findings = list(above(machine).findings)
    found += [(wrong if programs else note)("hooks", each.says, each.do) for each in findings]
    texts: set[str] = set()
    connected = managed(machine).connected()
    if connected:
        found.append(well("hooks", f"Claude Code calls yourcall, for everybody on this machine ({connected})."))
    for state in machine.states():
        if connected and not state.findings:
            continue
        # Who has no Claude Code need not connect it.
        level = wrong if programs or state.path in machine.changed else note
        if not state.findings:
            found.append(well("hooks", f"Claude Code calls yourcall ({state.path})."))
        for each in state.findings:
            if each in findings:
                continue  # said already, with the file it stands in
            if each.code in texts and each.code in ("too_old",):
                continue
            texts.add(each.code)
            found.append(level("hooks", f"{each.says} ({state.path})", each.do))
    return found


def project(machine: Machine) -> list[Health]:
    """Settings of the project in this folder can switch all hooks off, too."""
    findings: list[Health] = []
    for _, path, text in settings_texts(machine, machine.scopes[1:]):
        if path not in machine.changed and not managed(machine).allows_hooks():
            findings += blocked_here(path, blocked(text))
    return findings


def mode(machine: Machine) -> list[Health]:
    """In which mode will a session start here, and does anybody get asked in it?"""
    user = machine.settings("user")
    chosen, where = "", user
    for scope in machine.scopes:
        path = machine.settings(scope)
        text = default_mode(_text(machine, path))
        # A project cannot switch a person to auto mode: Claude Code ignores it there.
        if text and not (text == "auto" and scope != "user"):
            chosen, where = text, path
    decreed, file = managed(machine).default_mode()
    if decreed:
        chosen, where = decreed, file
    if chosen in SILENT:
        says = f"Sessions start in {SILENT[chosen]} mode ({where}), where no dialog ever comes."
        return [wrong("mode", says, _ASK_AGAIN % where)]
    if chosen:
        return [well("mode", f"Sessions start in {chosen} mode ({where}), where you are asked.")]
    newest = max(machine.versions, default=LAST_THAT_ASKS)
    if newest <= LAST_THAT_ASKS:
        return []
    word = "starts" if newest >= FIRST_AUTO else "may start"
    says = (
        f"Claude Code {show_version(newest)} {word} in auto mode unless told otherwise; no dialog ever comes then."
    )
    return [wrong("mode", says, _ASK_AGAIN % user)]


def running(machine: Machine) -> list[Health]:
    """Sessions that run now: their mode, and whether the undocumented signs of an ended prompt are there."""
    findings: list[Health] = []
    for session in machine.sessions:
        if session.permission_mode in SILENT:
            says = f"The session {session.id[:8]} in {session.cwd} is in {SILENT[session.permission_mode]} mode"
            findings.append(note("session", f"{says}: it asks nobody.", "Switch its mode with shift+tab."))
    unsigned = [
        s for s in machine.sessions if s.pid and not machine.exists(f"{machine.folder}/sessions/{s.pid}.json")
    ]
    if unsigned:
        says = (
            f"Claude Code keeps no session file for pid {', '.join(str(s.pid) for s in unsigned)}, so an answer"
            " given at the desk is noticed late."
        )
        findings.append(
            note("signs", says, "Nothing to do: it is an undocumented file; other signs are used instead.")
        )
    elif machine.sessions:
        findings.append(well("signs", "Claude Code's session files are there: a prompt's end is noticed at once."))
    return findings


def default_mode(text: str | None) -> str:
    """`permissions.defaultMode` of a settings text, if it has one that makes sense."""
    try:
        settings = json.loads(text or "")
    except (ValueError, RecursionError):
        return ""
    permissions: Any = cast("dict[str, Any]", settings).get("permissions") if isinstance(settings, dict) else None
    payload: Any = (
        cast("dict[str, Any]", permissions).get("defaultMode") if isinstance(permissions, dict) else None
    )
    return payload if isinstance(payload, str) else ""


def _text(machine: Machine, path: str) -> str | None:
    text = machine.read(path)
    return None if isinstance(text, Refused) else text


CHECKS = (connection, project, mode, running)
