"""`yourcall agents`: which agents are known, and how far each one is understood.

Rule: prints what each agent declares of itself; a kind that is not in its list is not handled.
"""

from __future__ import annotations

import json

import click
import msgspec

from yourcall.agents.registry import GRADES
from yourcall.cli.terminal.render import style, table


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
def command(name: str | None, as_json: bool) -> None:
    """For each agent: the versions it is tested with, and by what each kind of prompt is noticed, answered and
    confirmed. A kind that is not listed is not handled; an empty place says that this is not done."""
    chosen = {each: grade for each, grade in GRADES.items() if name in (None, each)}
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(chosen), indent=2))
        return
    for number, (each, grade) in enumerate(chosen.items()):
        tested = f", tested with {', '.join(grade.tested)}" if grade.tested else ""
        click.echo(f"{chr(10) if number else ''}{style(each, 'cyan')}: {grade.cli}{tested}")
        if grade.needs:
            click.echo(f"  ({grade.needs})")
        rows = [
            [kind, reach.noticed, reach.answered or "-", reach.confirmed or "-"]
            for kind, reach in grade.kinds.items()
        ]
        click.echo(table(["KIND", "NOTICED BY", "ANSWERED BY", "CONFIRMED BY"], rows))
