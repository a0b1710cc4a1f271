"""`yourcall lock` and `yourcall unlock`: the emergency stop.

Rule: the file is written first, with or without a daemon; whatever else cannot be done is said.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

import click

from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import clock, safe, span, style, table

_SPAN = re.compile(r"(\d{1,6})([mhd])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}


def _since(_context: click.Context, _option: click.Parameter, value: str) -> float:
    match = _SPAN.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter("write it like 90m, 24h or 7d.")
    return time.time() - int(match[1]) * _SECONDS[match[2]]


@click.command(
    "lock",
    epilog="""\b
Examples:
  yourcall lock                  now; then read what happened in the last day
  yourcall lock --since 7d       tell what happened in the last week
  yourcall unlock                once you know that all is well
""",
)
@click.option("--since", callback=_since, default="24h", show_default=True, help="From when on to tell.")
@click.option("--json", "as_json", is_flag=True, help="One object: what was revoked, and what happened.")
@pass_place
def lock(place: Instance, since: float, as_json: bool) -> None:
    """Emergency: stop everything that is done through yourcall, and show what happened.

    Nothing is answered, allowed, steered or started from any device, chat, rule or command. Every device is
    revoked, chats are unpaired, buttons are void, rules are paused; agents ask in their own terminals, and go on
    working there. It works without the daemon, and while the daemon hangs.
    """
    from yourcall.cli.client import may
    from yourcall.daemon import lockdown

    may(place.home, "lock")
    try:
        place.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lockdown.lock(place.home, "cli")
    except OSError as error:
        raise Problem(f"NOT locked: {error}.") from error
    payload = _carried_out(place)
    lines, whole, problem = _happened(place, since)
    if as_json:
        import msgspec

        report = {
            **payload,
            "since": since,
            "happened": msgspec.to_builtins(lines),
            "all": whole,
            "problem": problem,
        }
        click.echo(json.dumps(report, indent=2))
        return
    click.echo(
        style("Locked.", "red", bold=True) + " Nothing is done through yourcall. Agents ask at their desks."
    )
    click.echo(_in_words(payload))
    if problem:
        click.echo(f"What happened cannot be read: {safe(problem)}")
    elif lines:
        click.echo(f"\nIn the last {span(time.time() - since)}{'' if whole else ', the latest'}:")
        rows = [[clock(o.at), o.what, o.about, f"{o.by} ({o.how})" if o.how else o.by] for o in lines]
        click.echo(table(["WHEN", "WHAT", "ABOUT", "BY"], rows, [""]))
    else:
        click.echo(f"\nNothing was answered or changed in the last {span(time.time() - since)}.")
    click.echo(f"\nIs the record whole?   {place.command('log verify')}")
    click.echo(f"To let it work again:  {place.command('unlock')}")


def _carried_out(place: Instance) -> dict[str, Any]:
    """What follows from the file: by the daemon, if one works; else in the database itself."""
    from yourcall.cli.client import Interrupted, call
    from yourcall.daemon import lockdown

    free = lockdown.no_daemon(place.home)
    if free is not None:
        import os

        try:
            return {"locked": True, "daemon": "none", "revoked": _revoked_here(place)}
        finally:
            os.close(free)
    try:
        # It looks at the file itself twice a second; this makes it now, and says that it was done.
        reply = call(place.home, "POST", "/api/lock", body='{"keep": false}', timeout=5.0)
    except Problem as error:
        hangs = isinstance(error, Interrupted)
        return {"locked": True, "daemon": "hangs" if hangs else "unreachable", "revoked": None}
    return {"locked": True, "daemon": "done" if reply.status == 200 else "refused", "revoked": None}


def _revoked_here(place: Instance) -> list[str] | None:
    import asyncio

    from yourcall.daemon import lockdown
    from yourcall.store.problem import StoreProblem
    from yourcall.store.sqlite import Store

    path, locked = place.home / "yourcall.db", lockdown.read(place.home)
    if not path.exists() or locked is None:
        return []
    try:
        store = Store.open(path)
        try:

            async def work() -> list[str]:
                gone = await lockdown.shut_out(store, locked, lambda id, by: store.revoke_device(id, by=by))
                await store.drop_all_taps()
                return gone

            return asyncio.run(work())
        finally:
            store.close()
    except StoreProblem:
        return None  # the file locks all the same; whoever starts a daemon on it is told


def _in_words(told: dict[str, Any]) -> str:
    gone = told["revoked"]
    match told["daemon"]:
        case "none" if gone is None:
            return "No daemon runs, and its database cannot be opened: devices are revoked when one starts."
        case "none":
            names = f"Revoked: {safe(', '.join(gone))}." if gone else "No device was paired."
            return f"No daemon runs. {names} Chats are unpaired when one starts."
        case "done":
            return "All devices are revoked, chats unpaired, rules paused, and held requests are at their desks."
        case "hangs":
            return (
                "The daemon hangs: it obeys the lock before it does anything else. End it: yourcall down --force"
            )
        case _:
            return (
                "The daemon does not answer on its socket; it obeys the lock within a second, or when it starts."
            )


def _happened(place: Instance, since: float) -> tuple[list[Any], bool, str]:
    from yourcall.store.problem import StoreProblem
    from yourcall.store.since import happened

    path = place.home / "yourcall.db"
    if not path.exists():
        return [], True, ""
    try:
        return *happened(path, since), ""
    except (StoreProblem, ValueError) as error:
        return [], False, str(error)


@click.command("unlock", epilog="\b\nExample:\n  yourcall unlock && yourcall devices pair && yourcall resume\n")
@pass_place
def unlock(place: Instance) -> None:
    """End the lock. Devices stay revoked and rules paused, until you pair and resume them one by one."""
    from yourcall.cli.client import may
    from yourcall.daemon import lockdown

    if lockdown.read(place.home) is None:
        click.echo("yourcall is not locked.")
        return
    may(place.home, "unlock")
    try:
        lockdown.unlock(place.home)
    except OSError as error:
        raise Problem(f"Still locked: {error}.") from error
    click.echo("Unlocked. Agents can be answered through yourcall again, at this machine.")
    click.echo(f"Let a phone in: {place.command('devices pair')}   Let rules decide: {place.command('resume')}")
