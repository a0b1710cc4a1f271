"""What each way would change, in words first, and then in deeds.

Rule: a plan changes nothing until it is applied, and what it tells other programs can be taken back by `undo`.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from yourcall.reach import certificates
from yourcall.reach.way import DEFAULT_TLS_PORT, Way

OTHERS_S = 30.0  # for a program of somebody else's to do as told
TUNNEL_S = 30.0  # for a tunnel to come up


class CannotReach(Exception):
    """The sentence says what is missing."""


class Plan(NamedTuple):
    text: str
    way: Way
    apply: Callable[[], None]
    authority: Path | None = None
    patience_s: float = 10.0


def make(
    chosen: str, home: Path, daemon_port: int, target: str | None, name: str | None, port: int | None
) -> Plan:
    if target is not None and chosen != "ssh":
        raise CannotReach(f"{chosen} takes no server.")
    if name is not None and not re.fullmatch(r"[A-Za-z0-9.:-]{1,253}", name):
        raise CannotReach(f"{name!r} is no name of a machine.")
    if chosen == "lan":
        return _lan(home, name, port or DEFAULT_TLS_PORT)
    if chosen == "tailscale":
        return _tailscale(daemon_port)
    if chosen == "cloudflared":
        return _cloudflared(home, daemon_port, name)
    if chosen == "ssh":
        return _ssh(daemon_port, target, name, port)
    return _proxy(daemon_port, name)


def authority(home: Path, way: Way) -> Path | None:
    return certificates.files(home).authority if way.tls_port else None


def take_down(way: Way) -> list[tuple[str, ...]]:
    """Run what undoes the way; returns the commands that did not work."""
    return [words for words in way.undo if not _works(words)]


def _lan(home: Path, name: str | None, port: int) -> Plan:
    addresses = _own_addresses()
    local = f"{socket.gethostname().partition('.')[0].lower()}.local"
    said = name or (local if _is_ours(local, addresses) else next(iter(addresses), ""))
    if not said:
        raise CannotReach("This machine has no address in a network; name one with --name.")
    url = f"https://{f'[{said}]' if ':' in said else said}:{port}"
    names = (said, *(each for each in (local, *addresses) if each != said))
    paths = certificates.files(home)
    text = (
        f"Phones in your network will reach yourcall at {url}\n"
        f"  write  {paths.authority}, a certificate authority that can vouch for this machine only:\n"
        f"         {', '.join(names)}\n"
        f"  write  {paths.certificate}, the certificate of this machine\n"
        f"  open   port {port} to your network, with TLS; no route is open without a key"
    )

    def apply() -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificates.make(home, names)

    return Plan(text, Way("lan", url, tls_port=port), apply, paths.authority)


def _tailscale(daemon_port: int) -> Plan:
    program = _needed("tailscale", "Install Tailscale, and log in with: tailscale up")
    try:
        status = json.loads(_said((program, "status", "--json")))
        name = str(status["Self"]["DNSName"]).rstrip(".")
    except (ValueError, KeyError, TypeError) as error:
        raise CannotReach("Tailscale does not say what this machine is called. Is it logged in?") from error
    if not name:
        raise CannotReach("This machine has no name in your tailnet: turn on MagicDNS and HTTPS certificates.")
    do = (program, "serve", "--bg", str(daemon_port))
    undo = (program, "serve", "--https=443", "off")
    text = f"Phones in your tailnet will reach yourcall at https://{name}\n  run  {' '.join(do)}"
    return Plan(text, Way("tailscale", f"https://{name}", undo=(undo,)), lambda: _run(do), patience_s=TUNNEL_S)


def _cloudflared(home: Path, daemon_port: int, name: str | None) -> Plan:
    program = _needed("cloudflared", "Install cloudflared, and log in with: cloudflared tunnel login")
    if name is None:
        raise CannotReach(
            "cloudflared needs a name of yours: --name desk.example.net. (The addresses of quick tunnels change at"
            " every start, which breaks an app on the home screen, so yourcall does not use them.)"
        )
    tunnel = "yourcall"
    create, route = (program, "tunnel", "create", tunnel), (program, "tunnel", "route", "dns", tunnel, name)
    config = home / "cloudflared.yml"
    keep_up = (program, "tunnel", "--config", str(config), "--no-autoupdate", "run", tunnel)
    text = (
        f"Anybody will find the locked door at https://{name}. Cloudflare ends the TLS and can read along.\n"
        f"  run    {' '.join(create)}   (if there is no such tunnel yet)\n"
        f"  run    {' '.join(route)}\n"
        f"  write  {config}\n"
        f"  keep   {' '.join(keep_up)}   running, as long as yourcall runs"
    )

    def apply() -> None:
        if tunnel not in _said((program, "tunnel", "list")).split():
            _run(create)
        _run(route)
        service = f"http://127.0.0.1:{daemon_port}"
        config.write_text(
            f"ingress:\n  - hostname: {name}\n    service: {service}\n  - service: http_status:404\n"
        )

    return Plan(text, Way("cloudflared", f"https://{name}", keep_up=keep_up), apply, patience_s=TUNNEL_S)


def _ssh(daemon_port: int, target: str | None, name: str | None, port: int | None) -> Plan:
    program = _needed("ssh", "Install an ssh client.")
    if target is None or name is None:
        raise CannotReach("ssh needs a server and a name: yourcall reach ssh me@server --name call.example.net")
    if target.startswith("-") or not re.fullmatch(r"[A-Za-z0-9._@:\[\]-]{1,300}", target):
        raise CannotReach(f"{target!r} is no server.")
    there = 17717  # on the server's own loopback
    options = ("BatchMode=yes", "ExitOnForwardFailure=yes", "ServerAliveInterval=15", "ServerAliveCountMax=2")
    login = (
        program,
        *(word for option in options for word in ("-o", option)),
        *(("-p", str(port)) if port else ()),
    )
    keep_up = (*login, "-N", "-T", "-R", f"127.0.0.1:{there}:127.0.0.1:{daemon_port}", target)
    text = (
        f"Phones will reach yourcall at https://{name}. The web server on {target} ends the TLS.\n"
        f"  keep   {' '.join(keep_up)}\n"
        f"         running, as long as yourcall runs\n"
        f"On the server, let its web server pass {name} on. For Caddy, add to its Caddyfile:\n\n"
        f"  {name} {{\n    reverse_proxy 127.0.0.1:{there}\n  }}\n"
    )

    def apply() -> None:
        if not _works((*login, target, "true")):
            raise CannotReach(f"ssh can't log in to {target} without a password. Set up a key for it first.")

    return Plan(text, Way("ssh", f"https://{name}", keep_up=keep_up), apply, patience_s=TUNNEL_S)


def _proxy(daemon_port: int, name: str | None) -> Plan:
    if name is None:
        raise CannotReach("Say by which name your proxy is reached: --name desk.example.net")
    text = (
        f"Your proxy passes https://{name} on to http://127.0.0.1:{daemon_port}, with its Host header.\n"
        "yourcall will answer to that name."
    )
    return Plan(text, Way("proxy", f"https://{name}"), lambda: None)


def _own_addresses() -> tuple[str, ...]:
    """This machine's addresses in private networks, IPv4 first; a phone at home has one of the same kind."""
    import psutil

    found: list[str] = []
    for entries in psutil.net_if_addrs().values():
        for entry in entries:
            if entry.family != socket.AF_INET:
                continue
            address = ipaddress.ip_address(entry.address)
            if address.is_private and not address.is_loopback and not address.is_link_local:
                found.append(entry.address)
    return tuple(dict.fromkeys(found))


def _is_ours(name: str, addresses: tuple[str, ...]) -> bool:
    """Does this name lead to this machine for others too, not only by way of its own loopback?"""
    try:
        return any(info[4][0] in addresses for info in socket.getaddrinfo(name, None, socket.AF_INET))
    except OSError:
        return False


def _needed(program: str, otherwise: str) -> str:
    if (found := shutil.which(program)) is None:
        raise CannotReach(f"{program} is not on this machine. {otherwise}")
    return found


def _run(words: tuple[str, ...]) -> None:
    done = _finished(words)
    if done is None or done.returncode != 0:
        detail = done.stderr.strip().splitlines()[-1:] if done else ["it did not end"]
        raise CannotReach(f"{os.path.basename(words[0])} refused: {' '.join(detail) or 'no reason given'}.")


def _said(words: tuple[str, ...]) -> str:
    done = _finished(words)
    return done.stdout if done and done.returncode == 0 else ""


def _works(words: tuple[str, ...]) -> bool:
    done = _finished(words)
    return done is not None and done.returncode == 0


def _finished(words: tuple[str, ...]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=OTHERS_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
