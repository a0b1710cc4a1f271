"""What `doctor` looks at in Codex: its version, the control socket, our hooks and whether Codex trusts them.

Rule: says nothing where Codex is neither installed nor connected; of a login it looks only whether there is one.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, cast

from yourcall.agents.codex.setup import DAEMON_SINCE, REVIEW, blocked, untrusted
from yourcall.agents.set_up import Version, show_version
from yourcall.cli import changes
from yourcall.cli.client import get
from yourcall.cli.connectable import CODEX, codex_folder
from yourcall.cli.finding import Finding, note, well, wrong
from yourcall.cli.installed import Installed, ask, find, versions
from yourcall.cli.place import Place, Problem
from yourcall.cli.settings_file import read
from yourcall.cli.views import Session
from yourcall.cli.views import read as view
from yourcall.model import TERMINALS, Refused

# The version that everything was measured with (docs/reference/agents/codex.md).
MEASURED: Version = (0, 166, 0)
SOCKET = "app-server-control/app-server-control.sock"
_BOTH = "Without it, sessions started with `codex --no-daemon` are only seen in tmux."


def connection(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """Installed, new enough, and calling us."""
    programs = _programs()
    noted = any(change.agent == "codex" for change in changes.noted(place.home))
    if not programs and not noted:
        return []
    found = [
        note("codex", f"{program.path} did not tell its version.", f"Try it yourself: {program.path} --version")
        for program in programs
        if program.version is None
    ]
    known = versions(programs)
    if known:
        found.append(well("codex", f"Codex {', '.join(map(show_version, known))} is installed."))
    newer = [version for version in known if version > MEASURED]
    if newer:
        says = f"Codex {show_version(max(newer))} is newer than the one yourcall was tried with"
        found.append(note("codex", f"{says} ({show_version(MEASURED)}): a dialog may be shown as unknown."))
    return found + _hooks(place, known, noted)


def _hooks(place: Place, known: list[Version], noted: bool) -> list[Finding]:
    """Old versions have nothing else; since the control socket they are a help."""
    needed = noted or (bool(known) and min(known) < DAEMON_SINCE)
    level = wrong if needed else note
    config = _text(codex_folder() / "config.toml")
    found = [level("hooks", each.says, each.do) for each in blocked(config)]
    for state in changes.states_of(CODEX, place.home, known):
        for each in state.findings:
            more = "" if needed or each.code != "missing" else f" {_BOTH}"
            found.append(level("hooks", f"{each.says} ({state.path}){more}", each.do))
        # Codex may name the file by where its links lead.
        names = {state.path, str(Path(state.path).resolve())}
        strange = min((untrusted(_text(Path(state.path)), config, name) for name in names), key=len)
        if strange:
            says = f"Codex has not been told to trust our hooks, so it does not run them: {', '.join(strange)}."
            found.append(level("hooks", says, REVIEW))
        elif not state.findings:
            found.append(well("hooks", f"Codex calls yourcall, and trusts its hooks ({state.path})."))
    return found


def socket(_place: Place, _told: dict[str, Any]) -> list[Finding]:
    """The way to sessions of new versions: is it there, and does nothing keep Codex from opening it?"""
    known = versions(_programs())
    if not known:
        return []
    if max(known) < DAEMON_SINCE:
        says = (
            f"Codex {show_version(max(known))} has no control socket: its dialogs are answered in tmux, by keys."
        )
        return [note("codex", says, f"Update it: {show_version(DAEMON_SINCE)} and later have one.")]
    if _features(_text(codex_folder() / "config.toml")).get("daemon_auto_start") is False:
        says = "`daemon_auto_start` is off in Codex's config.toml: its sessions have no control socket."
        return [note("codex", says, "Take that out to have every prompt answered without a key being pressed.")]
    path = codex_folder() / SOCKET
    if not path.exists():
        return [note("codex", "No Codex runs with a control socket now.", "The next plain `codex` opens it.")]
    return [well("codex", f"Codex's control socket is there ({path}).")]


def login(_place: Place, _told: dict[str, Any]) -> list[Finding]:
    """Who is not signed in gets a page at the start that only a person at the desk can answer."""
    if not _programs() or (codex_folder() / "auth.json").exists():
        return []
    if "model_provider" in _table(_text(codex_folder() / "config.toml")):
        return []  # another service, with a key of its own
    return [note("codex", "Codex is not signed in.", "At the desk: codex login")]


def running(place: Place, told: dict[str, Any]) -> list[Finding]:
    """Sessions that run now and that can only be watched."""
    if not told["running"]:
        return []
    try:
        sessions = view(get(place.home, "/api/sessions"), list[Session])
    except Problem:
        return []
    mine = [s for s in sessions if s.agent == "codex" and s.state != "ended" and s.mode == "terminal"]
    ways = {*TERMINALS, "socket"}
    return [
        note(
            "session",
            f"The session {each.id[:8]} in {each.cwd} runs neither in tmux nor with a control socket: its prompts"
            " are shown, not answered.",
            "Start it without --no-daemon, or inside tmux.",
        )
        for each in mine
        if not any(link.kind in ways for link in each.links)
    ]


def _features(config: str | None) -> dict[str, Any]:
    features: Any = _table(config).get("features")
    return cast("dict[str, Any]", features) if isinstance(features, dict) else {}


def _table(config: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(config or "")
    except (ValueError, RecursionError):
        return {}


def _text(path: Path) -> str | None:
    found = read(path)
    return None if isinstance(found, Refused) else found.text


@cache
def _programs() -> list[Installed]:
    return ask(find("codex"))


CHECKS = (connection, socket, login, running)
