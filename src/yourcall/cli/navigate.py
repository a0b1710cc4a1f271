"""`yourcall next`, `prev`, `back`, `skip`: go to the pane of a session that waits, and return.

Rule: nothing moves unless the person asks. What waits is the daemon's to say; only the way back, and what was put
off, is kept here, in a small file of the home, so it outlives a detached terminal.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NoReturn

import click
import msgspec
from msgspec import Struct

from yourcall import private
from yourcall.cli import panes
from yourcall.cli.client import get
from yourcall.cli.panes import Here, How, Pane
from yourcall.cli.place import Place, Problem, pass_place
from yourcall.cli.render import safe, span
from yourcall.cli.views import Prompt, Session, read

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


def stops(place: Place) -> list[Stop]:
    """Sessions that wait and have a pane: those that cannot go on first, the oldest first, one stop each."""
    prompts = read(get(place.home, "/api/prompts"), list[Prompt])
    sessions = {s.id: s for s in read(get(place.home, "/api/sessions"), list[Session])}
    found: dict[str, Stop] = {}
    for prompt in sorted(prompts, key=lambda p: (p.kind == "ready", p.opened_at, p.id)):
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
    private.write(home / "navigator.json", msgspec.json.encode(trail))


def jump(place: Place, at: Here | None, stop: Stop, how: How) -> None:
    trail = read_trail(place.home)
    # Hopping from one waiting session to the next is one trip: the way back leads to where it began.
    if at is not None and not any(_same(at.pane, each.pane) for each in stops(place)):
        trail.steps = [*trail.steps, at.pane][-MOST_STEPS:]
        keep_trail(place.home, trail)
    panes.go(at, stop.pane, how)


def options(function: click.decorators.FC) -> click.decorators.FC:
    """What the commands that move somebody have in common; tmux bindings fill in who."""
    for option in (
        click.option("--pane", default="", hidden=True, help="The pane it was called from."),
        click.option("--client", default="", hidden=True, help="The tmux client to move."),
        click.option("--link", is_flag=True, help="Bring the window to this session instead of going to its own."),
    ):
        function = option(function)
    return function


def _nowhere(place: Place, left_out: int) -> NoReturn:
    why = f" ({left_out} put off with skip)" if left_out else ""
    raise Problem(f"No session waits in a tmux pane{why}. All that waits: {place.command('ls')}", NOTHING)


def _hop(place: Place, at: Here | None, how: How, backwards: bool) -> None:
    trail, now = read_trail(place.home), time.time()
    waiting = stops(place)
    wanted = [stop for stop in waiting if trail.put_off.get(stop.session_id, 0.0) <= now]
    stop = after(wanted, at, backwards)
    if stop is None:
        if wanted:
            raise Problem("You are there: this is the only session that waits.", NOTHING)
        _nowhere(place, len(waiting))
    jump(place, at, stop, how)
    click.echo(f"{safe(stop.title)} ({span(now - stop.since)})")


@click.command("next", epilog="\b\nExamples:\n  yourcall next\n  yourcall next --link\n")
@options
@pass_place
def next_command(place: Place, client: str, pane: str, link: bool) -> None:
    """Go to the pane of the session that has waited longest; again: to the one after it."""
    _hop(place, panes.here(client, pane), "link" if link else "switch", backwards=False)


@click.command("prev", epilog="\b\nExample:\n  yourcall prev\n")
@options
@pass_place
def prev_command(place: Place, client: str, pane: str, link: bool) -> None:
    """The same, in the other direction: the session that has waited the shortest."""
    _hop(place, panes.here(client, pane), "link" if link else "switch", backwards=True)


@click.command("back", epilog="\b\nExample:\n  yourcall back\n")
@options
@pass_place
def back_command(place: Place, client: str, pane: str, link: bool) -> None:
    """Return to where you were before the first `next`."""
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
def skip_command(place: Place, minutes: float, client: str, pane: str, link: bool) -> None:
    """Leave the session in this pane out of `next` for a while, and go on to the one after it."""
    at = panes.here(client, pane)
    waiting = stops(place)
    this = next((stop for stop in waiting if at is not None and _same(stop.pane, at.pane)), None)
    if this is None:
        raise Problem("The session in this pane does not wait for anything: there is nothing to put off.", 2)
    trail, now = read_trail(place.home), time.time()
    trail.put_off = {name: until for name, until in trail.put_off.items() if until > now}
    trail.put_off[this.session_id] = now + minutes * 60
    keep_trail(place.home, trail)
    _hop(place, at, "link" if link else "switch", backwards=False)
