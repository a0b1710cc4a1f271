"""Which agent CLIs are installed, and in which version.

Rule: nothing is run but the CLI itself with `--version`, for at most a few seconds, and only from absolute paths.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from yourcall.agents.setup_spec import Installed, Version, parse_version
from yourcall.agents.spec import Agent

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


def versions(found: list[Installed]) -> list[Version]:
    """The versions to be right for; none if one of them is unknown, since that one may be the oldest."""
    known = [each.version for each in found if each.version is not None]
    return known if len(known) == len(found) else []


def _version(path: Path, seconds: float) -> Version | None:
    try:
        done = subprocess.run(
            [str(path), "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout[:200].decode("utf-8", "replace"))
