"""The plan for each way, and how a way is taken down.

Rule: a way is taken down by what it noted when it was set up, tunnel first; nothing is guessed.
"""

from __future__ import annotations

import re
from pathlib import Path

from yourcall.reach import certificates, cloudflared, lan, ssh, tailscale, tunnel
from yourcall.reach.check import Step
from yourcall.reach.plan import CannotReach, Plan, Wish, works
from yourcall.reach.relay import plan as relay
from yourcall.reach.way import Undo, Way

_PLANS = {
    "lan": lan.plan,
    "tailscale": tailscale.plan,
    "cloudflared": cloudflared.plan,
    "ssh": ssh.plan,
    "relay": relay.plan,
}
# Which way takes which option; the others refuse it, so that nothing that was asked for is left undone in silence.
_TAKEN_BY = {
    "target": ("the server", {"ssh"}),
    "port": ("--port", {"lan", "ssh"}),
    "funnel": ("--funnel", {"tailscale"}),
    "site": ("--site", {"ssh"}),
    "site_file": ("--site-file", {"ssh"}),
    "certificate": ("--certificate", {"ssh", "relay"}),
    "key": ("--key", {"ssh", "relay"}),
    "acme": ("--acme", {"relay"}),
    "acme_ca": ("--acme-ca", {"relay"}),
    "email": ("--email", {"relay"}),
    "name": ("--name", {"lan", "cloudflared", "ssh", "proxy"}),
}


def make(chosen: str, request: Wish) -> Plan:
    for field, (shown, ways) in _TAKEN_BY.items():
        if getattr(request, field) and chosen not in ways:
            raise CannotReach(f"{chosen} has no use for {shown}.")
    if request.name is not None and not re.fullmatch(r"[A-Za-z0-9.:-]{1,253}", request.name):
        raise CannotReach(f"{request.name!r} is no name of a machine.")
    return _PLANS.get(chosen, _proxy)(request)


def authority(home: Path, way: Way) -> Path | None:
    return certificates.files(home).authority if way.tls_port else None


def take_down(home: Path, way: Way) -> list[Undo]:
    """End the tunnel, and run what undoes the way; returns what did not work. The daemon must be stopped: it would
    start the tunnel again."""
    ended = tunnel.end_left_over(home)
    left = [] if ended else [Undo((), f"end the process that is noted in {home / 'reach.pid'}")]
    return left + [undo for undo in way.undo if not _undone(home, way, undo)]


def own_steps(home: Path, way: Way) -> list[Step]:
    """What can be told without asking at its address."""
    return relay.steps(home, way, way.relay) if way.relay else []


def advice(home: Path, way: Way) -> str:
    """What is left to do for the person, once the way stands."""
    return relay.advice(home, way) if way.relay else ""


def shown_certificate(home: Path, way: Way) -> bytes | None:
    """What a phone must be shown at its address, in DER, if TLS ends on this machine."""
    return relay.shown_certificate(home, way.relay) if way.relay else None


def _undone(home: Path, way: Way, undo: Undo) -> bool:
    return works(undo.argv) if undo.argv else relay.leave(home, way)


def _proxy(request: Wish) -> Plan:
    if request.name is None:
        raise CannotReach("Say by which name your proxy is reached: --name desk.example.net")
    text = (
        f"Your proxy passes https://{request.name} on to http://127.0.0.1:{request.daemon_port}, "
        "with its Host header.\nyourcall will answer to that name."
    )
    return Plan(text, Way("proxy", f"https://{request.name}", port=request.daemon_port), lambda: None)
