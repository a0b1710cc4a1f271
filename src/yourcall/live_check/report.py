"""How a live check looks in a terminal.

Rule: what an agent showed or said goes through `safe`; the exit code is 0 only if every kind was proved.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from yourcall.agents.kit.setup import show_version
from yourcall.agents.registry import AGENTS
from yourcall.cli.terminal.render import safe, style, wrapped
from yourcall.live_check.grades import MEANS, KindGrade
from yourcall.live_check.prove import program_of, prove

COLOURS = {"proved": "green", "partly": "yellow", "shown": "yellow", "unknown": "yellow", "missed": "red"}


def live(
    home: Path,
    agent: str,
    cli: Path | None,
    kinds: Sequence[str],
    patience: float,
    screens: Path | None,
    *,
    as_json: bool,
) -> int:
    """Prove the agent and say what was found; the exit code."""
    program = program_of(agent, cli)
    if not as_json:
        version = show_version(program.version) if program.version else "of an unknown version"
        click.echo(f"{AGENTS[agent].title} {version}, {safe(program.path)}")
        click.echo("In a sandbox: a fresh home, a private tmux, a scripted model on this machine.\n")
    number = 0

    def saw(what: str, screen: str) -> None:
        nonlocal number
        number += 1
        assert screens is not None
        screens.mkdir(parents=True, exist_ok=True)
        (screens / f"{number:02}-{'-'.join(what.replace('/', ' ').split())}.txt").write_text(screen)

    began = time.monotonic()
    told = _nothing if as_json else _line
    found = prove(home, agent, program, patience, kinds, told, saw if screens else None)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        if found.unconnected:
            click.echo(f"\n{wrapped(f'Without hooks, only its screen was read: {safe(found.unconnected)}', 0)}")
        proved = sum(each.grade == "proved" for each in found.kinds.values())
        click.echo(f"\n{proved} of {len(found.kinds)} kinds proved, in {time.monotonic() - began:.0f} s.")
    return 0 if all(each.grade == "proved" for each in found.kinds.values()) else 1


def _nothing(_kind: str, _found: KindGrade) -> None:
    """The whole is printed at the end."""


def _line(kind: str, kind_grade: KindGrade) -> None:
    grade = style(f"{kind_grade.grade:<8}", COLOURS.get(kind_grade.grade, "red"))
    took = f" ({kind_grade.ms} ms)" if kind_grade.ms >= 0 else ""
    click.echo(f"{kind:<12} {grade} {', '.join(kind_grade.steps) or MEANS[kind_grade.grade]}{took}")
    if kind_grade.why:
        click.echo(wrapped(f"→ {safe(kind_grade.why)}", 13))
