"""`yourcall people`: who there is, what each may do where, and whose device is whose.

Rule: changed at the machine itself only; somebody who is removed is out at once, with all their devices.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import click

from yourcall.cli.client import get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.step_up import act
from yourcall.cli.terminal.render import table

ROLES = ("see", "answer", "steer", "rules", "admin")


@click.group(
    "people",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall people
  yourcall people add anna --may see,answer,rules
  yourcall people add ben --may see,answer --project ~/shop
  yourcall people give 3f2a anna      whose device that is
  yourcall people remove ben
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of persons.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Who there is, and what each may do where. With nobody named, whoever has a device is the owner."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    people: list[dict[str, Any]] = get(place.home, "/api/people")
    if as_json:
        click.echo(json.dumps(people, indent=2))
    elif not people:
        click.echo("There are no persons: whoever has a device of this machine is its owner.")
    else:
        rows = [[each["name"], _may(each["grants"]), ", ".join(each["devices"]) or "-"] for each in people]
        click.echo(table(["NAME", "MAY", "DEVICES"], rows, ["cyan"]))


def _may(grants: list[dict[str, Any]]) -> str:
    return "; ".join(
        ",".join(grant["roles"]) + (f" in {', '.join(grant['projects'])}" if grant["projects"] else "")
        for grant in grants
    )


def _roles(_context: click.Context, _option: click.Parameter, value: str) -> list[str]:
    words = [word.strip() for word in value.split(",") if word.strip()]
    unknown = [word for word in words if word not in ROLES]
    if unknown or not words:
        raise click.BadParameter(f"{(unknown or [''])[0]!r} is no role. There are: {', '.join(ROLES)}.")
    return words


@command.command("add")
@click.argument("name")
@click.option(
    "--may", callback=_roles, default="see,answer", show_default=True, help="Roles, with commas between."
)
@click.option("--project", "projects", multiple=True, help="Only in this folder and below; several are possible.")
@click.option("--machine", "machines", multiple=True, help="Only on this machine, by its name.")
@pass_place
def add(place: Instance, name: str, may: list[str], projects: tuple[str, ...], machines: tuple[str, ...]) -> None:
    """Add a person, or say anew what one may do."""
    from pathlib import Path

    folders = [str(Path(each).expanduser().resolve()) for each in projects]
    grant = {"roles": may, "projects": folders, "machines": list(machines)}
    reply = act(place.home, "POST", "/api/people", body=json.dumps({"name": name, "grants": [grant]}))
    if reply.status not in (200, 201):
        raise refusal(reply)
    click.echo(f"{name} may: {_may([grant])}. Give them a device: {place.command(f'people give DEVICE {name}')}")


@command.command("give")
@click.argument("device_id", metavar="DEVICE")
@click.argument("name")
@pass_place
def give(place: Instance, device_id: str, name: str) -> None:
    """Say whose device it is; DEVICE is its id or its first letters. `-` for NAME: the owner's of the machine."""
    items = [each for each in get(place.home, "/api/devices") if not each["revoked_at"]]
    items = [
        each for each in items if device_id and (each["id"].startswith(device_id) or each["name"] == device_id)
    ]
    if len(items) != 1:
        raise Problem(
            f"{len(items)} devices match {device_id!r}. They are listed by: {place.command('devices')}", 2
        )
    body = json.dumps({"person": "" if name == "-" else name})
    reply = act(place.home, "POST", f"/api/devices/{quote(items[0]['id'], safe='')}/person", body=body)
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"{items[0]['name']!r} is {'the owner' if name == '-' else name}'s.")


@command.command("remove")
@click.argument("name")
@pass_place
def remove(place: Instance, name: str) -> None:
    """Remove a person, at once, with all their devices and passkeys."""
    reply = act(place.home, "DELETE", f"/api/people/{quote(name, safe='')}")
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"Removed {name}: {reply.data['devices']} devices and {reply.data['passkeys']} passkeys revoked.")
