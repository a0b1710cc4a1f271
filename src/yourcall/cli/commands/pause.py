"""`yourcall pause` and `yourcall resume`: one command, and nothing is decided by rule any more.

Rule: it needs no daemon, and waits for none that hangs; a brake that needs a running engine is none.
"""

from __future__ import annotations

import time

import click

from yourcall.cli.instance import Instance, Problem, pass_place


@click.command("pause", epilog="\b\nExample:\n  yourcall pause && yourcall ls\n")
@pass_place
def pause(place: Instance) -> None:
    """Pause all rules: every prompt waits for a person, until `yourcall resume`."""
    from yourcall.cli.client import may
    from yourcall.daemon.rules.files import Files

    may(place.home, "pause")
    try:
        place.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A daemon looks there before each decision.
        Files(place.home).pause(time.time(), "cli")
    except OSError as error:
        raise Problem(f"Not paused: {error}.") from error
    click.echo(f"Paused: nothing is decided by rule. To let rules decide again: {place.command('resume')}")


@click.command("resume", epilog="\b\nExample:\n  yourcall resume\n")
@pass_place
def resume(place: Instance) -> None:
    """Let rules decide again."""
    from yourcall.cli.client import Interrupted, NotRunning, may, refusal
    from yourcall.cli.step_up import act
    from yourcall.daemon.rules.files import Files

    may(place.home, "resume")
    if (place.home / "locked").exists():
        raise Problem(f"yourcall is locked, so no rule decides. First: {place.command('unlock')}")
    try:
        # A daemon that runs is asked: where somebody has a passkey, this takes it.
        reply = act(place.home, "POST", "/api/resume")
        if reply.status not in (200, 404):
            raise refusal(reply)
    except (NotRunning, Interrupted):
        pass
    try:
        Files(place.home).resume()
    except OSError as error:
        raise Problem(f"Still paused: {error}.") from error
    click.echo("Rules decide again.")
