"""`yourcall search`: prompts and answers that hold some words."""

from __future__ import annotations

import json
import time
from urllib.parse import urlencode

import click

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.terminal.render import safe, short, span, table
from yourcall.cli.views import read
from yourcall.server.wire import SearchHit


@click.command(
    "search",
    epilog="""\b
Examples:
  yourcall search npm test
  yourcall search "free shipping" --json | jq -r '.[].id'
""",
)
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many, at most.")
@click.option("--json", "as_json", is_flag=True, help="An array of hits.")
@pass_place
def command(place: Instance, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Find prompts and answers that hold all of these words; the beginning of a word will do."""
    data = get(place.home, f"/api/search?{urlencode({'words': ' '.join(words), 'limit': limit})}")
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    hits = read(data, list[SearchHit])
    if not hits:
        click.echo("Nothing found.")
        return
    now = time.time()
    rows = [
        [
            hit.id[:8],
            hit.agent,
            f"{span(now - hit.opened_at)} ago",
            short(hit.cwd),
            safe(" ".join(hit.excerpt.split()))[:100],
        ]
        for hit in hits
    ]
    click.echo(table(["ID", "AGENT", "ASKED", "FOLDER", "WHERE"], rows, ["cyan"]))
