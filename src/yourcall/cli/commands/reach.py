"""`yourcall reach`: a way from the phone to this machine, set up, checked from the outside in, and taken down.

Rule: everything that will change is shown before it is done. A way counts as set up once the check has passed. If
it fails, the missing part is named, and `--undo` takes the way down.
"""

from __future__ import annotations

import json
import shutil
import socket
import sys
from typing import Any

import click

from yourcall.cli.client import get, may
from yourcall.cli.commands import daemon, service
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, style
from yourcall.model.prompts import Refused
from yourcall.reach import plans, way
from yourcall.reach.check import Step, check
from yourcall.reach.plan import CannotReach, Plan, Wish

WAYS: dict[str, str] = {
    "lan": "phones in your own network; nobody else takes part",
    "tailscale": "phones in your tailnet; from anywhere with --funnel",
    "cloudflared": "from anywhere, by a named tunnel of Cloudflare's",
    "ssh": "from anywhere, by a web server of yours (Caddy or nginx)",
    "relay": "from anywhere, by a relay of yours, which can't read along",
    "proxy": "your own reverse proxy: checked, nothing is changed",
}
# Those that are a program's of the same name.
PROGRAMS = frozenset({"tailscale", "cloudflared", "ssh"})


@click.command(
    "reach",
    epilog="\b\nWays:\n"
    + "\n".join(f"  {name:<13}{line}" for name, line in WAYS.items())
    + """

\b
Examples:
  yourcall reach                         what there is, and how it stands
  yourcall reach lan                     at home, without anybody else
  yourcall reach tailscale --yes
  yourcall reach ssh me@server.example.net --name c.example.net --site caddy
  yourcall reach relay                   asks for an invitation
  yourcall reach proxy --name desk.example.net
  yourcall reach --status --json
  yourcall reach --undo
""",
)
@click.argument("chosen", metavar="[WAY]", required=False)
@click.argument("target", metavar="[USER@SERVER]", required=False)
@click.option("--name", help="The name (or address) that the phone will open.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="lan: the port for phones. ssh: the server's ssh port."
)
@click.option("--funnel", is_flag=True, help="tailscale: for phones outside of your tailnet, too.")
@click.option(
    "--site", type=click.Choice(["caddy", "nginx"]), help="ssh: add a site to this web server on the server."
)
@click.option("--site-file", metavar="PATH", help="ssh: the file on the server that gets the site.")
@click.option(
    "--certificate",
    metavar="PATH",
    help="ssh: the site's certificate, on the server; Caddy gets one by itself. relay: one of yours, here.",
)
@click.option("--key", metavar="PATH", help="ssh, relay: the certificate's key.")
@click.option(
    "--acme", metavar="URL", help="relay: the certificate authority's directory; Let's Encrypt if not said."
)
@click.option("--acme-ca", metavar="PATH", help="relay: whom to trust to be a private certificate authority.")
@click.option("--email", help="relay: where the certificate authority can write to you.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option(
    "--status", is_flag=True, help="Check the way that is set up. Exits with 1 if phones don't get through."
)
@click.option("--undo", is_flag=True, help="Take the way down again.")
@click.option("--trust", is_flag=True, help="lan: show the page on which a phone gets the certificate to trust.")
@click.option("--json", "as_json", is_flag=True, help="Print the status as an object.")
@click.pass_context
@pass_place
def command(
    place: Instance,
    ctx: click.Context,
    chosen: str | None,
    target: str | None,
    name: str | None,
    port: int | None,
    funnel: bool,
    site: str | None,
    site_file: str | None,
    certificate: str | None,
    key: str | None,
    acme: str | None,
    acme_ca: str | None,
    email: str | None,
    yes: bool,
    status: bool,
    undo: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Find a way from the phone to this machine, set it up, check it, and keep it up."""
    if undo:
        _undo(place, yes)
    elif trust:
        _trust(place)
    elif chosen is None:
        _status(place, as_json=as_json, needed=status)
    elif chosen not in WAYS:
        raise click.UsageError(f"There is no way {chosen!r}. There are: {', '.join(WAYS)}.")
    else:
        may(place.home, "reach")
        daemon_port = _daemon_port(place)
        request = Wish(
            place.home, daemon_port, target, name, port, funnel, site, site_file, certificate, key,
            _invitation(place, as_json) if chosen == "relay" and target is None else None, acme, acme_ca, email,
        )  # fmt: skip
        _set_up(place, ctx, chosen, request, yes=yes, as_json=as_json)


def _invitation(place: Instance, as_json: bool) -> str:
    """What the relay printed; nothing if this machine has redeemed one already and no other is given."""
    current = way.read(place.home)
    if current is not None and current.way == "relay":
        return ""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return click.prompt("Invitation", err=as_json).strip()


def _daemon_port(place: Instance) -> int:
    """Where the daemon listens, or will: the port it is asked for, or any free one if another program has that."""
    listening = daemon.standing(place.home).get("port")
    if isinstance(listening, int):
        return listening
    from yourcall.daemon.config import read_config

    config = read_config(place.home)
    usual = 7717 if isinstance(config, Refused) else config.server.port
    for port in (usual if place.port is None else place.port, 0):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(sock.getsockname()[1])
    raise Problem("No port is free on this machine.")


def _set_up(place: Instance, ctx: click.Context, chosen: str, request: Wish, *, yes: bool, as_json: bool) -> None:
    current = way.read(place.home)
    if current is not None and current.way != chosen:
        raise Problem(
            f"Phones reach this machine by {current.way} ({safe(current.url)}). Take that down first with:"
            f" {place.command('reach --undo')}"
        )
    try:
        plan = plans.make(chosen, request)
    except CannotReach as reason:
        raise Problem(str(reason)) from reason
    click.echo(safe(plan.text, lines=True), err=as_json)
    if not yes and not click.confirm("Do this?", default=True, err=as_json):
        raise Problem("Nothing was changed.")
    try:
        plan.apply()
    except CannotReach as reason:
        raise Problem(f"{reason} The way was not set up.") from reason
    way.write(place.home, plan.way)
    daemon.restart(place, service.unit_path(place.home))
    steps = _checked(place, plan)
    _tell(place, plan.way, steps, as_json=as_json)
    if as_json:
        return
    if advice := plans.advice(place.home, plan.way):
        click.echo(f"\n{safe(advice, lines=True)}")
    if plan.way.tls_port:
        click.echo(f"\nOn the phone, trust the certificate once: {place.command('reach lan --trust')}")
    if plan.way.tls_port or not sys.stdout.isatty():
        click.echo(f"Then pair it: {place.command('pair')}")
        return
    click.echo("\nLet the phone in:")
    from yourcall.cli.commands import devices

    ctx.invoke(devices.pair, as_json=False)


def _checked(place: Instance, plan: Plan) -> list[Step]:
    """A tunnel takes a moment to come up, so a failed check is tried again while there is patience."""
    steps: list[Step] = []

    def passes() -> bool:
        steps[:] = _steps(place, plan.way)
        return all(step.ok for step in steps)

    daemon.wait_until(passes, plan.patience_s)
    return steps


def _steps(place: Instance, current: way.Way) -> list[Step]:
    """What the daemon says of itself, and then the way from the outside in."""
    port = daemon.standing(place.home).get("port")
    if not isinstance(port, int):
        return [Step("yourcall", False, f"It is not running. Start it with: {place.command('up --detach')}")]
    if current.port not in (0, port):
        detail = f"The way leads to port {current.port}, which another program has; yourcall is on {port}."
        return [Step("yourcall", False, f"{detail} End that program, or: {place.command('reach --undo')}")]
    steps = plans.own_steps(place.home, current)
    if not all(step.ok for step in steps):
        return steps
    try:
        push_key = bool(get(place.home, "/api/push").get("key"))
    except Problem:
        push_key = False
    authority, shown = plans.authority(place.home, current), plans.shown_certificate(place.home, current)
    return steps + check(current.url, authority, push_key=push_key, shown=shown)


def _status(place: Instance, *, as_json: bool, needed: bool) -> None:
    current = way.read(place.home)
    if current is None:
        if as_json:
            click.echo(json.dumps({"way": None, "url": None, "ok": False, "steps": []}, indent=2))
        else:
            click.echo("Only this machine reaches yourcall. Ways for a phone:")
            for name, line in WAYS.items():
                lacks = "" if name not in PROGRAMS or shutil.which(name) else f"; {name} is not on this machine"
                click.echo(f"  {style(place.command(f'reach {name}'), 'cyan')}: {line}{lacks}")
        raise click.exceptions.Exit(1 if needed else 0)
    _tell(place, current, _steps(place, current), as_json=as_json)


def _tell(place: Instance, current: way.Way, steps: list[Step], *, as_json: bool) -> None:
    ok = all(step.ok for step in steps)
    if as_json:
        status: dict[str, Any] = {"way": current.way, "url": current.url, "ok": ok}
        click.echo(json.dumps({**status, "steps": [step._asdict() for step in steps]}, indent=2))
    else:
        click.echo(f"{current.way}: {style(safe(current.url), 'cyan')}")
        for step in steps:
            mark = style("ok", "green") if step.ok else style("no", "red")
            click.echo(f"  {mark}  {step.name}: {safe(step.detail)}")
        if not ok:
            click.echo(f"Phones don't get through yet. Take it down with: {place.command('reach --undo')}")
    if not ok:
        raise click.exceptions.Exit(1)


def _undo(place: Instance, yes: bool) -> None:
    may(place.home, "reach")
    current = way.read(place.home)
    if current is None:
        click.echo("No way is set up; only this machine reaches yourcall.")
        return
    click.echo(f"Phones will no longer reach this machine at {safe(current.url)}.")
    for undo in current.undo:
        click.echo(f"  {safe(undo.shown)}")
    if not yes and not click.confirm("Take it down?", default=True):
        raise Problem("Nothing was changed.")
    failed: list[way.Undo] = []

    def take_down() -> None:
        failed.extend(plans.take_down(place.home, current))
        way.forget(place.home)

    daemon.restart(place, service.unit_path(place.home), between=take_down)
    for undo in failed:
        click.echo(f"This did not work; run it yourself: {safe(undo.shown)}", err=True)
    if current.stays:
        click.echo(safe(current.stays))
    if failed:
        raise Problem("Not everything could be taken down; phones may still find something at that address.")
    click.echo("Only this machine reaches yourcall now.")
    if current.way == "lan":
        folder = place.home / "tls"
        click.echo(
            f"The certificate authority is kept in {folder}, so that phones need not trust a new one later."
        )


def _trust(place: Instance) -> None:
    current = way.read(place.home)
    if current is None or not current.tls_port:
        raise Problem(f"There is no certificate to trust. First: {place.command('reach lan')}")
    from yourcall.cli.commands.devices import qr
    from yourcall.reach.trust_page import TrustPage

    with TrustPage(place.home, current) as page:
        try:
            click.echo(f"On the phone, open: {page.url}")
            if sys.stdout.isatty():
                click.echo(qr(page.url))
            click.echo("Compare the fingerprint before you trust it:")
            click.echo(f"  {page.fingerprint}")
            click.echo("This page is served until you press Ctrl-C, for half an hour at most.")
            sys.stdout.flush()
            page.serve()
        except KeyboardInterrupt:
            click.echo("\nThe page is closed.")
