"""`yourcall fleet`: many machines, one inbox. Make a fleet, invite, join, leave; and who may sign for it.

Rule: who belongs is decided here, at a desk, with the authority's key; nothing of it is done over the network.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from yourcall.cli.client import NotRunning, call, get, may, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, style, table
from yourcall.model.prompts import Refused

EXTRA = "This needs yourcall's extra `fleet`: pip install 'yourcall[fleet]'."

# What `invite` may leave out: a machine that is only answered, such as a server or a container.
ROLES = {"all": ["host", "hub", "desk"], "host": ["host"], "hub": ["hub"], "watch": ["host", "hub"]}


@click.group(
    "fleet",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall fleet create         on the first machine
  yourcall fleet invite         there, too: prints a code
  yourcall fleet join ycf1-…    on the other machine, within five minutes
  yourcall hosts                who is there?
""",
)
@click.option("--json", "as_json", is_flag=True, help="The fleet as an object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Many machines, one inbox: hosts keep deciding for themselves, and only what a device of yours has
    signed is done on another machine. Without a subcommand: the fleet that this machine is in."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    payload: dict[str, Any] = get(place.home, "/api/fleet")
    if as_json:
        click.echo(json.dumps(payload, indent=2))
    elif not payload["fleet"]:
        click.echo(f"This machine is in no fleet. Make one: {place.command('fleet create')}")
    else:
        _show(place, payload)


def _show(place: Instance, told: dict[str, Any]) -> None:
    line = "connected" if told["line"] else f"no line to NATS: {safe(told['problem'])}"
    roles = ", ".join(safe(role) for role in told["roles"])
    click.echo(f"Fleet {style(safe(told['name'] or told['fleet']), 'cyan')} ({line})")
    click.echo(f"  this machine  {safe(told['me']['name'])} ({roles})")
    click.echo(f"  authority     {safe(told['fingerprint'])}{' (its key is here)' if told['authority'] else ''}")
    click.echo(f"  addresses     {', '.join(safe(each) for each in told['addresses'])}")
    online = [each for each in told["hosts"] if each["state"] == "online"]
    click.echo(f"  machines      {len(told['hosts'])}, {len(online)} online: {place.command('hosts')}")
    for words in told["warnings"]:
        click.echo(style(safe(words), "yellow"))


@command.command(
    "create",
    epilog="""\b
Examples:
  yourcall fleet create
  yourcall fleet create --address desk.example.net
  yourcall fleet create --nats tls://nats.example.net:4222 --creds me.creds
""",
)
@click.option(
    "--name", default="", metavar="NAME", help="What the fleet is called.  [default: this machine's name]"
)
@click.option("--host-name", default="", metavar="NAME", help="What this machine is called in it.")
@click.option("--address", "addresses", multiple=True, metavar="NAME", help="How other machines reach this one.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The port of NATS here.  [default: 7722 or the next free]"
)
@click.option(
    "--websocket", type=click.IntRange(1, 65535), help="Also as WebSocket on this port, for a TLS proxy."
)
@click.option("--leaf", type=click.IntRange(1, 65535), help="Also for leaf nodes, on this port.")
@click.option(
    "--nats", "nats", multiple=True, metavar="URL", help="Use this NATS instead of one that yourcall runs."
)
@click.option("--creds", type=click.Path(exists=True, dir_okay=False), help="With --nats: the creds file for it.")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@click.option("--json", "as_json", is_flag=True, help="Print `fleet`, `fingerprint` and `address`.")
@pass_place
def create(
    place: Instance,
    name: str,
    host_name: str,
    addresses: tuple[str, ...],
    port: int | None,
    websocket: int | None,
    leaf: int | None,
    nats: tuple[str, ...],
    creds: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a fleet: its authority, whose key stays on this machine, and NATS, which listens for the other
    machines with TLS. Machines come in by invitation only."""
    from yourcall.fleet import founding
    from yourcall.fleet.certificates import fingerprint

    may(place.home, "fleet")
    if creds and not nats:
        raise click.UsageError("--creds goes with --nats: a server of your own.")
    if not yes:
        what = f"use NATS at {', '.join(nats)}" if nats else "open a port to your network, with TLS and keys"
        _confirm(f"This makes a fleet on this machine and will {what}. Go on?")
    here = host_name or founding.host_name()
    made = founding.create(
        place.home,
        name=name or here,
        host=here,
        addresses=addresses,
        port=port or 0,
        websocket=websocket or 0,
        leaf=leaf or 0,
        nats=nats,
        creds=str(Path(creds).absolute()) if creds else "",
    )
    made = _or_problem(made)
    _apply(place, start=True)
    told = {"fleet": made.fleet, "fingerprint": fingerprint(made.authority), "address": made.addresses[0]}
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(
        f"Made the fleet {style(safe(made.name), 'cyan')}; other machines reach it at {safe(told['address'])}"
    )
    click.echo(f"The authority's fingerprint: {told['fingerprint']}")
    click.echo(f"Let another machine in: {place.command('fleet invite')}")


@command.command(
    "invite",
    epilog="""\b
Examples:
  yourcall fleet invite
  yourcall fleet invite --as host      a server or a container: it is only answered
""",
)
@click.option(
    "--as", "kind", type=click.Choice(list(ROLES)), default="all", show_default=True,
    help="all: it is answered, shows the others, and its command line may answer for them. host: it is only "
    "answered. hub: it only shows. watch: it is answered and shows.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print `code` and `ends_at`.")
@pass_place
def invite(place: Instance, kind: str, as_json: bool) -> None:
    """Print a code that lets one machine in, once and within five minutes. It holds the address, the
    authority's key and a secret: whoever has it can join, so send it by a way you trust."""
    reply = call(place.home, "POST", "/api/fleet/invitations", body=json.dumps({"roles": ROLES[kind]}))
    if reply.status != 201:
        raise refusal(reply)
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
        return
    click.echo(f"On the other machine, within five minutes:\n\n  yourcall fleet join {reply.data['code']}\n")
    if kind == "all":
        click.echo(
            "Its command line may then answer for every machine. A server or a container needs only: --as host"
        )


@command.command("join", epilog="\b\nExample:\n  yourcall fleet join ycf1-…\n")
@click.argument("code")
@click.option("--host-name", default="", metavar="NAME", help="What this machine is called in the fleet.")
@click.option(
    "--creds", type=click.Path(exists=True, dir_okay=False), help="For somebody's own NATS: a creds file."
)
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@pass_place
def join(place: Instance, code: str, host_name: str, creds: str | None, yes: bool) -> None:
    """Join a fleet with the CODE of `yourcall fleet invite`. This machine's keys are made here and stay here.
    Whoever holds a device of the fleet can then answer this machine's prompts."""
    from yourcall import __version__
    from yourcall.fleet import founding, membership
    from yourcall.fleet.admission import read_code
    from yourcall.fleet.certificates import fingerprint

    may(place.home, "fleet")
    invitation = _or_problem(read_code(code))
    if membership.is_member(place.home):
        raise Problem(f"This machine is in a fleet already. Leave it first: {place.command('fleet leave')}", 2)
    if not yes:
        click.echo(f"The authority's fingerprint: {fingerprint(invitation.authority)}", err=True)
        _confirm("Devices of this fleet will be able to answer the prompts of this machine. Join?")
    try:
        from yourcall.fleet.admission import join as admitted
    except ImportError as error:
        raise Problem(EXTRA) from error
    name = host_name or founding.host_name()
    made = _or_problem(
        asyncio.run(
            admitted(place.home, invitation, name, __version__, str(Path(creds).absolute()) if creds else "")
        )
    )
    _apply(place, start=True)
    click.echo(f"Joined the fleet {style(safe(made.name), 'cyan')} as {safe(made.me.name)}.")


@command.command("leave", epilog="\b\nExample:\n  yourcall fleet leave\n")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@pass_place
def leave(place: Instance, yes: bool) -> None:
    """Leave the fleet: this machine's keys for it are deleted, and it is alone again. On the machine with the
    authority that ends the fleet for all, unless the authority was exported."""
    from yourcall.fleet import membership
    from yourcall.fleet.authority import Authority

    may(place.home, "fleet")
    if not membership.is_member(place.home):
        raise Problem("This machine is in no fleet.", 2)
    if Authority(membership.folder_of(place.home)).here and not yes:
        _confirm(
            "The authority of the fleet is on this machine, and goes with it. Export it first to keep it. Go on?"
        )
    told = None
    try:
        reply = call(place.home, "DELETE", "/api/fleet")
        left: Any = reply.data
        told = left.get("told") if reply.status == 200 else None
    except NotRunning:
        pass
    membership.forget(place.home)
    click.echo("Left the fleet: this machine is alone again.")
    if told is False:
        click.echo(
            "The authority could not be told. There, remove this machine: yourcall hosts remove NAME", err=True
        )


@command.group(
    "devices",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall fleet devices
  yourcall fleet devices allow "My phone"
  yourcall fleet devices remove "My phone"
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of devices.")
@click.pass_context
def devices(ctx: click.Context, as_json: bool) -> None:
    """The phones and desks that may sign for the fleet, and the paired phones that may not yet. Compare CHECK
    with what the phone shows under Devices."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    told: list[dict[str, Any]] = get(place.home, "/api/fleet/devices")
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    rows = [
        [
            each["name"],
            "yes" if each["allowed"] else "no",
            each["check"],
            "a machine's desk" if each["home"] else "phone",
        ]
        for each in told
    ]
    click.echo(table(["DEVICE", "SIGNS", "CHECK", "KIND"], rows, ["cyan"]) if rows else "No device yet.")


@devices.command("allow", epilog='\b\nExample:\n  yourcall fleet devices allow "My phone"\n')
@click.argument("device")
@pass_place
def allow(place: Instance, device: str) -> None:
    """Let DEVICE, a phone that is paired with this machine, answer for every machine of the fleet."""
    reply = call(place.home, "POST", "/api/fleet/devices", body=json.dumps({"device": device}))
    if reply.status != 201:
        raise refusal(reply)
    click.echo(f"{safe(reply.data['name'])} may sign for the fleet (check {safe(reply.data['check'])}).")


@devices.command("remove", epilog='\b\nExample:\n  yourcall fleet devices remove "My phone"\n')
@click.argument("device")
@pass_place
def remove(place: Instance, device: str) -> None:
    """DEVICE signs no more: at once, and on machines that are away as soon as they come back."""
    reply = call(place.home, "DELETE", f"/api/fleet/devices/{quote(device, safe='')}")
    if reply.status != 200:
        raise refusal(reply)
    click.echo(f"{safe(device)} signs no more for the fleet.")


@command.group("authority")
def authority() -> None:
    """Keep the authority's key elsewhere than on this machine: export it, remove it here, bring it back."""


@authority.command("export", epilog="\b\nExample:\n  yourcall fleet authority export fleet.authority\n")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@pass_place
def export(place: Instance, file: Path) -> None:
    """Write the authority to FILE, sealed with a passphrase that you are asked for (or that comes on stdin)."""
    from yourcall.fleet.authority import Authority
    from yourcall.fleet.membership import folder_of
    from yourcall.system import private_files

    may(place.home, "fleet")
    found = Authority(folder_of(place.home))
    if not found.here:
        raise Problem("The authority is not on this machine.", 2)
    if file.exists():
        raise Problem(f"{file} exists already.", 2)
    private_files.write(file.absolute(), found.exported(_passphrase(twice=True)))
    click.echo(f"Exported to {file}. Whoever has the file and the passphrase decides who belongs to the fleet.")


@authority.command("import", epilog="\b\nExample:\n  yourcall fleet authority import fleet.authority\n")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@pass_place
def import_(place: Instance, file: Path) -> None:
    """Bring the authority back from FILE."""
    from yourcall.fleet.authority import Authority
    from yourcall.fleet.membership import folder_of, read

    may(place.home, "fleet")
    member = _or_problem(read(place.home))
    if member is None:
        raise Problem("This machine is in no fleet.", 2)
    wrong = Authority(folder_of(place.home)).take(file.read_bytes(), _passphrase(), member.fleet)
    if wrong is not None:
        raise Problem(wrong.reason, 2)
    _apply(place)
    click.echo("The authority is on this machine again.")


@authority.command("remove", epilog="\b\nExample:\n  yourcall fleet authority remove\n")
@click.option("--yes", "-y", is_flag=True, help="Don't ask.")
@pass_place
def remove_authority(place: Instance, yes: bool) -> None:
    """Delete the authority's key on this machine. Without an export, nobody can be let in or removed any
    more."""
    from yourcall.fleet.authority import Authority
    from yourcall.fleet.membership import folder_of

    may(place.home, "fleet")
    if not yes:
        _confirm("Delete the authority's key here? Without an export it is gone for good.")
    Authority(folder_of(place.home)).forget()
    _apply(place)
    click.echo("The authority is not on this machine any more.")


def _or_problem(value: Any) -> Any:
    if isinstance(value, Refused):
        raise Problem(value.reason, 2)
    return value


def _confirm(text: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{text} Say so with --yes.")
    if not click.confirm(text, default=True, err=True):
        raise Problem("Nothing was changed.", 2)


def _passphrase(*, twice: bool = False) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    return click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)


def _apply(place: Instance, *, start: bool = False) -> None:
    """Let the daemon take it up; one that does not run is started where that is needed."""
    try:
        reply = call(place.home, "POST", "/api/fleet", timeout=30)
    except NotRunning:
        if start:
            from yourcall.cli.commands.daemon import start_in_background

            start_in_background(place)
        return
    if reply.status != 200:
        raise refusal(reply)
