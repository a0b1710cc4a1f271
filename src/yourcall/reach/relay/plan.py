"""`yourcall reach relay`: redeem an invitation, and be reached under its name through a server of the person's.

Rule: the invitation is on no command line, where other users of this machine could read it. The relay hears of
this machine only after a yes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import ssl
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from yourcall.reach.check import Step
from yourcall.reach.plan import CannotReach, Plan, Wish
from yourcall.reach.relay import certificate, machine
from yourcall.reach.relay.messages import Invitation, machine_key, read_invitation
from yourcall.reach.way import Relay, Undo, Way, read

ORDERED_S = 120.0  # for the daemon to come back, dial out and get a certificate


def plan(request: Wish) -> Plan:
    before = read(request.home)
    invitation = read_invitation(request.invitation) if request.invitation else None
    if invitation is not None:
        relay, name = Relay(invitation.host, invitation.port, invitation.pin), invitation.name
    elif request.invitation:
        raise CannotReach(
            "That is no invitation, or not all of it. The relay prints one: yourcall relay invite NAME"
        )
    elif before is not None and before.relay is not None:
        relay, name = before.relay, before.names[0]
    else:
        raise CannotReach("A relay needs an invitation. The relay prints one: yourcall relay invite NAME")
    relay = _with_certificate(relay, name, request)
    url = f"https://{name}" if relay.port == 443 else f"https://{name}:{relay.port}"
    undo = Undo((), f"at the relay: yourcall relay revoke {name}")
    way = Way("relay", url, undo=(undo,), names=(name,), relay=relay)

    def apply() -> None:
        _enter(request.home, relay, name, invitation)
        if before is not None and before.relay is not None and before.names != way.names:
            leave(request.home, before)

    return Plan(_text(request.home, way, relay), way, apply, patience_s=ORDERED_S)


def leave(home: Path, way: Way) -> bool:
    """Give the name up, so that another machine can be invited to it."""
    if way.relay is None:
        return True
    try:
        _talk(machine.leave(way.relay, way.names[0], _key(home)))
    except CannotReach:
        return False
    return True


def steps(home: Path, way: Way, relay: Relay) -> list[Step]:
    """What the daemon noted last; only what keeps phones out is no."""
    problems = certificate.problems(home)
    if problems.relay:
        return [Step("relay", False, problems.relay)]
    found = [Step("relay", True, f"{relay.host}:{relay.port} passes {way.names[0]} on to this machine")]
    if certificate.leaf(home, relay) is None:
        found.append(Step("certificate", False, problems.certificate or "It is being ordered."))
    elif problems.certificate:
        found.append(Step("renewal", True, f"The certificate is still good, but: {problems.certificate}"))
    return found


def advice(home: Path, way: Way) -> str:
    """What only the person can do, once it works."""
    record = certificate.caa_record(home, way.names[0])
    return record and (
        "The name leads to the relay, so whoever runs that could get a certificate for it and then read along."
        f" This record in your DNS keeps everybody else from getting one:\n  {record}"
    )


def shown_certificate(home: Path, relay: Relay) -> bytes | None:
    leaf = certificate.leaf(home, relay)
    return None if leaf is None else certificate.der(leaf)


def _with_certificate(relay: Relay, name: str, request: Wish) -> Relay:
    """Where the certificate comes from: as said now, or before, or from Let's Encrypt."""
    if (request.certificate is None) != (request.key is None):
        raise CannotReach("A certificate needs its key: --certificate FILE --key FILE")
    if request.certificate and request.key:
        if request.acme or request.acme_ca or request.email:
            raise CannotReach("Either a certificate of yours, or one by ACME.")
        own = Path(request.certificate).expanduser().absolute(), Path(request.key).expanduser().absolute()
        mine = replace(relay, certificate=str(own[0]), key=str(own[1]), directory="", authority="", email="")
        _check_own(request.home, mine, name)
        return mine
    if relay.certificate and not request.acme:
        return relay
    if importlib.util.find_spec("acme") is None:
        raise CannotReach(
            "To get a certificate, yourcall needs its extra: install 'yourcall[relay]' in place of yourcall, as by"
            " uv tool install 'yourcall[relay]'. Or name a certificate of yours: --certificate FILE --key FILE"
        )
    authority = str(Path(request.acme_ca).expanduser().absolute()) if request.acme_ca else relay.authority
    if authority and not Path(authority).is_file():
        raise CannotReach(f"There is no file {authority}.")
    directory = request.acme or relay.directory or certificate.DIRECTORY
    if not directory.startswith("https://"):
        raise CannotReach(f"{directory!r} is no address of a certificate authority: it begins with https://")
    email = request.email or relay.email
    return replace(relay, directory=directory, authority=authority, email=email, certificate="", key="")


def _check_own(home: Path, relay: Relay, name: str) -> None:
    try:
        certificate.context(home, relay)
    except OSError as error:  # ssl.SSLError too
        why = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise CannotReach(f"{relay.certificate} and {relay.key} can't be used ({why or error}).") from error
    leaf = certificate.leaf(home, relay)
    wildcard = f"*.{name.partition('.')[2]}"
    if leaf is None or not {name, wildcard} & set(certificate.names_of(leaf)):
        raise CannotReach(f"{relay.certificate} is not for {name}.")


def _text(home: Path, way: Way, relay: Relay) -> str:
    name = way.names[0]
    lines = [
        f"Anybody will find the locked door at {way.url}, by the relay at {relay.host}:{relay.port}.",
        "TLS ends on this machine: the relay passes it on and can't read it.",
        f"  write  {certificate.machine_key(home)}, by which the relay knows this machine",
    ]
    if relay.directory:
        lines.append(f"  write  {certificate.chain(home, relay)[0]}, a certificate for {name},")
        lines.append(f"         renewed by itself, from {relay.directory}")
        lines.append("         (you agree to its terms of service)")
    else:
        lines.append(f"  read   {relay.certificate} and {relay.key}, again whenever they change")
    lines.append("  keep   a connection to the relay, as long as yourcall runs")
    return "\n".join(lines)


def _enter(home: Path, relay: Relay, name: str, invitation: Invitation | None) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    _talk(machine.enter(relay, name, _key(home), invitation.secret if invitation else b""))
    certificate.note_problems(home, certificate.Problems(relay="yourcall has not reached the relay yet."))


def _key(home: Path) -> Ed25519PrivateKey:
    try:
        return machine_key(certificate.machine_key(home))
    except (OSError, ValueError) as error:
        raise CannotReach(f"This machine's key can't be read ({error}).") from error


def _talk(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(coroutine)
    except (OSError, TimeoutError, machine.NotAccepted, msgspec.MsgspecError) as error:
        raise CannotReach(machine.reason_of(error)) from error
