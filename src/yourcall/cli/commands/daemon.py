"""`yourcall up`, `down`, `status`: the daemon's life, from the outside.

Rule: nothing is said to run that has not answered, and no process is ended that does not hold our socket.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click

from yourcall import __version__
from yourcall.cli.client import Interrupted, NotRunning, call, connect, get, hung, may, peer_pid
from yourcall.cli.instance import Instance, Problem, pass_place, read_daemon_file
from yourcall.cli.terminal.render import ago, safe, style

# A start takes half a second; one that takes this long has met something a person should look at.
START_PATIENCE = 20.0
STOP_PATIENCE = 10.0
# What `up` exits with when another one has the home already (EX_TEMPFAIL): `up --detach` then waits for that one.
TAKEN = 75


@click.command(
    epilog="""\b
Examples:
  yourcall up                     in this terminal, until Ctrl-C
  yourcall up --detach            in the background
  yourcall up --bind 0.0.0.0 --public-url https://desk.example.net
  yourcall up --detach --headless --repo ~/kite-shop
"""
)
@click.option("--detach", "-d", is_flag=True, help="Start it in the background, and come back when it listens.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; if it is taken, the next one is tried.")
@click.option(
    "--bind", metavar="ADDRESS", help="Listen on this address; only this machine reaches the default, 127.0.0.1."
)
@click.option("--public-url", metavar="URL", help="The address others reach it by, for instance behind a proxy.")
@click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Name this folder as a workspace, in which clients may start sessions.",
)
@click.option("--headless", is_flag=True, help="No effect; accepted for scripts. `up` never starts an agent.")
@click.option("--json", "as_json", is_flag=True, help="With --detach: print the status once it runs.")
@pass_place
def up(
    place: Instance,
    detach: bool,
    port: int | None,
    bind: str | None,
    public_url: str | None,
    repo: Path | None,
    headless: bool,
    as_json: bool,
) -> None:
    """Start yourcall. It listens on this machine only, unless --bind says otherwise."""
    if repo is not None:
        from yourcall.cli.workspace import name_workspace

        name_workspace(place.home, repo.absolute(), running=_running(place.home))
    port = place.port if port is None else port
    if public_url is not None and not public_url.startswith(("http://", "https://")):
        raise click.UsageError("--public-url takes a whole address, such as https://desk.example.net")
    if _running(place.home):
        _already(place, detach=detach, as_json=as_json)
        return
    if detach:
        _start(place, port, bind, public_url)
        _tell(place, as_json=as_json)
        return
    raise click.exceptions.Exit(_run_here(place, port, bind, public_url))


def _run_here(place: Instance, port: int | None, bind: str | None, public_url: str | None) -> int:
    from yourcall.daemon.run import AlreadyRunning, BadConfig, Listening, run
    from yourcall.hook.launcher import install_launcher
    from yourcall.store.problem import StoreProblem

    def announce(where: Listening) -> None:
        told = {"url": where.url, "pid": where.pid, "port": where.port, "wished_port": where.wished_port}
        click.echo(greeting(told, place))
        click.echo("Stop it with Ctrl-C.")

    try:
        # An upgrade may have moved Python or the package: what the agents' hooks call is mended at every start.
        install_launcher(place.home)
        if run(place.home, port, bind, public_url, announce):
            raise Problem(
                f"yourcall has stopped: nothing could be written to {place.home} any more. Look at the disk, and"
                f" start it again. Prompts that were shown are kept; the log is in {place.home / 'log'}."
            )
        return 0
    except AlreadyRunning as error:
        if error.pid and read_daemon_file(place.home).get("pid") == error.pid and not _running(place.home):
            text = f"its socket in {place.home} is gone, so nothing reaches it. End it with: kill {error.pid}"
            raise Problem(f"yourcall is already running (pid {error.pid}), but {text}") from error
        text = f"yourcall is already starting or running. Stop it with: {place.command('down')}"
        raise Problem(text, TAKEN) from error
    except (StoreProblem, BadConfig) as error:
        raise Problem(str(error)) from error
    except OSError as error:
        raise Problem(f"yourcall cannot start: {error}.") from error


def _already(place: Instance, *, detach: bool, as_json: bool) -> None:
    if not detach:
        note = read_daemon_file(place.home)
        raise Problem(
            f"yourcall is already running (pid {note.get('pid', '?')}) at {note.get('url', '?')}."
            f" Stop it with: {place.command('down')}"
        )
    if not wait_until(lambda: _answers(place.home), STOP_PATIENCE):  # it may have begun a moment ago
        raise Problem(hung(place.home))
    if not as_json:
        click.echo("yourcall is already running.")
    _tell(place, as_json=as_json)


def _start(place: Instance, port: int | None, bind: str | None, public_url: str | None) -> None:
    words = [sys.executable, "-P", "-m", "yourcall.cli.main", "--home", str(place.home), "up"]
    words += [] if bind is None else ["--bind", bind]
    words += [] if port is None else ["--port", str(port)]
    words += [] if public_url is None else ["--public-url", public_url]
    # What it says while it starts goes into a file without a name: read if it fails, gone by itself if not.
    with tempfile.TemporaryFile() as log_file:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            start_new_session=True,
            close_fds=True,
            cwd="/",
        )
        if not wait_until(lambda: child.poll() is not None or _answers(place.home, child.pid), START_PATIENCE):
            child.terminate()
            raise Problem(
                f"yourcall did not start within {START_PATIENCE:.0f} s.{_last_words(log_file, place.home)}"
            )
        # Another one was quicker: it holds the home and starts, or it listens by now.
        quicker = child.returncode == TAKEN or (child.returncode is not None and _running(place.home))
        if quicker and wait_until(lambda: _answers(place.home), START_PATIENCE):
            return
        if child.poll() is not None:
            raise Problem(f"yourcall did not start.{_last_words(log_file, place.home)}")
    # It outlives us on purpose: without this, Python warns that a child was left behind.
    child.returncode = 0


def restart(place: Instance, unit: Path, between: Callable[[], None] | None = None) -> None:
    """Start it again with the settings as they are now, and the options that `up` had; as the service, if there is
    one. `between` is done while it does not run. What waits is kept."""
    note = read_daemon_file(place.home)
    was_running = stop(place.home)
    if between is not None:
        between()
    if was_running and unit.exists() and sys.platform != "darwin":
        with suppress(OSError, subprocess.TimeoutExpired):
            line = ["systemctl", "--user", "restart", unit.name]
            subprocess.run(line, capture_output=True, timeout=30, check=False)
        if wait_until(lambda: _answers(place.home), START_PATIENCE):
            return
    from yourcall.reach import way

    current = way.read(place.home)
    port = note.get("port") if was_running else place.port
    if current is not None and current.port:
        port = None  # the way says which; while another program had that one, it was on another
    bind, public_url = (note.get(name) if was_running else None for name in ("bind", "public_url"))
    _start(
        place,
        port if isinstance(port, int) else None,
        bind if isinstance(bind, str) and bind else None,
        public_url if isinstance(public_url, str) and public_url else None,
    )


def _last_words(stream: IO[bytes], home: Path) -> str:
    stream.seek(0)
    lines = stream.read().decode(errors="replace").strip().splitlines()
    text = " It said: " + "\n".join(lines[-5:]) if lines else ""
    return f"{text}\nIts log is {home / 'log' / 'yourcall.log'}"


def start_in_background(place: Instance) -> None:
    """As `up --detach` does."""
    _start(place, place.port, None, None)


def _running(home: Path) -> bool:
    with suppress(NotRunning):
        connect(home, 2).close()
        return True
    return False


def _answers(home: Path, pid: int | None = None) -> bool:
    """It, or whoever holds the socket, has said where it listens, and answers there."""
    try:
        if pid is None:
            with connect(home, 2) as connection:
                pid = peer_pid(connection)
        if pid not in (0, read_daemon_file(home).get("pid")):
            return False
        return call(home, "GET", "/api/status", timeout=2).status == 200
    except Problem:
        return False


def wait_until(probe: Callable[[], bool], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not probe():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _tell(place: Instance, *, as_json: bool) -> None:
    payload = standing(place.home)
    click.echo(json.dumps(payload, indent=2) if as_json else greeting(payload, place))


def greeting(told: dict[str, Any], place: Instance) -> str:
    """Where it listens, how to let a device in, and whether the agents are connected."""
    lines = [f"yourcall runs at {style(safe(told['url']), 'cyan')} (pid {told['pid']})."]
    wished = told.get("wished_port")
    if wished and wished != told["port"]:
        lines.append(f"Port {wished} is taken; it listens on {told['port']} instead.")
    lines.append(f"Pair a phone or browser: {place.command('pair')}")
    lines += _unconnected(place)
    return "\n".join(lines)


def _unconnected(place: Instance) -> list[str]:
    """What is still to do about the agents; without asking their programs, which takes seconds."""
    from yourcall.agents.registry import AGENTS, USUAL
    from yourcall.cli.changes import product
    from yourcall.cli.machine import ThisMachine

    states = ThisMachine(place, AGENTS[USUAL], []).states()
    findings = [finding for state in states for finding in state.findings]
    if not findings:
        return [f"{product(AGENTS[USUAL])} is connected. What waits is shown by: {place.command('ls')}"]
    return [
        *(safe(finding.says) for finding in findings),
        f"See what would change in its settings: {place.command(f'setup {USUAL} --diff')}",
    ]


@click.command()
@click.option("--force", is_flag=True, help="End it even if it does not react.")
@pass_place
def down(place: Instance, force: bool) -> None:
    """Stop yourcall. Agents go on as before, with their own dialogs; what is open is kept for the next start."""
    may(place.home, "stop")
    click.echo("yourcall is stopped." if stop(place.home, force=force) else "yourcall was not running.")


def stop(home: Path, *, force: bool = False) -> bool:
    """Ask the process that holds our socket to leave, and see it gone. False if there was none."""
    try:
        with connect(home, 2) as connection:
            pid = peer_pid(connection)
    except NotRunning:
        return False
    if pid <= 1 or pid == os.getpid():
        raise Problem("yourcall can't tell which process holds its socket; end that process where it was started.")
    for sign, patience in [(signal.SIGTERM, STOP_PATIENCE), *([(signal.SIGKILL, 5.0)] if force else [])]:
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
        if wait_until(lambda: not _alive(pid) and not _running(home), patience):
            return True
    raise Problem(
        f"yourcall (pid {pid}) did not stop within {STOP_PATIENCE:.0f} s."
        + ("" if force else f" End it with: {Instance(home).command('down --force')}")
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A child that nobody has waited for yet (in a container, an orphan) is dead all the same.
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return True


def standing(home: Path) -> dict[str, Any]:
    """Is it running, where, since when, and what waits; `running` is true only if it answers."""
    payload: dict[str, Any] = {"running": False, "home": str(home), "cli_version": __version__}
    note = read_daemon_file(home)
    try:
        live = get(home, "/api/status", timeout=5)
    except NotRunning:
        return payload
    except Interrupted:
        return {**payload, "hung": True, "pid": note.get("pid")}
    names = ("pid", "port", "wished_port", "url", "started_at")
    return {**payload, "running": True, **{name: note.get(name) for name in names}, **live}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One object; `running` says whether it runs.")
@pass_place
def status(place: Instance, as_json: bool) -> None:
    """Is yourcall running, where, and what waits? Exits with 1 if it is not running."""
    payload = standing(place.home)
    if as_json:
        click.echo(json.dumps(payload, indent=2))
    elif payload["running"]:
        click.echo(_in_words(payload, place))
    elif payload.get("hung"):
        click.echo(
            f"yourcall (pid {payload['pid']}) does not answer. End it with: {place.command('down --force')}"
        )
    else:
        click.echo(f"yourcall is not running. Start it with: {place.command('up --detach')}")
    raise click.exceptions.Exit(0 if payload["running"] else 1)


def _in_words(told: dict[str, Any], place: Instance) -> str:
    waiting: dict[str, int] = told.get("prompts") or {}
    prompts = ", ".join(f"{count} {state}" for state, count in waiting.items()) or "none"
    lines = [
        f"yourcall {told.get('version')} runs at {style(str(told.get('url')), 'cyan')}"
        f" (pid {told.get('pid')}, since {ago(float(told.get('started_at') or 0))}).",
        f"Prompts: {prompts}. Sessions: {told.get('sessions', 0)}. Home: {place.home}",
    ]
    if (place.home / "locked").exists():
        lines.append(
            style(f"LOCKED: nothing is done through yourcall. To unlock: {place.command('unlock')}", "red")
        )
    elif told.get("paused"):
        text = f"Rules are paused: everything waits. To let them decide: {place.command('resume')}"
        lines.append(style(text, "yellow"))
    if told.get("version") != __version__:
        lines.append(f"This command is {__version__}: restart the daemon to run the same version.")
    return "\n".join(lines)
