"""`yourcall uninstall`: undo everything yourcall ever changed on this machine.

Rule: what will go is listed first. Settings of agents get back exactly what was theirs; in the home only what is
ours is removed, and the folder only if nothing else lies in it.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path

import click

from yourcall.agents.kit import hook_settings
from yourcall.agents.registry import AGENTS, CONNECTED
from yourcall.agents.setup_spec import Scope
from yourcall.cli import changes, extension_files
from yourcall.cli.client import Problem as ClientProblem
from yourcall.cli.client import connect
from yourcall.cli.commands import service, setup, tmux
from yourcall.cli.commands.daemon import stop
from yourcall.cli.instance import Instance, Problem, default_home, pass_place
from yourcall.cli.terminal.render import safe
from yourcall.hook.launcher import launcher_path
from yourcall.links.private_tmux import server
from yourcall.model.prompts import Refused
from yourcall.reach import plans, way
from yourcall.reach.relay import book as relay
from yourcall.system.settings_file import read
from yourcall.system.sockets import short_folder

# The folders of servers that `yourcall run` starts.
SERVERS = tuple(agent.own_server.folder for agent in AGENTS.values() if agent.own_server)
# The folders through which plugins speak in files.
CHANNELS = tuple(agent.plugin.files.folder for agent in AGENTS.values() if agent.plugin and agent.plugin.files)

# Everything yourcall puts into its home; a name that is not here was put there by somebody else, and stays.
OURS = (
    "yourcall.db*",
    "search.db*",
    "search-conversations.db*",
    "api.sock",
    "hook.sock",
    "plugin.sock",
    "heartbeat",
    "hook",
    "hook.py",
    "holder.py",
    "ruling.py",
    "headless.py",
    "__pycache__",
    ".hook*.yourcall",
    ".holder*.yourcall",
    ".ruling*.yourcall",
    ".headless*.yourcall",
    "daemon.json",
    "daemon.lock",
    "setup.json",
    "navigator.json",
    *SERVERS,
    *CHANNELS,
    "acp",
    "pty",
    "tmux",
    "uploads",
    ".setup.json*.yourcall",
    "config.toml",
    "secrets.toml",
    "push.pem",
    "workspaces.json",
    "reach.json",
    "reach.pid",
    "relay",
    "tls",
    "cloudflared.yml",
    "open.html",
    "rules.toml*",
    "paused",
    ".*.new",
    "demo",
    "log",
    "backups",
    "demo",
)

# Nobody else has one of these: a folder with one of them was a home.
SIGNS = ("yourcall.db", "daemon.lock", "setup.json", "hook.py", "secrets.toml")


@click.command(
    "uninstall",
    epilog="""\b
Examples:
  yourcall uninstall
  yourcall uninstall --yes && pipx uninstall yourcall
""",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--keep-home", is_flag=True, help="Leave the database and the logs.")
@click.pass_context
@pass_place
def command(place: Instance, ctx: click.Context, yes: bool, keep_home: bool) -> None:
    """Undo everything yourcall ever changed: agents' settings, the service, the daemon, its own folder."""
    home = place.home
    settings = connected(home)
    for path, why in unreadable(home):
        raise Problem(f"{why} Our hooks are in {path}: fix it, then run this again. Nothing was undone.")
    for name in [] if keep_home else _private_sessions(home):
        stopping = place.command(f"stop {name}")
        raise Problem(f"{name} runs in yourcall's own tmux and would become unreachable. End it: {stopping}")
    unit = service.unit_path(home)
    blocks = tmux.with_ours(home)
    running = _runs(home)
    if not running and (holder := _holder(home)):
        raise Problem(f"yourcall runs (process {holder}), but nothing reaches it. End it first: kill {holder}")
    files, foreign = ([], []) if keep_home else contents(home)
    if relay.state(home) is not None:
        raise Problem("A relay runs from this home, for other machines. End it first.")
    reached = way.read(home)
    plan = [f"take our hooks out of {path}" for _, _, path in settings]
    plan += [f"take our block out of {path}" for path in blocks]
    plan += [f"stop the service and remove {unit}"] if unit.exists() else []
    plan += ["stop yourcall"] if running else []
    if reached is not None:
        plan += [f"take down {reached.way}, by which phones reach {reached.url}"]
        plan += [f"run {undo.shown}" for undo in reached.undo]
    plan += [f"remove {home}: {', '.join(path.name for path in files)}"] if files else []
    if not plan:
        click.echo(f"There is nothing to undo here (home: {home}).{_package()}")
        return
    click.echo("This will:")
    for line in plan:
        click.echo(f"  - {safe(line)}")
    if foreign:
        click.echo(
            f"Kept, because yourcall didn't write it, in {home}: {safe(', '.join(path.name for path in foreign))}"
        )
    if not yes and not click.confirm("Go on?", default=False):
        raise Problem("Nothing was changed.")
    for agent, scope, path in settings:
        _disconnect(ctx, agent, scope, path)
    for path in blocks:
        tmux.take_out(path)
    service.take_out(home)
    if running:
        stop(home, force=True)
        click.echo("Stopped yourcall.")
    if reached is not None:
        _take_down(home, reached)
    for folder in [] if keep_home else _elsewhere(home):
        _remove(folder)
    if files:
        # Looked at again: undoing has made a last copy of the settings there, and stopping has ended a log.
        files, foreign = contents(home)
        for path in files:
            _remove(path)
        if not foreign:
            click.echo(f"Removed {home}." if _removed(home) else f"Emptied {home}.")
    click.echo(f"Done. Only the yourcall program itself is left.{_package()}")


