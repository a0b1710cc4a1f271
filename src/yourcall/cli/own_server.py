"""`yourcall run`: a server beside the person's agent, where it has one, so that yourcall can join it.

Rule: the person's agent is what it always is; without the server (an old version, a full disk) it starts as if we
did not exist. The server ends with it, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from yourcall.agents.registry import by_program
from yourcall.links.stdio.process import ENDS_S, GUARD
from yourcall.system.sockets import made_private, short_folder

# Waits for the end of the process that has the lock. The end of a pipe would not do: whatever the agent starts and
# leaves behind, an editor's helper or a browser, would keep the pipe open, and with it the server.
FREE = "import fcntl; fcntl.lockf({life}, fcntl.LOCK_EX)"

LISTENS_S = 20.0  # it copies itself and reads its settings first; two seconds on a slow machine


def with_server(home: Path, argv: list[str], env: dict[str, str]) -> list[str]:
    """The command line that joins a new server, or the one that was given."""
    agent = by_program(argv[0])
    own = agent.own_server if agent is not None else None
    if agent is None or own is None:
        return argv
    folder = short_folder(home, own.folder)
    path = folder / f"{secrets.token_hex(4)}.sock"
    words = own.serve(argv, str(path))
    if words is None:
        return argv
    _sweep(folder)
    if made_private(folder) or not _listening([argv[0], *words], path, env):
        title = agent.title
        click.echo(f"{title} runs without a server of its own: yourcall may not be able to join it.", err=True)
        return argv
    return own.join(argv, str(path))


def _listening(argv: list[str], path: Path, env: dict[str, str]) -> bool:
    """Start the server. It ends when a lock is free that this process keeps when it becomes the agent."""
    life = _locked(path.parent)
    if life is None:
        return False
    waits = f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(FREE.format(life=life))}"
    guard = GUARD.format(waits=waits, ends=int(ENDS_S))
    try:
        server = subprocess.Popen(
            ["/bin/sh", "-c", guard, "yourcall", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
            pass_fds=(life,),
            start_new_session=True,
        )
    except OSError:
        os.close(life)
        return False
    deadline = time.monotonic() + LISTENS_S
    while not path.is_socket():
        if server.poll() is not None or time.monotonic() > deadline:
            os.close(life)
            return False
        time.sleep(0.02)
    os.set_inheritable(life, True)
    return True


def _locked(folder: Path) -> int | None:
    """A file without a name, locked by this process: a record lock outlives `exec`, and no child ever has it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            life = os.dup(file.fileno())
    except OSError:
        return None
    # Only now: to close one descriptor of a file is to give up its locks.
    fcntl.lockf(life, fcntl.LOCK_EX)
    return life


def _sweep(folder: Path) -> None:
    """Sockets that nobody listens on any more: a server that was killed leaves its own behind."""
    for left in folder.glob("*.sock"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)  # one that hangs may take no more calls, and the agent is to start
            try:
                probe.connect(str(left))
            except ConnectionRefusedError:
                left.unlink(missing_ok=True)
            except OSError:
                continue
