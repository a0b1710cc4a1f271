"""A request that takes a passkey: where to confirm it, and the same request again once somebody has.

Rule: it is sent again only when it was refused for that, so nothing is done twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import click

from yourcall.cli.client import PATIENCE, Reply, call
from yourcall.cli.instance import Problem, read_daemon_file

LOOK_S = 0.5
TAKES_PASSKEY = 428


def act(
    home: Path,
    method: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: str | None = None,
    timeout: float = PATIENCE,
) -> Reply:
    """As `client.call`; if it takes a passkey, wait for that on a page of the app."""
    reply = call(home, method, path, query=query, body=body, timeout=timeout)
    if reply.status != TAKES_PASSKEY:
        return reply
    step = cast("dict[str, Any]", reply.data).get("step_up", {})
    name = str(step.get("id", ""))
    click.echo(f"This takes your passkey. Open, on a device that has it:\n  {link(home, name)}", err=True)
    until = time.monotonic() + float(step.get("expires_in") or 0)
    while time.monotonic() < until:
        seen = call(home, "GET", f"/api/step-up/{quote(name, safe='')}")
        if seen.status == 200:
            confirmed = {"Yourcall-Step-Up": name}
            return call(home, method, path, query=query, body=body, timeout=timeout, headers=confirmed)
        if seen.status != 202:
            break
        time.sleep(LOOK_S)
    sys.stdout.flush()
    raise Problem("Nobody confirmed it with a passkey in time. Nothing was done.", 2)


def link(home: Path, name: str) -> str:
    """The page of the app that confirms it. A passkey is made for a name, so not for 127.0.0.1."""
    address = str(read_daemon_file(home).get("url", "")).replace("://127.0.0.1:", "://localhost:")
    return f"{address.rstrip('/')}/#/confirm/{quote(name, safe='')}"
