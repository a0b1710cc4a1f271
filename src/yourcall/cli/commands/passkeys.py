"""`yourcall passkeys`: what stands behind a dangerous yes; to list, to add one, to revoke one that was lost.

Rule: at the machine no passkey is asked for to revoke one, so nobody who lost theirs is locked out; that is on
record, and your devices are told.
"""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import click
from msgspec import Struct

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place, read_daemon_file
from yourcall.cli.terminal.render import clock, span, table
from yourcall.cli.views import read


class Passkey(Struct, frozen=True):
    id: str
    name: str
    rp_id: str
    created_at: float
    used_at: float


@click.group(
    "passkeys",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall passkeys
  yourcall passkeys add            a link with which a browser registers one
  yourcall passkeys revoke 3f2a    a lost one
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of passkeys.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The passkeys that confirm a dangerous yes, a lasting one, and changes of rules and devices.

    As soon as one is registered, such a yes takes it, whatever way it comes. The agent's own dialog is always
    there.
    """
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    data = get(place.home, "/api/passkeys")
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    passkeys = read(data, list[Passkey])
    if not passkeys:
        click.echo(
            f"No passkey is registered, so nothing takes one. Add one with: {place.command('passkeys add')}"
        )
        return
    rows = [
        [
            key.id,
            key.name,
            key.rp_id,
            clock(key.created_at),
            f"{span(time.time() - key.used_at)} ago" if key.used_at else "never",
        ]
        for key in passkeys
    ]
    click.echo(table(["ID", "NAME", "FOR", "SINCE", "USED"], rows, ["cyan"]))


@command.command("add")
@click.option("--json", "as_json", is_flag=True, help="Print {code, url}.")
@pass_place
def add(place: Instance, as_json: bool) -> None:
    """A link, good for five minutes, with which a paired browser registers one passkey.

    The first one needs no link: in the app, Settings, Passkeys.
    """
    reply = call(place.home, "POST", "/api/passkeys/code", body="{}")
    if reply.status != 201:
        raise refusal(reply)
    address = str(read_daemon_file(place.home).get("url", "")).replace("://127.0.0.1:", "://localhost:")
    link = f"{address.rstrip('/')}/#passkey={quote(str(reply.data['code']))}"
    if as_json:
        click.echo(json.dumps({**reply.data, "url": link}, indent=2))
        return
    click.echo(f"Open, on a browser that is paired:\n  {link}")


@command.command("revoke")
@click.argument("passkey_id", metavar="ID")
@pass_place
def revoke(place: Instance, passkey_id: str) -> None:
    """Take a passkey away, at once; ID may be its first letters. With the last one, nothing takes one any more."""
    passkeys = [
        each for each in read(get(place.home, "/api/passkeys"), list[Passkey]) if each.id.startswith(passkey_id)
    ]
    if len(passkeys) != 1 or not passkey_id:
        raise Problem(
            f"{len(passkeys)} passkeys match {passkey_id!r}. They are listed by: {place.command('passkeys')}", 2
        )
    reply = call(place.home, "DELETE", f"/api/passkeys/{quote(passkeys[0].id, safe='')}")
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"Revoked {passkeys[0].name!r} ({passkeys[0].id}); it confirms nothing any more.")
