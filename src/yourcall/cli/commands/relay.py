"""`yourcall relay`: on a server of the person's, for machines that phones can't reach otherwise.

Rule: a name is given by an invitation, which is shown once, here on the server. What a machine may have, a person
says here, and takes back here.
"""

from __future__ import annotations

import json
import logging
import os
import pwd
import sys
import time
from typing import Any

import click

from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import clock, safe, span, table
from yourcall.model.prompts import Refused
from yourcall.reach.relay import book

PORT = 443


@click.group(
    "relay",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall relay                           run it, until Ctrl-C
  yourcall relay invite desk.example.net   for `yourcall reach relay` there
  yourcall relay status
  yourcall relay revoke desk.example.net

The DNS of each name must lead to this server. Certificates are the machines' own affair: TLS ends there, and
nothing of it is kept here.
""",
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Where it listens.")
@click.option("--bind", default="", help="Only at this address of the server.")
@click.pass_context
def command(ctx: click.Context, port: int, bind: str) -> None:
    """Pass phones on to machines that dial out to here, by the name that they ask for, without reading along."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    _as_its_user(place)
    from yourcall.reach.relay.server import run

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)

    def announce(port: int) -> None:
        click.echo(f"The relay listens on port {port}.")
        sys.stdout.flush()

    try:
        run(place.home, bind, port, announce)
    except book.AlreadyRunning as error:
        raise Problem(f"Another relay has {place.home}.") from error
    except OSError as error:
        hint = ""
        if isinstance(error, PermissionError) and port < 1024:
            hint = " Ports below 1024 need a right of their own: CAP_NET_BIND_SERVICE."
        raise Problem(f"It can't listen on port {port} ({error.strerror or error}).{hint}") from error


@command.command("invite", epilog="\b\nExamples:\n  yourcall relay invite desk.example.net\n")
@click.argument("name")
@click.option("--at", "host", help="Where the machine finds the relay; under its own name if not said.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=PORT,
    show_default=True,
    help="The relay's port, as seen from outside.",
)
@click.option("--json", "as_json", is_flag=True, help="An object.")
@pass_place
def invite(place: Instance, name: str, host: str | None, port: int, as_json: bool) -> None:
    """Let one machine have this name. The invitation is good once, for a day."""
    _as_its_user(place)
    name = name.lower().rstrip(".")
    invitation = book.invite(place.home, name, host or name, port)
    if isinstance(invitation, Refused):
        raise Problem(invitation.reason)
    if as_json:
        until = time.time() + book.INVITED_S
        click.echo(json.dumps({"name": name, "invitation": invitation.text(), "until": until}, indent=2))
        return
    click.echo(
        "On the machine, run  yourcall reach relay  and give it this invitation (good once, within a day):\n"
    )
    click.echo(invitation.text())


@command.command("status", epilog="\b\nExamples:\n  yourcall relay status\n  yourcall relay status --json\n")
@click.option("--json", "as_json", is_flag=True, help="An object.")
@pass_place
def status(place: Instance, as_json: bool) -> None:
    """Does it run, and which machines are there? Exits with 1 if it does not run."""
    if not os.access(book.folder(place.home), os.R_OK | os.X_OK) and book.folder(place.home).exists():
        _as_its_user(place)
    state, known = book.state(place.home), book.read(place.home)
    here = state.machines if state else {}
    now = time.time()
    invited = {name: each.until for name, each in known.invitations.items() if each.until > now}
    if as_json:
        machines: list[dict[str, Any]] = [
            {
                "name": name,
                "key": book.short(each.key),
                "since": each.since,
                "connected_since": here[name].since if name in here else None,
                "phones": here[name].phones if name in here else 0,
            }
            for name, each in known.machines.items()
        ]
        invitations = [{"name": name, "until": until} for name, until in invited.items()]
        whole = {"running": state is not None, "machines": machines, "invitations": invitations}
        click.echo(json.dumps(whole, indent=2))
    else:
        click.echo(
            "The relay runs." if state else f"The relay does not run. Start it with: {place.command('relay')}"
        )
        rows = [
            [book.short(each.key), clock(each.since), *_presence(here.get(name)), name]
            for name, each in known.machines.items()
        ] + [["", "", f"invited, for {span(until - now)}", "", name] for name, until in invited.items()]
        if rows:
            click.echo(table(["KEY", "SINCE", "NOW", "PHONES", "NAME"], rows, ["", "", "", "", "cyan"]))
        else:
            click.echo(
                f"No machine has a name here yet. Invite one: {place.command('relay invite desk.example.net')}"
            )
    if state is None:
        raise click.exceptions.Exit(1)


def _as_its_user(place: Instance) -> None:
    """What another user writes there, the relay could not read."""
    folder = book.folder(place.home)
    if folder.exists() and folder.stat().st_uid != os.geteuid():
        try:
            owner = pwd.getpwuid(folder.stat().st_uid).pw_name
        except KeyError:
            owner = str(folder.stat().st_uid)
        raise Problem(f"The relay's files are those of {owner}. Run this as that user: sudo -u {owner} ...")


def _presence(here: book.Here | None) -> list[str]:
    return [f"connected since {clock(here.since)}", str(here.phones)] if here else ["away", ""]


@command.command("revoke", epilog="\b\nExamples:\n  yourcall relay revoke desk.example.net\n")
@click.argument("name")
@pass_place
def revoke(place: Instance, name: str) -> None:
    """Take a name back: its machine is cut off within a second, and an open invitation to it is void."""
    _as_its_user(place)
    if not book.revoke(place.home, name.lower().rstrip(".")):
        raise Problem(f"Nobody has the name {safe(name)}, and nobody is invited to it.")
    click.echo(f"{safe(name)} is free. Phones no longer reach its machine by this relay.")
