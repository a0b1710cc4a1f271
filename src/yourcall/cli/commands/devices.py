"""`yourcall devices` and `yourcall pair`: who may answer, and how a new one gets in.

Rule: a token or a code is shown once, here at the desk, and only the daemon's hash of it is kept.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import time
from typing import Any
from urllib.parse import quote, urlsplit

import click
from msgspec import Struct

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place, read_daemon_file
from yourcall.cli.step_up import act
from yourcall.cli.terminal.render import clock, columns, span, style, table
from yourcall.cli.views import read

# As in server/scopes.py, which is not loaded here: a command must start fast.
SCOPES = ("read", "answer", "steer", "rules", "admin")
FOR_SCRIPT = ("read", "answer")


class Device(Struct, frozen=True):
    id: str
    name: str
    created_at: float
    seen_at: float | None = None
    revoked_at: float | None = None
    scopes: tuple[str, ...] = ()
    key: str = ""


class Code(Struct, frozen=True):
    code: str
    expires_at: float


@click.group(
    "devices",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall devices
  yourcall devices pair                     a code for a phone or a browser
  yourcall devices add ci --json            a token for a script: read, answer
  yourcall devices scope ci read            what it may do from now on
  yourcall devices revoke 3f2a
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of devices.")
@click.option("--all", "everything", is_flag=True, help="Also those that were revoked.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, everything: bool) -> None:
    """List the devices and what each may do; add, pair and revoke them."""
    if ctx.invoked_subcommand is not None:
        return
    place = ctx.find_object(Instance)
    assert place is not None
    data = get(place.home, "/api/devices")
    if not everything:
        data = [device for device in data if not device.get("revoked_at")]
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    devices = read(data, list[Device])
    if not devices:
        click.echo(f"No device is paired. Pair one with: {place.command('devices pair')}")
        return
    rows = [[d.id, d.name, clock(d.created_at), _seen(d), _may(d)] for d in devices]
    click.echo(table(["ID", "NAME", "SINCE", "SEEN", "MAY"], rows, ["cyan"]))
    if any(d.key == "void" and not d.revoked_at for d in devices):
        click.echo(
            "\nA browser that was paired by a cookie no longer has access: the cookie went to every port of the"
            f" host. Pair it again with: {place.command('devices pair')}",
            err=True,
        )


def _seen(device: Device) -> str:
    if device.revoked_at:
        return f"revoked {clock(device.revoked_at)}"
    return f"{span(time.time() - device.seen_at)} ago" if device.seen_at else "never"


def _may(device: Device) -> str:
    return "pair it again" if device.key == "void" else ",".join(device.scopes) or "nothing"


def _scopes(_context: click.Context, _option: click.Parameter, value: str) -> list[str]:
    """`read,answer` as a list; each must be one that there is."""
    words = [word.strip() for word in value.split(",") if word.strip()]
    unknown = [word for word in words if word not in SCOPES]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not a scope. There are: {', '.join(SCOPES)}.")
    return words


@command.command("add", epilog="\b\nExample:\n  TOKEN=$(yourcall devices add ci --json | jq -r .token)\n")
@click.argument("name")
@click.option(
    "--scopes",
    default=",".join(FOR_SCRIPT),
    show_default=True,
    callback=_scopes,
    help="Its scopes, separated by commas: read, answer, steer, rules, admin.",
)
@click.option("--json", "as_json", is_flag=True, help="Print {id, token}.")
@pass_place
def add(place: Instance, name: str, scopes: list[str], as_json: bool) -> None:
    """Add a device called NAME and print its token, this once: for scripts (Authorization: Bearer TOKEN)."""
    reply = act(place.home, "POST", "/api/devices", body=json.dumps({"name": name, "scopes": scopes}))
    if reply.status not in (200, 201):
        raise refusal(reply)
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
        return
    click.echo(reply.data["token"])
    undo = place.command(f"devices revoke {reply.data['id']}")
    click.echo(f"This is the only time the token is shown. Take it back with: {undo}", err=True)


@command.command("revoke")
@click.argument("device_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the device that was revoked.")
@pass_place
def revoke(place: Instance, device_id: str, as_json: bool) -> None:
    """Take a device's access away, at once; ID may be its first letters, or its name if only one has it."""
    device = _find(place, device_id)
    reply = call(place.home, "DELETE", f"/api/devices/{quote(device.id, safe='')}")
    if reply.status not in (200, 204):
        raise refusal(reply)
    if as_json:
        click.echo(json.dumps({"id": device.id, "name": device.name, "revoked": True}, indent=2))
    else:
        click.echo(f"Revoked {device.name!r} ({device.id}); its key no longer works.")


