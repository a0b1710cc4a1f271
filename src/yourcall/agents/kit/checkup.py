"""What the check-ups of several agents have in common: which versions are installed, and sessions out of reach.

Rule: nothing is assumed about a version that was not asked.
"""

from __future__ import annotations

from collections.abc import Collection

from yourcall.agents.kit.setup import Version, show_version
from yourcall.agents.setup_spec import Health, Machine, note, well


def installed(machine: Machine, check: str, title: str) -> list[Health]:
    """The versions, and programs that did not tell theirs."""
    found = [
        note(check, f"The version of {program.path} is unknown.", f"Try it yourself: {program.path} --version")
        for program in machine.programs
        if program.version is None
    ]
    if machine.versions:
        found.append(well(check, f"{title} {', '.join(map(show_version, machine.versions))} is installed."))
    return found


def newer(machine: Machine, check: str, title: str, measured: Version) -> list[Health]:
    """Versions that nobody has tried yet."""
    if not machine.versions or max(machine.versions) <= measured:
        return []
    says = f"{title} {show_version(max(machine.versions))} is newer than the one yourcall was tried with"
    return [note(check, f"{says} ({show_version(measured)}): a dialog may be shown as unknown.")]


def only_watched(machine: Machine, links: Collection[str], says: str, do: str) -> list[Health]:
    """Sessions that run now, and that none of these links reaches."""
    return [
        note("session", f"The session {each.id[:8]} in {each.cwd} {says}", do)
        for each in machine.sessions
        if not any(kind in links for kind in each.links)
    ]
