"""`yourcall tmux status|pick|install`: yourcall in a tmux status line and on tmux keys.

Rule: nothing an agent wrote gets into a tmux format (there, `#(…)` would be run); the status line says a number.
The person's tmux.conf gets one marked block, shown first as a diff, and loses exactly that block again.
"""

from __future__ import annotations

import difflib
import os
import shlex
import sys
import termios
import time
import tty
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from yourcall.cli import panes
from yourcall.cli.client import NotRunning, get
from yourcall.cli.commands import navigate
from yourcall.cli.instance import Instance, Problem, default_home, pass_place, program
from yourcall.cli.terminal.render import columns, safe, span
from yourcall.system.settings_file import write_whole

BEGIN = "# >>> yourcall: `yourcall tmux install --undo` takes this block out"
END = "# <<< yourcall"
SEGMENT_ROOM = 80  # columns of status-right
JOINED = " (and the line end before it)"  # in our first line: the file's own last line had none


@click.group(
    "tmux",
    epilog="""\b
Examples:
  yourcall tmux install           keys and a segment, shown as a diff first
  yourcall tmux install --undo
  yourcall tmux status            what the segment says
  yourcall tmux pick              choose one of the sessions that wait
""",
)
def command() -> None:
    """Sessions that wait, in tmux: a status segment, a picker, keys to go there."""


@command.command("status")
@pass_place
def status(place: Instance) -> None:
    """One short segment for `status-right`: how many wait, none, or that yourcall does not run."""
    try:
        waiting = get(place.home, "/api/prompts", timeout=2)
    except (NotRunning, click.ClickException):
        click.echo("#[fg=red]yourcall is down#[default]")
        return
    held = sum(1 for prompt in waiting if prompt.get("kind") != "ready")
    ready = len(waiting) - held
    parts = [f"#[fg=yellow,bold]{held} waiting#[default]"] if held else []
    parts += [f"{ready} ready"] if ready else []
    click.echo(" ".join(parts) or "#[fg=green]none waiting#[default]")


@command.command("pick")
@navigate.options
@pass_place
def pick(place: Instance, client: str, pane: str, link: bool) -> None:
    """Choose one of the sessions that wait with 1 to 9; q leaves. Made for a tmux popup."""
    with navigate.told_in(client):
        waiting = navigate.stops(place)
        if not waiting:
            raise Problem(
                f"No session waits in a tmux pane. All that waits: {place.command('ls')}", navigate.NOTHING
            )
        wide = columns()
        for number, stop in enumerate(waiting[:9], 1):
            age = span(time.time() - stop.since)
            click.echo(f"{number}  {age:>6}  {stop.kind:<11} {safe(stop.title)}"[: wide - 1])
        if len(waiting) > 9:
            click.echo(f"   and {len(waiting) - 9} more")
        with _keys() as keys:
            chosen = next((key for key in keys if key in b"q\x1b\x04" or 0 < key - ord("0") <= len(waiting)), 0)
        if chosen in b"123456789":
            stop = waiting[chosen - ord("1")]
            navigate.jump(place, panes.here(client, pane), stop, "link" if link else "switch")


@contextmanager
def _keys() -> Generator[Iterator[int]]:
    """Keys as they are typed; from the first to the last in one mode, so that none in between is lost."""
    if not sys.stdin.isatty():
        raise Problem("Choosing a session needs a terminal.", 2)
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    tty.setcbreak(file, termios.TCSANOW)
    try:
        yield (key for typed in iter(lambda: os.read(file, 1), b"") for key in typed)
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)


@command.command("install")
@click.option("--undo", is_flag=True, help="Take exactly our block out again.")
@click.option("--diff", "only_diff", is_flag=True, help="Only show what would change.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="The tmux.conf to change.")
@pass_place
def install(place: Instance, undo: bool, only_diff: bool, yes: bool, file: Path | None) -> None:
    """Add keys and the status segment to your tmux.conf: prefix y next, Y pick, M-y back, C-y skip."""
    path = (file or conf()).expanduser()
    before = _text(path)
    after = without(before) if undo else with_block(before, block(place))
    if after == before:
        click.echo(f"{path} is already {'without' if undo else 'with'} our block.")
        return
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), f"{path} (new)"
    )
    click.echo(safe("".join(lines), lines=True))
    if only_diff:
        return
    if not yes and not click.confirm("Write it?", default=True):
        raise Problem("Nothing was changed.")
    _write(path, after)
    click.echo(f"Done. tmux reads it at its next start, or now: tmux source-file {shlex.quote(str(path))}")
    if undo:
        click.echo("Keys that are bound in a running tmux stay until it ends.")


