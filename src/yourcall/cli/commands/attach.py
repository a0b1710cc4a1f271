"""`yourcall attach` and `stop`: a session that has a terminal of its own, looked at, taken over, or ended.

Rule: a terminal that somebody sits before is only looked at; one that nobody has is taken over.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NoReturn, cast
from urllib.parse import quote

import click

from yourcall.cli.client import Reply, call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe
from yourcall.links.private_tmux import server
from yourcall.links.pty.pane import DOOR, SHADOW
from yourcall.system.sockets import short_folder

LEAVES = "Press Ctrl-B, then D, to leave; the session keeps running."


@click.command(
    "attach",
    epilog="""\b
Examples:
  yourcall attach claude-k3fq       one that `yourcall run --detach` started
  yourcall attach 3f2a              any session in tmux, or by `yourcall run`
""",
)
@click.argument("session")
@pass_place
def attach(place: Instance, session: str) -> None:
    """Attach this terminal to SESSION, by its name or its id. One that `yourcall run` started in a terminal of its
    own can be looked at from here. Ctrl-B, then D, leaves it."""
    socket = server.named(place.home, session)
    if socket is not None:
        click.echo(LEAVES, err=True)
        become(*joined(socket, f"={session}"))
    door = short_folder(place.home, "pty") / f"{session}{DOOR}"
    if "/" not in session and door.is_socket():
        _look_at(door)
    links = [link for link in _session(place, session)["links"] if link["kind"] in ("tmux", "pty")]
    if not links:
        raise Problem("This session runs neither in tmux nor by `yourcall run`: nothing to attach to.", 2)
    if links[0]["kind"] == "pty":
        _look_at(Path(links[0]["server"]))
    click.echo(LEAVES, err=True)
    become(*joined(links[0]["server"], links[0]["target"]))


def _look_at(door: Path) -> NoReturn:
    """It has its own terminal, whose size it keeps."""
    shadow = door.with_suffix(SHADOW)
    if not shadow.exists():
        raise Problem("It was started without tmux, so its screen can't be shown.", 2)
    click.echo("View only: this session has its own terminal. Press Ctrl-B, then D, to leave.", err=True)
    become(*joined(shadow, "=shadow", "-r", "-f", "ignore-size"))


def joined(socket: Path | str, target: str, *how: str) -> tuple[list[str], dict[str, str]]:
    """The command line that attaches this terminal, and its environment: from inside another tmux, too."""
    program = shutil.which("tmux")
    if program is None:
        raise Problem("tmux isn't installed.")
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    return [program, "-u", "-S", str(socket), "attach-session", *how, "-t", target], env


def become(argv: list[str], env: dict[str, str]) -> NoReturn:
    sys.stdout.flush()
    try:
        os.execve(argv[0], argv, env)  # noqa: S606 - the person's own command, as they typed it
    except OSError as error:
        raise Problem(f"{argv[0]} cannot be run: {error.strerror}.") from error


def declined(reply: Reply) -> Problem:
    data: Any = reply.data
    detail = str(cast("dict[str, Any]", data).get("detail") or "") if isinstance(data, dict) else ""
    return Problem(detail, 2) if detail else refusal(reply)


def _session(place: Instance, name: str) -> dict[str, Any]:
    """A session of the daemon's, by the beginning of its id."""
    alike = [s for s in get(place.home, "/api/sessions") if s["id"].startswith(name)]
    if len(alike) != 1:
        many = "There is no such session" if not alike else f"{len(alike)} sessions start like this"
        raise Problem(f"{many}: {name!r}. See: {place.command('sessions')}", 2)
    return alike[0]


@click.command(
    "stop",
    epilog="""\b
Examples:
  yourcall stop 3f2a                one without a terminal, by its id
  yourcall stop claude-k3fq         one that `yourcall run --detach` started
""",
)
@click.argument("session")
@pass_place
def stop(place: Instance, session: str) -> None:
    """End SESSION, which yourcall started, and all that it runs. To end only its turn: yourcall interrupt."""
    socket = server.named(place.home, session)
    if socket is not None:
        wrong = server.end(socket)
        if wrong is not None:
            raise Problem(wrong.reason)
        click.echo(f"{session} has ended.")
        return
    fields = _session(place, session)
    reply = call(place.home, "POST", f"/api/sessions/{quote(fields['id'], safe='')}/stop")
    if reply.status != 200:
        raise declined(reply)
    click.echo(f"{safe(fields['id'])} has ended.")
