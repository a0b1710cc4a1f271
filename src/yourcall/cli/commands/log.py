"""`yourcall log`: who answered what, when, how long it had waited, and what then happened."""

from __future__ import annotations

import json

import click
from msgspec import Struct

from yourcall.cli.client import get
from yourcall.cli.commands import log_record
from yourcall.cli.instance import Instance
from yourcall.cli.terminal.render import clock, span, table
from yourcall.cli.terminal.sheet import ID_SHOWN
from yourcall.cli.views import read


class Line(Struct, frozen=True):
    id: str
    title: str
    answered_at: float
    agent: str = ""
    waited: float = 0.0
    by: str = ""
    answer: str = ""
    state: str = ""
    outcome: str | None = None


def then(line: Line) -> str:
    """What came of it in one word: the outcome once it is proven, until then how far it got."""
    return line.outcome if line.outcome and line.state in ("confirmed", "desk") else line.state


@click.group(
    "log",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall log
  yourcall log --limit 200
  yourcall log settings          who changed devices, rules, channels
  yourcall log verify                       is the record whole and unchanged?
  yourcall log export > record.jsonl
  yourcall log report                       what waited, what to make rules of
  yourcall log --json | jq -r '.[] | [.by, .answer, .title] | @tsv'
""",
)
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, at most.")
@click.option("--json", "as_json", is_flag=True, help="An array, the newest first.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Who answered what, when, how long it had waited, and what then happened; the newest last."""
    place = ctx.find_object(Instance)
    if ctx.invoked_subcommand is not None or place is None:
        return
    data = get(place.home, "/api/log", query={"limit": limit})
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    lines = read(data, list[Line])
    if not lines:
        click.echo("Nothing has been answered yet.")
        return
    lines.sort(key=lambda line: line.answered_at)
    rows = [
        [
            clock(line.answered_at),
            line.id[:ID_SHOWN],
            span(line.waited),
            line.by or "-",
            line.answer or "-",
            then(line),
            line.title,
        ]
        for line in lines
    ]
    click.echo(table(["WHEN", "ID", "WAITED", "BY", "ANSWER", "THEN", "TITLE"], rows, ["", "cyan"]))


for each in (log_record.settings, log_record.verify, log_record.export, log_record.report):
    command.add_command(each)