def take_out(path: Path) -> None:
    _write(path, without(_text(path)))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error}.") from error


def _write(path: Path, text: str) -> None:
    try:
        if not text and not path.is_symlink():
            path.unlink()  # it held nothing but our block
            return
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path.resolve(), text.encode("utf-8", "surrogateescape"), mode)
    except OSError as error:
        raise Problem(f"{path} cannot be written ({error.strerror}); it is as it was.") from error


def conf() -> Path:
    """The file tmux reads: the old place if there is one, else the newer."""
    old, newer = _places()
    return newer if newer.exists() and not old.exists() else old


def _places() -> tuple[Path, Path]:
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    newer = (Path(base) if base.startswith("/") else Path.home() / ".config") / "tmux" / "tmux.conf"
    return Path.home() / ".tmux.conf", newer


def with_ours(home: Path) -> list[Path]:
    """The files of the person's that hold a block of this home."""
    return [path for path in _places() if BEGIN in (text := _text(path)) and _calls(text, home)]


def _calls(text: str, home: Path) -> bool:
    head, _, tail = _around(text)
    ours = text[len(head) : len(text) - len(tail)]
    return f" --home {shlex.quote(str(home))} " in ours if home != default_home() else " --home " not in ours


def block(place: Instance) -> str:
    """Our lines. What tmux fills in (client, pane) are its own names; nothing of an agent is in here."""
    where = [] if place.home == default_home() else ["--home", str(place.home)]
    ours = shlex.join([*shlex.split(_command()), *where])
    if not ours.isprintable() or any(char in ours for char in '"#$\\`'):
        raise Problem(f"The path {ours!r} cannot stand in a tmux.conf: choose a plainer one with --home.")
    who = "--client '#{client_name}' --pane '#{pane_id}'"
    # A key's output would open a page over the pane; what there is to say goes to the status bar.
    quiet = ">/dev/null 2>&1 || true"
    # Behind what the person has there already, it would be cut off at tmux's 40 columns.
    wider = f"#{{e|<:#{{status-right-length}},{SEGMENT_ROOM}}}"
    return "\n".join(
        [
            BEGIN,
            f'bind-key y run-shell "{ours} next {who} {quiet}"',
            f'bind-key M-y run-shell "{ours} back {who} {quiet}"',
            f'bind-key C-y run-shell "{ours} skip {who} {quiet}"',
            f'bind-key Y display-popup -E -w 80% -h 50% "{ours} tmux pick {who}"',
            f"if-shell -F '{wider}' 'set-option -g status-right-length {SEGMENT_ROOM}'",
            f'set-option -ag status-right " #({ours} tmux status)"',
            END,
            "",
        ]
    )


def _command() -> str:
    """By its whole path: a tmux server may have been started with another PATH."""
    beside = Path(sys.executable).with_name("yourcall")
    return shlex.quote(str(beside)) if os.access(beside, os.X_OK) else program()


def with_block(text: str, ours: str) -> str:
    """The text with our block as it should be now: where it was, or at the end."""
    if BEGIN in text:
        head, first, tail = _around(text)
        return head + ours.replace(BEGIN, first, 1) + tail
    if text and not text.endswith("\n"):
        return f"{text}\n{ours.replace(BEGIN, BEGIN + JOINED, 1)}"
    return text + ours


def without(text: str) -> str:
    if BEGIN not in text:
        return text
    head, first, tail = _around(text)
    return (head.removesuffix("\n") if first.endswith(JOINED) else head) + tail


def _around(text: str) -> tuple[str, str, str]:
    """What stands before our block, the block's first line, and what stands behind it."""
    head, _, rest = text.partition(BEGIN)
    inside, value, tail = rest.partition(END + "\n")
    if not value:
        raise Problem("The end of our block is missing in tmux.conf; take the block out by hand first.")
    return head, BEGIN + inside.partition("\n")[0], tail
