"""Prove one agent, and keep its grade: what `yourcall doctor --live` does.

Rule: nothing is started before it is known that nothing of the person's own can be reached; where that cannot be
told, it says so and does nothing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from yourcall import __version__
from yourcall.agents.kit.setup import show_version
from yourcall.agents.registry import AGENTS
from yourcall.agents.setup_spec import Installed
from yourcall.cli import machine
from yourcall.cli.changes import folder_of
from yourcall.cli.instance import Problem
from yourcall.live_check import grades
from yourcall.live_check.check import Saw, Trials
from yourcall.live_check.grades import KindGrade
from yourcall.live_check.specs import checks

# A wrapper that starts node takes two seconds to tell its version, and more while the machine is busy.
VERSION_S = 60


class Proved(Struct, frozen=True):
    """`unconnected`: why setup did not connect this version: only its screen was read."""

    agent: str
    version: str
    program: str
    kinds: dict[str, KindGrade]
    unconnected: str = ""


def program_of(agent: str, path: Path | None) -> Installed:
    """The program to prove: this one, or the first that is installed."""
    paths = [path.absolute()] if path is not None else machine.find(AGENTS[agent], folder_of(AGENTS[agent]))
    programs = machine.ask(paths, VERSION_S)
    if not programs:
        where = (
            f"{path} can't be run." if path is not None else f"There is no {AGENTS[agent].title} on this machine."
        )
        raise Problem(f"{where} Install it, or name its program with --cli.", 2)
    return programs[0]


def prove(
    home: Path,
    agent: str,
    program: Installed,
    patience: float,
    only: Sequence[str],
    told: Callable[[str, KindGrade], None],
    saw: Saw | None = None,
) -> Proved:
    """Try every kind (or `only` these), tell each as it is known, and keep what was found in this home."""
    if sys.platform != "linux":
        # Elsewhere sign-ins lie in the system's keychain, which a home of its own does not hide.
        raise Problem("A live check runs on Linux only: here your own sign-in can't be kept out of it.")
    if shutil.which("tmux") is None:
        raise Problem("A live check needs tmux. Install tmux with your package manager.")
    if program.version is None:
        raise Problem(f"{program.path} doesn't tell its version, so a grade would be of nothing.")
    trials = Trials(checks()[agent], program, patience, saw)
    known = trials.kinds()
    if missing := [kind for kind in only if kind not in known]:
        raise Problem(f"{AGENTS[agent].title} has no trial of {missing[0]}; it has: {', '.join(known)}.", 2)
    version, found = show_version(program.version), dict[str, KindGrade]()
    for kind in only or known:
        found[kind] = trials.grade(kind)
        told(kind, found[kind])
        grades.store(home, agent, version, {kind: found[kind]}, __version__)
    return Proved(agent, version, program.path, found, trials.unconnected)
