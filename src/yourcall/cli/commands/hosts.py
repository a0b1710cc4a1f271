"""`yourcall hosts`: the machines of the fleet; to name and to remove them."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import quote

import click

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, span, style, table

# A clock that is further off than this is told.
OFFSET_S = 60.0


@click.group(
    "hosts",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall hosts
  yourcall hosts --json | jq -r '.[] | select(.state == "offline") | .name'
  yourcall hosts rename laptop-3 anna
  yourcall hosts remove old-server --yes
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of machines.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the machines of the fleet: which are there now, and since when the others are away."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    told: list[dict[str, Any]] = get(place.home, "/api/hosts")
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    if not told:
        click.echo(f"This machine is in no fleet. Make one: {place.command('fleet create')}")
        return
    now = time.time()
    rows = [
        [
            f"{each['name']}{' (this one)' if each['here'] else ''}",
            each["state"],
            "now"
            if each["state"] == "online"
            else f"{span(now - each['seen_at'])} ago"
            if each["seen_at"]
            else "-",
            str(each["prompts"]),
            str(each["sessions"]),
            each["version"] or "-",
            ", ".join(each["roles"]),
        ]
        for each in told
    ]
    click.echo(table(["HOST", "STATE", "SEEN", "PROMPTS", "SESSIONS", "VERSION", "MAY"], rows, ["cyan"]))
    for each in told:
        if each["offset"] is not None and abs(each["offset"]) > OFFSET_S:
            way = "ahead" if each["offset"] > 0 else "behind"
            text = f"The clock of {each['name']} is {span(abs(each['offset']))} {way}."
            click.echo(style(safe(text), "yellow"))
        if each["refused"] and not each["here"]:
            text = f"{each['name']} has refused {each['refused']} requests; the last: {each['problem']}"
            click.echo(style(safe(text), "yellow"))


@command.command("rename", epilog="\b\nExample:\n  yourcall hosts rename laptop-3 anna\n")
@click.argument("host")
@click.argument("name")
@pass_place
def rename(place: Instance, host: str, name: str) -> None:
    """Call the machine HOST (its name or id) NAME from now on. It must be there to take its name."""
    reply = call(place.home, "POST", f"/api/hosts/{quote(host, safe='')}", body=json.dumps({"name": name}))
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"{safe(host)} is called {safe(name)} now.")


@command.command("remove", epilog="\b\nExample:\n  yourcall hosts remove old-server --yes\n")
@click.argument("host")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@pass_place
def remove(place: Instance, host: str, yes: bool) -> None:
    """Remove the machine HOST (its name or id) from the fleet. It is out at once; to come back it joins anew."""
    if not yes and not click.confirm(f"Remove {safe(host)} from the fleet?", err=True):
        raise Problem("Nothing was changed.", 2)
    reply = call(place.home, "DELETE", f"/api/hosts/{quote(host, safe='')}")
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"{safe(host)} is not in the fleet any more.")
