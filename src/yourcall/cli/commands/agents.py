"""`yourcall agents`: which agents are known, and how far each one is understood.

Rule: prints what each agent declares of itself; a kind that is not in its list is not handled.
"""

from __future__ import annotations

import json
import time

import click
import msgspec

from yourcall.agents.registry import AGENTS, GRADES
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.terminal.render import safe, style, table
from yourcall.live_check.grades import read, summary

# Said so that nobody looks for them in vain.
UNTESTABLE = (
    "Not known, because they can't be tested without an account or a program that is published elsewhere: Amp,\n"
    "Crush, Cursor. In tmux, yourcall can still watch them: yourcall run --keep -- PROGRAM"
)


def reviews(name: str) -> str:
    """Whether `yourcall review --by` takes this agent; if not, why."""
    headless = AGENTS[name].headless
    if headless is None:
        return "no, yourcall can't start it without a terminal"
    return "yes, in a mode of its own in which it only reads" if headless.read_only else "no, it has no such mode"


@click.command(
    "agents",
    epilog="""\b
Examples:
  yourcall agents
  yourcall agents gemini
  yourcall agents --json | jq 'keys'
""",
)
@click.argument("name", required=False, type=click.Choice(sorted(GRADES)))
@click.option("--json", "as_json", is_flag=True, help="One object, by agent.")
@pass_place
def command(place: Instance, name: str | None, as_json: bool) -> None:
    """For each agent: the versions it is tested with, and by what each kind of prompt is noticed, answered and
    confirmed. A kind that is not listed is not handled; an empty place says that this is not done. Below that
    stands what `yourcall doctor --live` found on this machine."""
    chosen = {each: grade for each, grade in GRADES.items() if name in (None, each)}
    tried = read(place.home).versions
    if as_json:
        listed = {
            each: {**msgspec.to_builtins(grade), "reviews": reviews(each), "tried": tried.get(each, {})}
            for each, grade in chosen.items()
        }
        click.echo(json.dumps(msgspec.to_builtins(listed), indent=2))
        return
    for number, (each, grade) in enumerate(chosen.items()):
        tested = f", tested with {', '.join(grade.tested)}" if grade.tested else ""
        click.echo(f"{chr(10) if number else ''}{style(each, 'cyan')}: {grade.cli}{tested}")
        if grade.needs:
            click.echo(f"  ({grade.needs})")
        click.echo(f"  Reviews the work of others: {reviews(each)}")
        rows = [
            [kind, reach.noticed, reach.answered or "-", reach.confirmed or "-"]
            for kind, reach in grade.kinds.items()
        ]
        click.echo(table(["KIND", "NOTICED BY", "ANSWERED BY", "CONFIRMED BY"], rows))
        for version, version_grade in sorted(tried.get(each, {}).items(), key=lambda each: each[1].at):
            day = time.strftime("%Y-%m-%d", time.localtime(version_grade.at))
            click.echo(f"  {safe(version)}, tried here on {day}: {', '.join(summary(version_grade.kinds))}")
    if name is None:
        click.echo(f"\n{UNTESTABLE}")