def _take_down(home: Path, reached: way.Way) -> None:
    for undo in plans.take_down(home, reached):
        click.echo(f"This did not work; run it yourself: {safe(undo.shown)}", err=True)
    way.forget(home)
    if reached.stays:
        click.echo(safe(reached.stays))


def _package() -> str:
    return " To remove that too: pipx uninstall yourcall, or: uv tool uninstall yourcall"


def _places(home: Path) -> dict[Path, tuple[str, Scope]]:
    """Where our hooks may be."""
    places: dict[Path, tuple[str, Scope]] = {
        changes.settings_of(agent, "user", Path()): (name, "user") for name, agent in CONNECTED.items()
    }
    places |= {Path(change.path): (change.agent, change.scope) for change in changes.noted(home)}
    return places


def connected(home: Path) -> list[tuple[str, Scope, Path]]:
    """The settings files whose hooks, or files of ours beside them, call this home; those of another instance are
    not ours to take out."""
    return [
        (agent, scope, path)
        for path, (agent, scope) in _places(home).items()
        if _calls(path, changes.launcher_of(AGENTS[agent], scope, home))
        or (scope == "user" and extension_files.calls(AGENTS[agent], home))
    ]


def unreadable(home: Path) -> list[tuple[Path, str]]:
    """Settings files that call this home and that we cannot take our hooks out of, each with the reason."""
    found: list[tuple[Path, str]] = []
    for path, (agent, _) in _places(home).items():
        text = read(path)
        edited = text if isinstance(text, Refused) else setup.removed(agent, text.text)
        if isinstance(edited, Refused) and _names(path, home):
            found.append((path, edited.reason))
    return found


def _names(path: Path, home: Path) -> bool:
    """Does it speak of our launcher, whatever it is? What cannot be opened does if we once wrote there."""
    try:
        return os.fsencode(launcher_path(home)) in path.read_bytes()
    except OSError:
        return path.exists() and str(path) in {change.path for change in changes.noted(home)}


def _calls(path: Path, launcher: Path) -> bool:
    file = read(path)
    if isinstance(file, Refused) or not file.text:
        return False
    plain = hook_settings.uncommented(file.text)
    root = hook_settings.parse(plain)
    if isinstance(root, Refused):
        return False
    ours = shlex.quote(str(launcher))
    return any(entry.launcher == ours for entry in hook_settings.entries(plain, root))


def _disconnect(ctx: click.Context, agent: str, scope: Scope, path: Path) -> None:
    """`yourcall setup AGENT --undo` for this very file, wherever it lies."""
    variable, folder = changes.moved_to(AGENTS[agent], path)
    before = os.environ.get(variable)
    if scope == "user":
        os.environ[variable] = folder
    try:
        ctx.invoke(
            setup.command,
            agent=agent,
            scope=scope,
            folder=None if scope in ("user", "managed") else path.parent.parent,
            clis=(),
            tools=(),
            no_ask=False,
            by_rules=False,
            only_show=False,
            yes=True,
            undo=True,
            as_json=False,
        )
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before


def _runs(home: Path) -> bool:
    try:
        connect(home, 2).close()
    except ClientProblem:
        return False
    return True


def _holder(home: Path) -> str:
    """Who has the home, though nobody can talk to them; the lock goes with its process, however that ends."""
    try:
        with (home / "daemon.lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return file.read(20).decode("ascii", "replace") or "unknown"
    except OSError:
        pass
    return ""


def _private_sessions(home: Path) -> list[str]:
    """Sessions in a tmux of ours that live: without their sockets nobody gets at them any more."""
    folder = short_folder(home, "tmux")
    if shutil.which("tmux") is None or not folder.is_dir():
        return []
    return [path.name for path in sorted(folder.iterdir()) if path.is_socket() and server.lives(path)]


def _elsewhere(home: Path) -> list[Path]:
    """What stands in for a folder of the home whose path is too long for sockets."""
    made = (short_folder(home, name) for name in ("tmux", "pty", *SERVERS))
    return [path for path in made if path.parent != home and path.is_dir() and path.lstat().st_uid == os.getuid()]


def contents(home: Path) -> tuple[list[Path], list[Path]]:
    """What is ours in the home, and what is not."""
    if not home.is_dir():
        return [], []
    if home != default_home() and not any((home / name).exists() for name in SIGNS):
        return [], []  # a folder that was named by mistake, with a `log` of its own
    ours = [path for path in sorted(home.iterdir()) if any(path.match(pattern) for pattern in OURS)]
    return ours, [path for path in sorted(home.iterdir()) if path not in ours]


def _removed(home: Path) -> bool:
    """A link there, or a disk of its own, is not ours to remove; nor is what came to lie in it meanwhile."""
    with suppress(OSError):
        home.rmdir()
        return True
    return False


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise Problem(
            f"{path} cannot be removed ({error.strerror}). Remove it by hand, then run this again."
        ) from error
