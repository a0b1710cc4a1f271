"""`yourcall service install|remove`: start with the user's session, by systemd or launchd.

Rule: what will be written is shown first; a file that is not ours as we would write it is replaced only after
asking, and what cannot be run here is printed as the command to run.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click

from yourcall.cli.commands.daemon import stop
from yourcall.cli.instance import Instance, Problem, default_home, pass_place
from yourcall.cli.terminal.render import safe
from yourcall.system.settings_file import write_whole

LABEL = "yourcall"


@click.group(
    "service",
    epilog="""\b
Examples:
  yourcall service install            shows the file, asks, writes, starts it
  yourcall service install --yes
  yourcall service remove
""",
)
def command() -> None:
    """Start yourcall with your session (systemd user unit, launchd agent), or stop doing so."""


@command.command("install")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--port", type=click.IntRange(0, 65535), help="As for `up`.")
@click.option("--bind", metavar="ADDRESS", help="As for `up`.")
@click.option("--public-url", metavar="URL", help="As for `up`.")
@pass_place
def install(place: Instance, yes: bool, port: int | None, bind: str | None, public_url: str | None) -> None:
    """Write the unit, and start it now and at every login."""
    if is_cached(Path(sys.prefix)):
        raise Problem(
            "This yourcall runs from uv's cache, which may be emptied at any time, so a service can't rely on it. "
            "Install it first: uv tool install yourcall"
        )
    words = [*program(), "--home", str(place.home), "up"]
    port = place.port if port is None else port
    words += [] if port is None else ["--port", str(port)]
    words += [] if bind is None else ["--bind", bind]
    words += [] if public_url is None else ["--public-url", public_url]
    path = unit_path(place.home)
    try:
        text = plist(words, place.home) if _mac() else systemd_unit(words)
    except ValueError as error:
        raise Problem(str(error)) from error
    if path.is_file() and path.read_text(errors="replace") == text:
        click.echo(f"{path} is already up to date.")
        takes_over = _rests(path)
    else:
        click.echo(f"{'Replace' if path.exists() else 'Write'} {path}:\n\n{safe(text, lines=True)}")
        if not yes and not click.confirm("Write it?", default=True):
            raise Problem("Nothing was changed.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path.resolve(), text.encode(), 0o644)
        except OSError as error:
            raise Problem(f"{path} cannot be written ({error.strerror}); another tool may manage it.") from error
        click.echo(f"Wrote {path}.")
        takes_over = True
    # Two cannot run in one home: without this, the service would fail, and be started again, and fail.
    if takes_over and stop(place.home):
        click.echo("Stopped the yourcall that was running here; the service takes its place.")
    for line in _start_commands(path):
        _run(line)
    if not _mac():
        click.echo("To keep it running while you are logged out: loginctl enable-linger")


@command.command("remove")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@pass_place
def remove(place: Instance, yes: bool) -> None:
    """Stop it, and take the unit out again."""
    path = unit_path(place.home)
    if not path.exists():
        click.echo("No service is installed.")
        return
    if not yes and not click.confirm(f"Stop the service and remove {path}?", default=True):
        raise Problem("Nothing was changed.")
    take_out(place.home)


def take_out(home: Path) -> bool:
    """Stop and remove the unit of this home; False if there is none."""
    path = unit_path(home)
    if not path.exists():
        return False
    for line in _stop_commands(path):
        _run(line)
    path.unlink(missing_ok=True)
    click.echo(f"Removed {path}.")
    # Where systemd could not be asked, the link by which it starts the unit is still there.
    link = path.parent / "default.target.wants" / path.name
    if link.is_symlink():
        link.unlink()
    for folder in [] if _mac() else [link.parent, path.parent, path.parent.parent]:
        with suppress(OSError):  # somebody else's units are in it
            folder.rmdir()
    if not _mac():
        _run(["systemctl", "--user", "daemon-reload"])
    return True


def _mac() -> bool:
    return sys.platform == "darwin"


def unit_name(home: Path) -> str:
    """One unit per home, so that a second instance does not take over the first one's."""
    if home == default_home():
        return LABEL
    import hashlib

    return f"{LABEL}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"


def unit_path(home: Path) -> Path:
    if _mac():
        return Path.home() / "Library" / "LaunchAgents" / f"{unit_name(home)}.plist"
    config = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(config) if config.startswith("/") else Path.home() / ".config"
    return base / "systemd" / "user" / f"{unit_name(home)}.service"


def is_cached(environment: Path) -> bool:
    """Is this environment part of a cache, as `uvx` makes them? The cache's own folder carries the tag."""
    return any((folder / "CACHEDIR.TAG").is_file() for folder in environment.parents)


def program() -> list[str]:
    """How to start yourcall later: the installed command, or this Python with our module."""
    beside = Path(sys.executable).with_name("yourcall")
    return [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-P", "-m", "yourcall.cli.main"]


def systemd_unit(words: list[str]) -> str:
    path = os.environ.get("PATH", os.defpath)
    return (
        "[Unit]\n"
        "Description=yourcall: your coding agents' questions, answered from anywhere\n"
        "\n"
        "[Service]\n"
        f"ExecStart={' '.join(_quoted(word, command=True) for word in words)}\n"
        f"Environment={_quoted(f'PATH={path}')}\n"
        "Restart=on-failure\n"
        "RestartSec=2\n"
        # Sessions without a terminal outlive a daemon that was killed; one that is stopped ends them itself.
        "KillMode=process\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def _quoted(word: str, *, command: bool = False) -> str:
    """A word as systemd reads it back: quotes and backslashes escaped, % and (in commands) $ doubled."""
    if not word.isprintable():
        raise ValueError(f"{word!r} cannot stand in a service file: choose a plainer path with --home.")
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    if command:
        text = text.replace("$", "$$")
    return f'"{text}"'


def plist(words: list[str], home: Path) -> str:
    settings = {
        "Label": unit_name(home),
        "ProgramArguments": words,
        "EnvironmentVariables": {"PATH": os.environ.get("PATH", os.defpath)},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    return plistlib.dumps(settings, sort_keys=False).decode()


def _rests(path: Path) -> bool:
    """Is it sure that the service itself is not what runs? It is not stopped only to be started again."""
    line = ["systemctl", "--user", "is-active", path.name]
    if _mac():
        line = ["launchctl", "print", f"gui/{os.getuid()}/{path.stem}"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if _mac():
        return done.returncode == 0 and "state = running" not in done.stdout
    return done.stdout.strip() in ("inactive", "failed", "activating")


def _start_commands(path: Path) -> list[list[str]]:
    if _mac():
        return [["launchctl", "bootstrap", f"gui/{os.getuid()}", str(path)]]
    return [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", path.name]]


def _stop_commands(path: Path) -> list[list[str]]:
    if _mac():
        return [["launchctl", "bootout", f"gui/{os.getuid()}/{path.stem}"]]
    return [["systemctl", "--user", "disable", "--now", path.name]]


def _run(line: list[str]) -> None:
    """Run it where it can be run; otherwise say what to run. A failure is told, never hidden."""
    import shlex

    shown = shlex.join(line)
    if shutil.which(line[0]) is None:
        click.echo(f"There is no {line[0]} here. Run it where there is one: {shown}")
        return
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        click.echo(f"This did not work ({error}); run it yourself: {shown}")
        return
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip().splitlines()
        click.echo(safe(f"This did not work ({why[-1] if why else 'no reason given'}); run it yourself: {shown}"))
