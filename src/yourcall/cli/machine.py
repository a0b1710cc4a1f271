"""This machine, as the check-up of one agent sees it.

Rule: it only looks; each thing is looked at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from yourcall.agents.setup_spec import Above, Installed, RunningSession, Scope, State, Version, parse_version
from yourcall.agents.spec import Agent
from yourcall.cli import changes, extension_files
from yourcall.cli.client import get
from yourcall.cli.instance import Instance, Problem
from yourcall.cli.views import Session
from yourcall.cli.views import read as view
from yourcall.model.prompts import Refused
from yourcall.system.settings_file import read

# `--version` takes well under a second; a wrapper that first wants to update itself must not hold us up.
SECONDS = 5


def find(agent: Agent, folder: Path) -> list[Path]:
    """Every program of this agent on PATH, and where an installer of its own puts one in its folder."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(each)]
    also = agent.setup.also if agent.setup is not None else ()
    return [place / name for name in agent.programs for place in (*folders, *(folder / each for each in also))]


def ask(paths: Iterable[Path], seconds: float = SECONDS) -> list[Installed]:
    """The CLIs among these paths; the same program behind several names is asked once."""
    programs: dict[str, Path] = {}
    for path in paths:
        if path.is_file() and os.access(path, os.X_OK):
            programs.setdefault(os.path.realpath(path), path.absolute())
    return [Installed(str(path), _version(path, seconds)) for path in programs.values()]


def versions(programs: list[Installed]) -> list[Version]:
    """The versions to be right for; none if one of them is unknown, since that one may be the oldest."""
    known = [each.version for each in programs if each.version is not None]
    return known if len(known) == len(programs) else []


def _version(path: Path, seconds: float) -> Version | None:
    try:
        done = subprocess.run(
            [str(path), "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout[:200].decode("utf-8", "replace"))


class ThisMachine:
    """`programs`: those to look at, or the ones that are installed. `running`: the daemon can be asked."""

    def __init__(
        self, place: Instance, agent: Agent, programs: list[Installed] | None = None, *, running: bool = False
    ) -> None:
        self._place, self._agent, self._programs, self._running = place, agent, programs, running
        self._sessions: list[RunningSession] | None = None

    @property
    def platform(self) -> str:
        return sys.platform

    @property
    def folder(self) -> str:
        return str(changes.folder_of(self._agent))

    @property
    def programs(self) -> list[Installed]:
        if self._programs is None:  # asked once: each takes a second or two to tell its version
            # Who has no settings is not set up, and brings no program of its own besides those on the PATH.
            self._programs = ask(find(self._agent, Path(self.folder if self._agent.setup else Path.home())))
        return self._programs

    @property
    def versions(self) -> list[Version]:
        return versions(self.programs)

    @property
    def changed(self) -> frozenset[str]:
        noted = changes.noted(self._place.home)
        return frozenset(change.path for change in noted if change.agent == self._agent.name)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        projects = self._agent.setup.projects if self._agent.setup is not None else {}
        return tuple(scope for scope in changes.scopes_here() if scope == "user" or scope in projects)

    @property
    def sessions(self) -> list[RunningSession]:
        if self._sessions is None:
            self._sessions = self._asked() if self._running else []
        return self._sessions

    def _asked(self) -> list[RunningSession]:
        try:
            payload: Any = get(self._place.home, "/api/sessions")
        except Problem:
            return []
        return [
            RunningSession(
                each.id, each.cwd, each.permission_mode, each.pid, tuple(link.kind for link in each.links)
            )
            for each in view(payload, list[Session])
            if each.agent == self._agent.name and each.state != "ended" and each.mode == "terminal"
        ]

    def above(self) -> Above:
        """What the settings of the machine's administrator say."""
        setup = self._agent.setup
        return setup.above(self) if setup is not None and setup.above is not None else Above()

    def states(self) -> list[State]:
        """The settings, and with the user's own the files that are wholly ours."""
        own = extension_files.findings(self._agent, self._place.home)
        found = changes.states(self._agent, self._place.home, self.versions, self.above())
        return [replace(each, findings=(*each.findings, *own)) if each.scope == "user" else each for each in found]

    def settings(self, scope: Scope) -> str:
        return str(changes.settings_of(self._agent, scope, Path()))

    def read(self, path: str) -> str | Refused | None:
        file = read(Path(path))
        return file if isinstance(file, Refused) else file.text

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def resolved(self, path: str) -> str:
        return str(Path(path).resolve())

    def names(self, folder: str) -> list[str]:
        try:
            inside = list(os.scandir(folder))
        except OSError:
            return []
        return sorted(each.name for each in inside if each.is_symlink() or each.is_file(follow_symlinks=False))
