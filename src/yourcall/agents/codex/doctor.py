"""What `doctor` looks at in Codex: its version, the control socket, our hooks and whether Codex trusts them.

Rule: says nothing where Codex is neither installed nor connected; of a login it looks only whether there is one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any, cast

from yourcall.agents.codex.setup import DAEMON_SINCE, REVIEW, blocked, untrusted
from yourcall.agents.kit.doctor import installed, newer, only_watched
from yourcall.agents.setup_spec import Health, Machine, Version, note, show_version, well, wrong
from yourcall.model.prompts import Refused
from yourcall.model.sessions import TERMINALS

# The version that everything was measured with (docs/reference/agents/codex.md).
MEASURED: Version = (0, 166, 0)
SOCKET = "app-server-control/app-server-control.sock"
_BOTH = "Without it, sessions started with `codex --no-daemon` are only seen in tmux."


def connection(machine: Machine) -> list[Health]:
    """Installed, new enough, and calling us."""
    if not machine.programs and not machine.changed:
        return []
    findings = installed(machine, "codex", "Codex") + newer(machine, "codex", "Codex", MEASURED)
    return findings + _hooks(machine, machine.versions, bool(machine.changed))


def _hooks(machine: Machine, known: Sequence[Version], noted: bool) -> list[Health]:
    """Old versions have nothing else; since the control socket they are a help."""
    needed = noted or (bool(known) and min(known) < DAEMON_SINCE)
    level = wrong if needed else note
    config = _text(machine, f"{machine.folder}/config.toml")
    findings = [level("hooks", each.says, each.do) for each in blocked(config)]
    for state in machine.states():
        for each in state.findings:
            more = "" if needed or each.code != "missing" else f" {_BOTH}"
            findings.append(level("hooks", f"{each.says} ({state.path}){more}", each.do))
        # Codex may name the file by where its links lead.
        names = {state.path, machine.resolved(state.path)}
        strange = min((untrusted(_text(machine, state.path), config, name) for name in names), key=len)
        if strange:
            says = f"Codex has not been told to trust our hooks, so it does not run them: {', '.join(strange)}."
            findings.append(level("hooks", says, REVIEW))
        elif not state.findings:
            findings.append(well("hooks", f"Codex calls yourcall, and trusts its hooks ({state.path})."))
    return findings


def socket(machine: Machine) -> list[Health]:
    """The way to sessions of new versions: is it there, and does nothing keep Codex from opening it?"""
    known = machine.versions
    if not known:
        return []
    if max(known) < DAEMON_SINCE:
        says = (
            f"Codex {show_version(max(known))} has no control socket: its dialogs are answered in tmux, by keys."
        )
        return [note("codex", says, f"Update it: {show_version(DAEMON_SINCE)} and later have one.")]
    if _features(_text(machine, f"{machine.folder}/config.toml")).get("daemon_auto_start") is False:
        says = "`daemon_auto_start` is off in Codex's config.toml: its sessions have no control socket."
        return [note("codex", says, "Take that out to have every prompt answered without a key being pressed.")]
    path = f"{machine.folder}/{SOCKET}"
    if not machine.exists(path):
        return [note("codex", "No Codex runs with a control socket now.", "The next plain `codex` opens it.")]
    return [well("codex", f"Codex's control socket is there ({path}).")]


def login(machine: Machine) -> list[Health]:
    """Who is not signed in gets a page at the start that only a person at the desk can answer."""
    if not machine.programs or machine.exists(f"{machine.folder}/auth.json"):
        return []
    if "model_provider" in _table(_text(machine, f"{machine.folder}/config.toml")):
        return []  # another service, with a key of its own
    return [note("codex", "Codex is not signed in.", "At the desk: codex login")]


def running(machine: Machine) -> list[Health]:
    """Sessions that run now and that can only be watched."""
    says = "runs neither in tmux nor with a control socket: its prompts are shown, not answered."
    return only_watched(machine, {*TERMINALS, "socket"}, says, "Start it without --no-daemon, or inside tmux.")


def _features(config: str | None) -> dict[str, Any]:
    features: Any = _table(config).get("features")
    return cast("dict[str, Any]", features) if isinstance(features, dict) else {}


def _table(config: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(config or "")
    except (ValueError, RecursionError):
        return {}


def _text(machine: Machine, path: str) -> str | None:
    text = machine.read(path)
    return None if isinstance(text, Refused) else text


CHECKS = (connection, socket, login, running)
