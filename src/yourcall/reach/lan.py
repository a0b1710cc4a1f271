"""At home, without anybody else: the daemon speaks TLS itself, with a certificate of this machine's own authority.

Rule: the port is opened to the network only here, where the person asked for it.
"""

from __future__ import annotations

import ipaddress
import socket

from yourcall.reach import certificates
from yourcall.reach.plan import CannotReach, Plan, Wish
from yourcall.reach.way import DEFAULT_TLS_PORT, Way, listen_on, read

TRIES = 20  # ports that are tried when the usual one is taken


def plan(request: Wish) -> Plan:
    addresses = _own_addresses()
    local = f"{socket.gethostname().partition('.')[0].lower()}.local"
    name = request.name or (local if _is_ours(local, addresses) else next(iter(addresses), ""))
    if not name:
        raise CannotReach("This machine has no address in a network; name one with --name.")
    port = request.port or _free_port(request, listen_on(name))
    url = f"https://{f'[{name}]' if ':' in name else name}:{port}"
    names = (name, *(each for each in (local, *addresses) if each != name))
    paths = certificates.files(request.home)
    text = (
        f"Phones in your network will reach yourcall at {url}\n"
        f"  write  {paths.authority}, a certificate authority that can vouch for this machine only:\n"
        f"         {', '.join(names)}\n"
        f"  write  {paths.certificate}, the certificate of this machine\n"
        f"  open   port {port} to your network, with TLS; no route is open without a key"
    )

    def apply() -> None:
        request.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        certificates.make(request.home, names)

    return Plan(text, Way("lan", url, tls_port=port, names=names), apply, paths.authority)


def _free_port(request: Wish, address: str) -> int:
    """The port it has already; else the usual one, or the next that nobody has."""
    current = read(request.home)
    if current is not None and current.tls_port:
        return current.tls_port
    for port in range(DEFAULT_TLS_PORT, DEFAULT_TLS_PORT + TRIES):
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((address, port))
            except OSError:
                continue
            return port
    raise CannotReach(f"No port from {DEFAULT_TLS_PORT} on is free; name one with --port.")


def _own_addresses() -> tuple[str, ...]:
    """This machine's addresses in private networks, IPv4 first; a phone at home has one of the same kind."""
    import psutil

    addresses: list[str] = []
    for entries in psutil.net_if_addrs().values():
        for entry in entries:
            if entry.family != socket.AF_INET:
                continue
            address = ipaddress.ip_address(entry.address)
            if address.is_private and not address.is_loopback and not address.is_link_local:
                addresses.append(entry.address)
    return tuple(dict.fromkeys(addresses))


def _is_ours(name: str, addresses: tuple[str, ...]) -> bool:
    """Does this name lead to this machine for others too, not only by way of its own loopback?"""
    try:
        return any(info[4][0] in addresses for info in socket.getaddrinfo(name, None, socket.AF_INET))
    except OSError:
        return False
