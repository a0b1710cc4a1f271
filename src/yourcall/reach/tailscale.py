"""A private network: Tailscale gives the machine a name with a certificate, and passes on to the daemon.

Rule: the daemon keeps the port that Tailscale was told; another program there would be shown to the tailnet.
"""

from __future__ import annotations

import json

from yourcall.reach import plan as programs
from yourcall.reach.plan import TUNNEL_S, CannotReach, Plan, Wish
from yourcall.reach.way import Undo, Way


def plan(request: Wish) -> Plan:
    program = programs.needed("tailscale", "Install Tailscale, and log in with: tailscale up")
    try:
        status = json.loads(programs.output((program, "status", "--json")))
        name = str(status["Self"]["DNSName"]).rstrip(".")
    except (ValueError, KeyError, TypeError) as error:
        raise CannotReach("Tailscale does not say what this machine is called. Is it logged in?") from error
    if not name:
        raise CannotReach("This machine has no name in your tailnet: turn on MagicDNS and HTTPS certificates.")
    verb = "funnel" if request.funnel else "serve"
    do = (program, verb, "--bg", str(request.daemon_port))
    undo = Undo((program, verb, "--https=443", "off"))
    who = "Anybody will find the locked door" if request.funnel else "Phones in your tailnet will reach yourcall"
    text = f"{who} at https://{name}\n  run  {' '.join(do)}"
    way = Way("tailscale", f"https://{name}", undo=(undo,), port=request.daemon_port)
    return Plan(text, way, lambda: programs.run(do), patience_s=TUNNEL_S)
