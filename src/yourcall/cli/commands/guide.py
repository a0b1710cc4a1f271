"""`yourcall guide`: from nothing to an answered prompt, step by step. `yourcall` alone runs it the first time.

Rule: each step is a command that the person could type, is shown before it runs, and can be skipped, repeated and
undone. A step that fails does not end the guide.
"""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from yourcall.cli.commands.service import is_cached, program
from yourcall.cli.instance import Instance, pass_place, read_daemon_file
from yourcall.cli.terminal.render import safe, style
from yourcall.reach import way

QUESTION = "Did this reach your phone?"
DEMO_S = 300  # as long as a pairing code is good


class Step(NamedTuple):
    """`why` is asked as a question; `words` is the command; `undo` takes it back."""

    title: str
    why: str
    words: tuple[str, ...]
    undo: str = ""
    unattended: bool = True  # also without a person, with --yes
    default: bool = True


def is_first_time(home: Path) -> bool:
    """Has this home never been used?"""
    return not (home / "yourcall.db").exists()


@click.command(
    "guide", epilog="\b\nExamples:\n  yourcall guide\n  yourcall guide --yes     for scripts: every step\n"
)
@click.option("--yes", "-y", is_flag=True, help="Take every step that needs nobody, without asking.")
@click.option(
    "--name", help="The name (or address) of this machine that the phone will open, if you know a better."
)
@pass_place
def command(place: Instance, yes: bool, name: str | None) -> None:
    """Set yourcall up, step by step: connect agents, start it, let a phone in, answer a first prompt."""
    walk(place, yes=yes, name=name)


def walk(place: Instance, *, yes: bool, name: str | None = None) -> None:
    try:
        _walk(place, yes=yes, name=name)
    except click.Abort:  # Ctrl-C at a question
        click.echo(f"\nGo on whenever you like: {place.command('guide')}", err=True)
        raise


def _walk(place: Instance, *, yes: bool, name: str | None) -> None:
    click.echo(style("yourcall: your coding agents ask, you answer from anywhere.", bold=True))
    click.echo("Each step shows what it would change, and can be skipped, repeated and undone.\n")
    skipped: list[Step] = []
    for number, step in enumerate(_steps(place, name), 1):
        click.echo(style(f"{number}. {step.title}", bold=True))
        if yes and not step.unattended:
            click.echo(f"   Later, with a person there: {place.command(shlex.join(step.words))}\n")
            continue
        if not yes and not click.confirm(f"   {step.why}", default=step.default):
            skipped.append(step)
            click.echo("")
            continue
        words = [*step.words, "--yes"] if yes and step.words[0] in ("setup", "service", "reach") else step.words
        click.echo(f"   $ {place.command(shlex.join(words))}")
        ended = _run([*program(), "--home", str(place.home), *words])
        if ended == 0 and step.undo:
            click.echo(f"   Undo it with: {place.command(step.undo)}")
        elif ended != 0:
            skipped.append(step)
            click.echo("   Not done; the guide goes on.")
        click.echo("")
    click.echo(style("What next", bold=True))
    if skipped:
        titles = ", ".join(f"“{safe(step.title)}”" for step in skipped)
        click.echo(f"  {place.command('guide')}: the steps you left out ({titles})")
    click.echo(f"  {place.command('inbox')}: what waits, in this terminal")
    click.echo(f"  {place.command('rules')}: what may be answered without you")
    click.echo(f"  {place.command('doctor')}: what is wrong, and what to do about it")
    click.echo("Start an agent as you always do; when it asks, your phone rings.")


def _run(argv: list[str]) -> int:
    """A step. Ctrl-C is meant for it alone, though the terminal sends it to both of us: it ends the step, and the
    guide goes on. (Not ignored: a child inherits that, and could not be interrupted either.)"""
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        return subprocess.run(argv, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _steps(place: Instance, name: str | None) -> Iterator[Step]:
    """The steps, each made when its turn comes: a later one depends on what the earlier ones did."""
    for agent in _agents():
        title = f"Connect {agent}"
        yield Step(title, f"{agent} is on this machine. Connect it?", ("setup", agent), f"setup {agent} --undo")
    if not _runs(place):
        if is_cached(Path(sys.prefix)) or not _has_service():
            yield Step("Start yourcall", "Start it in the background?", ("up", "--detach"), "down")
        else:
            why = "Start it now and at every login?"
            yield Step("Start yourcall", why, ("service", "install"), "service remove")
    if not _runs(place):
        return  # nothing below works without it
    if way.read(place.home) is None:
        why = "Let phones in your own network reach this machine?"
        reach = ("reach", "lan", *(("--name", name) if name else ()))
        yield Step("Reach it from the phone", why, reach, "reach --undo", unattended=False)
    current = way.read(place.home)
    if current is not None and current.tls_port:
        why = "Show the page on which the phone gets the certificate to trust? (Ctrl-C when it has it)"
        yield Step("Trust this machine", why, ("reach", "lan", "--trust"), unattended=False)
    if current is not None:
        yield Step("Pair the phone", "Show the code that lets a phone in?", ("pair",), unattended=False)
    why = "Open the app in this machine's browser, too?"
    yield Step("Open the app here", why, ("open",), unattended=False, default=current is None)
    ask = ("ask", QUESTION, "--option", "yes", "--option", "no", "--name", "yourcall", "--wait")
    why = "Send a question there, and wait for your answer?"
    yield Step("Answer a first prompt", why, (*ask, "--timeout", str(DEMO_S)), unattended=False)


def _agents() -> list[str]:
    """The agents on this machine that can be connected."""
    from yourcall.cli.commands import setup

    choice = setup.command.params[0].type
    names = list(choice.choices) if isinstance(choice, click.Choice) else []
    return [str(name) for name in names if shutil.which(str(name))]


def _runs(place: Instance) -> bool:
    done = subprocess.run(
        [*program(), "--home", str(place.home), "status"], check=False, capture_output=True, timeout=60
    )
    return done.returncode == 0 and bool(read_daemon_file(place.home))


def _has_service() -> bool:
    """Can a service be started here? Without a user's systemd (containers, ssh to a bare machine) it can't."""
    if sys.platform == "darwin":
        return True
    try:
        line = ["systemctl", "--user", "show-environment"]
        return subprocess.run(line, check=False, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
