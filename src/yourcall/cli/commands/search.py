"""`yourcall search`: prompts, answers and messages that hold some words."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

import click

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.terminal.render import safe, short, span, table
from yourcall.cli.views import read
from yourcall.server.wire import MessageHits, SearchHit


@click.command(
    "search",
    epilog="""\b
Examples:
  yourcall search npm test
  yourcall search "free shipping" --json | jq -r '.[].id'
  yourcall search kite --messages --json | jq -r '.messages[].session_id'
""",
)
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many, at most.")
@click.option("--messages", "only_messages", is_flag=True, help="Only what was said in conversations.")
@click.option("--json", "as_json", is_flag=True, help="An array of prompts; with --messages an object.")
@pass_place
def command(place: Instance, words: tuple[str, ...], limit: int, only_messages: bool, as_json: bool) -> None:
    """Find prompts, answers and messages of all agents that hold all of these words; the beginning of a word will
    do. Conversations are read in the background; if not all of them are yet, that is said."""
    query = urlencode({"words": " ".join(words), "limit": limit})
    data: Any = [] if only_messages else get(place.home, f"/api/search?{query}")
    payload = None if as_json and not only_messages else get(place.home, f"/api/search/conversations?{query}")
    if as_json:
        click.echo(json.dumps(payload if only_messages else data, indent=2))
        return
    message_hits = read(payload, MessageHits)
    if data:
        click.echo(_prompts(read(data, list[SearchHit])))
    if message_hits.messages:
        click.echo(("\n" if data else "") + _messages(message_hits))
    if not data and not message_hits.messages:
        click.echo("Nothing found.")
    if not message_hits.complete:
        click.echo("Not all conversations have been read yet; look again in a while.")


def _messages(message_hits: MessageHits) -> str:
    now = time.time()
    rows = [
        [
            hit.session_id[:8],
            hit.agent,
            f"{span(now - hit.at)} ago" if hit.at else "",
            short(hit.cwd),
            safe(" ".join(hit.excerpt.split()))[:100],
        ]
        for hit in message_hits.messages
    ]
    return table(["SESSION", "AGENT", "SAID", "FOLDER", "WHERE"], rows, ["cyan"])


def _prompts(hits: list[SearchHit]) -> str:
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
    return table(["ID", "AGENT", "ASKED", "FOLDER", "WHERE"], rows, ["cyan"])
