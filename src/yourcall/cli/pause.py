"""`yourcall pause` and `yourcall resume`: one command, and nothing is decided by rule any more.

Rule: it works without a daemon too; a brake that needs a running engine is none.
"""

from __future__ import annotations

import time

import click

from yourcall.cli.client import NotRunning, call, refusal
from yourcall.cli.place import Place, pass_place


@click.command("pause", epilog="\b\nExample:\n  yourcall pause && yourcall ls\n")
@pass_place
def pause(place: Place) -> None:
    """Decide nothing by rule: every prompt waits for a person, until `yourcall resume`."""
    try:
        reply = call(place.home, "POST", "/api/pause")
        if reply.status != 200:
            raise refusal(reply)
    except NotRunning:
        from yourcall.rulebook.files import Files

        place.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        Files(place.home).pause(time.time(), "you")
    click.echo(f"Paused: nothing is decided by rule. To let rules decide again: {place.command('resume')}")


@click.command("resume", epilog="\b\nExample:\n  yourcall resume\n")
@pass_place
def resume(place: Place) -> None:
    """Let rules decide again."""
    try:
        reply = call(place.home, "POST", "/api/resume")
        if reply.status != 200:
            raise refusal(reply)
    except NotRunning:
        from yourcall.rulebook.files import Files

        Files(place.home).resume()
    click.echo("Rules decide again.")