@command.command(
    "scope",
    epilog="""\b
The scopes:
  read      see prompts, sessions, rules and the history
  answer    answer prompts, and raise questions of its own
  steer     give instructions, press keys, start and stop sessions, send files
  rules     make and remove rules, pause and resume them
  admin     rename and revoke devices

\b
Examples:
  yourcall devices scope ci read,answer
  yourcall devices scope phone read,answer,steer,rules,admin
""",
)
@click.argument("device_id", metavar="ID")
@click.argument("scopes", callback=_scopes)
@click.option("--json", "as_json", is_flag=True, help="Print the device as it is now.")
@pass_place
def scope(place: Instance, device_id: str, scopes: list[str], as_json: bool) -> None:
    """Say what a device may do from now on: SCOPES with commas between; ID as for `revoke`, so a name will do."""
    device = _find(place, device_id)
    path = f"/api/devices/{quote(device.id, safe='')}/scopes"
    reply = act(place.home, "POST", path, body=json.dumps({"scopes": scopes}))
    if reply.status != 200:
        raise refusal(reply)
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
    else:
        click.echo(f"{device.name!r} ({device.id}) may: {', '.join(reply.data['scopes']) or 'nothing'}")


def _find(place: Instance, device_id: str) -> Device:
    """The one device that is meant, by the first letters of its id or by its name."""
    devices = read(get(place.home, "/api/devices"), list[Device])
    alive = [d for d in devices if not d.revoked_at]
    found = (
        [d for d in alive if d.id == device_id]
        or [d for d in alive if device_id and d.id.startswith(device_id)]
        or [d for d in alive if d.name == device_id]
    )
    if len(found) != 1:
        which = "There is no device" if not found else f"{len(found)} devices match"
        raise Problem(f"{which} {device_id!r}. They are listed by: {place.command('devices')}", 2)
    return found[0]


@command.command("pair")
@click.option("--json", "as_json", is_flag=True, help="Print {code, expires_at, url}.")
@pass_place
def pair(place: Instance, as_json: bool) -> None:
    """Let a phone or browser in: shows a single-use code, good for five minutes, and where to type it."""
    reply = act(place.home, "POST", "/api/pairing", body="{}")
    if reply.status not in (200, 201):
        raise refusal(reply)
    code = read(reply.data, Code)
    address = _reachable(str(read_daemon_file(place.home).get("url", "")))
    # Behind the #, the code is never sent to a server, and so to no log of a proxy on the way.
    link = f"{address.rstrip('/')}/#pair={quote(code.code)}"
    if as_json:
        click.echo(json.dumps({**reply.data, "url": link}, indent=2))
        return
    left = span(code.expires_at - time.time())
    click.echo(f"Code:  {style(code.code, 'cyan', bold=True)}  (good once, within {left})")
    click.echo(f"Open:  {link}")
    if _only_here(address):
        click.echo(
            "\nThis address works on this machine only. To let a phone in, start yourcall with an address it can"
            " reach. Behind a tunnel or a proxy that speaks HTTPS (the safe way):\n"
            f"  {place.command('up --public-url https://…')}\n"
            "A browser pairs only by https, or on this machine (also through an ssh tunnel to the same port)."
        )
    elif urlsplit(address).scheme != "https":
        click.echo(
            "\nA browser cannot pair at this address: it makes its key only on a page that came by https. Put a"
            " tunnel or a proxy that speaks HTTPS in front, and start yourcall with:\n"
            f"  {place.command('up --public-url https://…')}"
        )
    elif sys.stdout.isatty():
        click.echo(qr(link))


def _reachable(address: str) -> str:
    """The daemon's address as another device would say it: 0.0.0.0 means all of this machine's addresses."""
    parts = urlsplit(address)
    if parts.hostname not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return address
    import psutil

    families: dict[str, Any] = psutil.net_if_addrs()
    items = [a.address for each in families.values() for a in each if a.family == socket.AF_INET]
    outside = [address for address in items if not address.startswith("127.")]
    return f"{parts.scheme}://{(outside or items or ['127.0.0.1'])[0]}:{parts.port}"


def _only_here(address: str) -> bool:
    host = urlsplit(address).hostname or "localhost"
    return host in ("localhost", "::1") or host.startswith("127.")


def qr(link: str) -> str:
    """The link as a QR code of half blocks, if the terminal is wide enough for it to be read."""
    import segno

    code: Any = segno.make(link, micro=False, error="l")
    out = io.StringIO()
    code.terminal(out, compact=True, border=2)
    picture = out.getvalue()
    wide = code.symbol_size(border=2)[0]
    return "\n" + picture if wide <= columns() else "(The terminal is too narrow for a QR code.)"
