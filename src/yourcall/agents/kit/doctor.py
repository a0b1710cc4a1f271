"""What the check-ups of several agents have in common: which versions are installed, and sessions out of reach.

Rule: nothing is assumed about a version that was not asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from yourcall.agents.setup_spec import Finding, Health, Machine, Scope, Version, note, show_version, well, wrong


def installed(machine: Machine, check: str, title: str) -> list[Health]:
    """The versions, and programs that did not tell theirs."""
    findings = [
        note(check, f"The version of {program.path} is unknown.", f"Try it yourself: {program.path} --version")
        for program in machine.programs
        if program.version is None
    ]
    if machine.versions:
        findings.append(well(check, f"{title} {', '.join(map(show_version, machine.versions))} is installed."))
    return findings


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


def connection(
    machine: Machine, agent: str, title: str, measured: Version, connected: str, check: str = "hooks"
) -> list[Health]:
    """Installed, new enough, and connected. `connected`: what to say where nothing is wrong."""
    if not machine.programs and not machine.changed:
        return []
    findings = installed(machine, agent, title) + newer(machine, agent, title, measured)
    level = wrong if machine.changed else note
    for state in machine.states():
        if not state.findings:
            findings.append(well(check, f"{connected} ({state.path})."))
        findings += [level(check, f"{each.says} ({state.path})", each.do) for each in state.findings]
    return findings


def settings_texts(machine: Machine, scopes: Sequence[Scope]) -> Iterator[tuple[Scope, str, str]]:
    """Each of these settings files that can be read: its scope, its path and its text."""
    for scope in scopes:
        path = machine.settings(scope)
        text = machine.read(path)
        if isinstance(text, str):
            yield scope, path, text


def blocked_here(path: str, findings: Sequence[Finding]) -> list[Health]:
    return [wrong("hooks", f"{each.says} ({path})", each.do) for each in findings]
