"""Makes a fleet on this machine: the authority, this machine's own keys, and NATS.

Rule: everything is written before anything listens, and a fleet that is there already is never overwritten.
"""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

from yourcall.fleet import membership, nats_server
from yourcall.fleet.admission import DESK_SCOPES
from yourcall.fleet.authority import Authority
from yourcall.fleet.certificates import Signed
from yourcall.fleet.keys import Keys
from yourcall.fleet.membership import Embedded, Membership
from yourcall.model.prompts import Refused

SCHEMES = ("tls", "nats", "wss", "ws")


def own_addresses() -> list[str]:
    """This machine's addresses in a network, IPv4 first; loopback last, for another home of this machine."""
    import psutil

    found = [
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family == socket.AF_INET and not entry.address.startswith(("127.", "169.254."))
    ]
    return [*dict.fromkeys(found), "127.0.0.1"]


def host_name() -> str:
    return socket.gethostname().partition(".")[0][:60] or "host"


def create(
    home: Path,
    *,
    name: str,
    host: str,
    addresses: tuple[str, ...] = (),
    port: int = 0,
    websocket: int = 0,
    leaf: int = 0,
    nats: tuple[str, ...] = (),
    creds: str = "",
) -> Membership | Refused:
    """`addresses`: names or addresses under which other machines reach this one. `nats`: a server of the
    user's own."""
    folder = membership.folder_of(home)
    if (folder / membership.NAME).exists():
        return Refused("This machine is in a fleet already. Leave it first: yourcall fleet leave")
    wrong = _wrong_address(nats) if nats else (Refused(nats_server.MISSING) if not nats_server.program() else None)
    if wrong is not None:
        return wrong
    if not nats:
        free = port or nats_server.free_port()
        if isinstance(free, Refused):
            return free
        port = free
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    authority, keys = Authority(folder), Keys.made()
    public = authority.make()
    keys.save(folder)
    member = authority.admit(host, keys.seal_public, keys.nats_public, ("host", "hub", "desk"))
    desk = authority.allow(f"{host} (desk)"[:60], keys.desk_public, DESK_SCOPES, keys.id)
    assert isinstance(member, Signed)
    assert isinstance(desk, Signed)
    names = addresses or tuple(own_addresses())
    tls, embedded = "", None
    if not nats:
        tls = nats_server.make_certificate(folder, authority.key, tuple(dict.fromkeys((*names, "localhost"))))
        embedded = Embedded(port, websocket=websocket, leaf=leaf)
    made = Membership(
        fleet=authority.fleet,
        name=name,
        authority=public,
        member=member,
        roster=authority.roster(),
        addresses=nats or tuple(f"tls://{_bracketed(each)}:{port}" for each in names),
        desk=desk,
        tls=tls,
        creds=creds,
        embedded=embedded,
        authority_member=keys.id,
    )
    membership.write(home, made)
    return made


def _wrong_address(nats: tuple[str, ...]) -> Refused | None:
    for address in nats:
        parts = urlsplit(address)
        if parts.scheme not in SCHEMES or not parts.hostname:
            return Refused(
                f"{address!r} is no address of NATS; it takes tls://HOST:PORT, or wss://HOST behind a proxy."
            )
        if parts.scheme in ("nats", "ws") and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            return Refused(f"{address!r} has no TLS. Over a network, NATS is reached by tls:// or wss:// only.")
    return None


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
