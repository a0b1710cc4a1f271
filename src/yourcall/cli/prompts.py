"""`yourcall ls` and `yourcall show`: what waits, and everything about one of them."""

from __future__ import annotations

import json
from typing import Any

import click

from yourcall.cli.asking import complete_id, fetch_raw
from yourcall.cli.client import get
from yourcall.cli.place import Place, pass_place
from yourcall.cli.sheet import ID_SHOWN, listing, page
from yourcall.cli.views import Prompt, read


@click.command(
    epilog="""\b
Examples:
  yourcall ls
  yourcall ls --all
  yourcall ls --json | jq -r '.[].id'
"""
)
@click.option("--all", "everything", is_flag=True, help="Also those that are over, newest last.")
@click.option("--limit", type=click.IntRange(1, 500), default=100, show_default=True, help="With --all: how many.")
@click.option("--json", "as_json", is_flag=True, help="An array of prompts, oldest first.")
@pass_place
def ls(place: Place, everything: bool, limit: int, as_json: bool) -> None:
    """List what is waiting for you, oldest first."""
    query = {"all": "true", "limit": limit} if everything else None
    data: list[dict[str, Any]] = get(place.home, "/api/prompts", query=query)
    data.sort(key=lambda prompt: (prompt["opened_at"], prompt["id"]))
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    prompts = read(data, list[Prompt])
    if not prompts:
        click.echo("Nothing has been asked yet." if everything else "Nothing is waiting for you.")
        return
    click.echo(listing(prompts, states=everything))
    if not everything and len(prompts) == 1:
        click.echo(f"\nLook closer: {place.command(f'show {prompts[0].id[:ID_SHOWN]}')}")


@click.command(
    epilog="""\b
Examples:
  yourcall show k3fq
  yourcall show k3fq --json | jq .tool.input
"""
)
@click.argument("prompt_id", metavar="ID", shell_complete=complete_id)
@click.option("--json", "as_json", is_flag=True, help="The prompt, its tool's input and its history.")
@pass_place
def show(place: Place, prompt_id: str, as_json: bool) -> None:
    """Show everything about the prompt ID (its first letters are enough): what is asked, in full, what each
    option does, and what has happened, with times and the delays between."""
    data = fetch_raw(place.home, prompt_id)
    click.echo(json.dumps(data, indent=2) if as_json else page(read(data, Prompt), place))
