"""`yourcall next`, `prev`, `back`, `skip`: go to the pane of a session that waits, and return.

Rule: nothing moves unless the person asks. What waits is the daemon's to say; only the way back, and what was put
off, is kept here, in a small file of the home, so it outlives a detached terminal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click
import msgspec
from msgspec import Struct

from yourcall.cli import panes
from yourcall.cli.client import get
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.panes import Here, How, Pane
from yourcall.cli.terminal.render import safe, span
from yourcall.cli.views import Prompt, Session, read
from yourcall.core.queue_order import in_order
from yourcall.system import private_files

PUT_OFF_S = 300.0  # how long `skip` leaves a session out, unless told
MOST_STEPS = 50  # of the way back
NOTHING = 3  # exit code: there is nowhere to go


class Trail(Struct):
    """`steps`: the panes jumps began in, the newest last. `put_off`: session -> until when it is left out."""

    steps: list[Pane] = []
    put_off: dict[str, float] = {}


class Stop(Struct, frozen=True):
    """A session that waits, in a pane that is there."""

    session_id: str
    pane: Pane
    title: str
    since: float
    kind: str


def stops(place: Instance) -> list[Stop]:
    """Sessions that wait and have a pane: those that cannot go on first, the oldest first, one stop each."""
    prompts = read(get(place.home, "/api/prompts"), list[Prompt])
    sessions = {s.id: s for s in read(get(place.home, "/api/sessions"), list[Session])}
    found: dict[str, Stop] = {}
    for prompt in in_order(prompts):
        session = sessions.get(prompt.session_id)
        if session is None or session.id in found or prompt.state not in ("open", "unsure"):
            continue
        for link in session.links:
            pane = Pane(link.server, link.target)
            if link.kind == "tmux" and panes.alive(pane, session.pid):
                found[session.id] = Stop(session.id, pane, prompt.title, prompt.opened_at, prompt.kind)
                break
    return list(found.values())


def after(waiting: list[Stop], at: Here | None, backwards: bool) -> Stop | None:
    """The next stop; from a pane that is one itself, the one behind it (around the end, never the same)."""
    if not waiting:
        return None
    order = waiting[::-1] if backwards else waiting
    now = next((n for n, stop in enumerate(order) if at is not None and _same(stop.pane, at.pane)), None)
    if now is None:
        return order[0]
    return order[(now + 1) % len(order)] if len(order) > 1 else None


def _same(one: Pane, other: Pane) -> bool:
    return one.id == other.id and os.path.realpath(one.server) == os.path.realpath(other.server)


def read_trail(home: Path) -> Trail:
    try:
        return msgspec.json.decode((home / "navigator.json").read_bytes(), type=Trail)
    except (OSError, msgspec.DecodeError):
        return Trail()


def keep_trail(home: Path, trail: Trail) -> None:
    private_files.write(home / "navigator.json", msgspec.json.encode(trail))


def jump(place: Instance, at: Here | None, stop: Stop, how: How) -> None:
    trail = read_trail(place.home)
    # Hopping from one waiting session to the next is one trip: the way back leads to where it began.
    if at is not None and not any(_same(at.pane, each.pane) for each in stops(place)):
        trail.steps = [*trail.steps, at.pane][-MOST_STEPS:]
        keep_trail(place.home, trail)
    panes.go(at, stop.pane, how)


@contextmanager
def told_in(client: str) -> Generator[None]:
    """Called from a tmux key: what went wrong is said in that client's status bar."""
    try:
        yield
    except Problem as problem:
        if not client:
            raise
        panes.tell(client, problem.message)
        raise click.exceptions.Exit(problem.exit_code) from problem


def options(function: click.decorators.FC) -> click.decorators.FC:
    """What the commands that move somebody have in common; tmux bindings fill in who."""
    for option in (
        click.option("--pane", default="", hidden=True, help="The pane it was called from."),
        click.option("--client", default="", hidden=True, help="The tmux client to move."),
        click.option("--link", is_flag=True, help="Bring the window to this session instead of going to its own."),
    ):
        function = option(function)
    return function


def _nowhere(place: Instance, left_out: int) -> NoReturn:
    why = f" ({left_out} put off with skip)" if left_out else ""
    raise Problem(f"No session waits in a tmux pane{why}. All that waits: {place.command('ls')}", NOTHING)


def _hop(place: Instance, at: Here | None, how: How, backwards: bool, client: str) -> None:
    trail, now = read_trail(place.home), time.time()
    waiting = stops(place)
    wanted = [stop for stop in waiting if trail.put_off.get(stop.session_id, 0.0) <= now]
    stop = after(wanted, at, backwards)
    if stop is None:
        if wanted:
            raise Problem("You are there: this is the only session that waits.", NOTHING)
        _nowhere(place, len(waiting))
    jump(place, at, stop, how)
    if client:
        place_in_line = f"{wanted.index(stop) + 1} of {len(wanted)}"
        panes.tell(client, f"{place_in_line}, {stop.kind}, waiting for {span(now - stop.since)}")
    else:
        click.echo(f"{safe(stop.title)} ({span(now - stop.since)})")


@click.command("next", epilog="\b\nExamples:\n  yourcall next\n  yourcall next --link\n")
@options
@pass_place
def next_command(place: Instance, client: str, pane: str, link: bool) -> None:
    """Go to the pane of the session that has waited longest; again: to the one after it."""
    with told_in(client):
        _hop(place, panes.here(client, pane), "link" if link else "switch", False, client)


@click.command("prev", epilog="\b\nExample:\n  yourcall prev\n")
@options
@pass_place
def prev_command(place: Instance, client: str, pane: str, link: bool) -> None:
    """The same, in the other direction: the session that has waited the shortest."""
    with told_in(client):
        _hop(place, panes.here(client, pane), "link" if link else "switch", True, client)


@click.command("back", epilog="\b\nExample:\n  yourcall back\n")
@options
@pass_place
def back_command(place: Instance, client: str, pane: str, link: bool) -> None:
    """Return to where you were before the first `next`."""
    with told_in(client):
        at = panes.here(client, pane)
        trail = read_trail(place.home)
        known = bool(trail.steps)
        while trail.steps:
            where = trail.steps.pop()
            if panes.alive(where, 0) and not (at is not None and _same(where, at.pane)):
                keep_trail(place.home, trail)
                panes.go(at, where, "link" if link else "switch")
                return
        if known:
            keep_trail(place.home, trail)
        raise Problem("There is no way back: no jump began in a pane that is still there.", NOTHING)


@click.command("skip", epilog="\b\nExamples:\n  yourcall skip\n  yourcall skip --for 30\n")
@click.option(
    "--for",
    "minutes",
    type=click.FloatRange(0, 1440),
    default=PUT_OFF_S / 60,
    show_default=True,
    help="How many minutes.",
)
@options
@pass_place
def skip_command(place: Instance, minutes: float, client: str, pane: str, link: bool) -> None:
    """Leave the session in this pane out of `next` for a while, and go on to the one after it."""
    with told_in(client):
        at = panes.here(client, pane)
        waiting = stops(place)
        this = next((stop for stop in waiting if at is not None and _same(stop.pane, at.pane)), None)
        if this is None:
            raise Problem("The session in this pane does not wait for anything: there is nothing to put off.", 2)
        trail, now = read_trail(place.home), time.time()
        trail.put_off = {name: until for name, until in trail.put_off.items() if until > now}
        trail.put_off[this.session_id] = now + minutes * 60
        keep_trail(place.home, trail)
        _hop(place, at, "link" if link else "switch", False, client)
