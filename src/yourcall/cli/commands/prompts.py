"""`yourcall ls` and `yourcall show`: what waits, and everything about one of them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import click

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.requests import complete_id, fetch_raw
from yourcall.cli.terminal.render import safe
from yourcall.cli.terminal.sheet import ID_SHOWN, listing, page
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
@click.option("--host", default="", metavar="NAME", help="Only those of this machine of the fleet.")
@click.option("--json", "as_json", is_flag=True, help="An array of prompts, in the same order.")
@pass_place
def ls(place: Instance, everything: bool, limit: int, host: str, as_json: bool) -> None:
    """List what is waiting for you: what blocks an agent first, then questions, then sessions that are ready; each
    by age."""
    query: dict[str, object] = {"all": "true", "limit": limit} if everything else {}
    data: list[dict[str, Any]] = get(
        place.home, "/api/prompts", query={**query, **({"host": host} if host else {})}
    )
    if everything:
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
def show(place: Instance, prompt_id: str, as_json: bool) -> None:
    """Show everything about the prompt ID (its first letters are enough): what is asked, in full, what each
    option does, and what has happened, with times and the delays between."""
    data = fetch_raw(place.home, prompt_id)
    click.echo(json.dumps(data, indent=2) if as_json else page(read(data, Prompt), place))


@click.command(
    epilog="""\b
Examples:
  yourcall dismiss k3fq
"""
)
@click.argument("prompt_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_id)
@pass_place
def dismiss(place: Instance, prompt_ids: tuple[str, ...]) -> None:
    """Take the prompts ID off the list. Their agents are told nothing: a dialog that is open stays open, and is
    answered at the desk."""
    for prompt_id in prompt_ids:
        prompt = read(fetch_raw(place.home, prompt_id), Prompt)
        reply = call(place.home, "POST", f"/api/prompts/{quote(prompt.id, safe='')}/dismiss")
        if reply.status != 200:
            raise refusal(reply)
        click.echo(f"Dismissed: {safe(prompt.title)}")
