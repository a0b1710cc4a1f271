"""`yourcall doctor`: what is wrong, in words, and what to do about it.

Rule: it only looks; each check is one small function that returns what it found, and none stops the others.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
from collections.abc import Callable
from typing import Any

import click
import msgspec

from yourcall import __version__
from yourcall.cli.client import get
from yourcall.cli.daemon_control import standing
from yourcall.cli.finding import Finding, note, well, wrong
from yourcall.cli.launcher import PROGRAMS, launcher_path
from yourcall.cli.place import Place, pass_place
from yourcall.cli.render import style, wrapped
from yourcall.cli.uninstall import connected
from yourcall.model import Refused

Check = Callable[[Place, dict[str, Any]], list[Finding]]

MARKS = {"well": ("ok   ", "green"), "note": ("note ", "cyan"), "wrong": ("WRONG", "red")}


@click.command(
    "doctor",
    epilog="""\b
Examples:
  yourcall doctor
  yourcall doctor --json | jq '.[] | select(.level == "wrong")'
""",
)
@click.option("--json", "as_json", is_flag=True, help="An array of {check, level, says, do}.")
@pass_place
def command(place: Place, as_json: bool) -> None:
    """Explain what is wrong, and what to do about it. Exits with 1 if anything is wrong."""
    findings = examine(place)
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            mark, colour = MARKS[finding.level]
            click.echo(f"{style(mark, colour)}  {wrapped(finding.says, 7).lstrip()}")
            if finding.do:
                click.echo(wrapped(f"→ {finding.do}", 7))
        bad = sum(finding.level == "wrong" for finding in findings)
        click.echo("\nAll is well." if not bad else f"\n{bad} thing{'s' if bad > 1 else ''} to mend.")
    raise click.exceptions.Exit(1 if any(finding.level == "wrong" for finding in findings) else 0)


def examine(place: Place) -> list[Finding]:
    """Every check in turn; one that fails itself says so, and the others go on."""
    from yourcall.cli import doctor_claude, doctor_codex, doctor_gemini

    try:
        told = standing(place.home)
    except click.ClickException as error:
        told = {"running": False, "problem": error.format_message()}
    ours: list[Check] = [home, daemon, version, sockets, launcher, files, port, channels, tmux]
    checks = [*ours, *doctor_claude.CHECKS, *doctor_codex.CHECKS, *doctor_gemini.CHECKS]
    found: list[Finding] = []
    for check in checks:
        try:
            found += check(place, told)
        except Exception as error:  # one check that stumbles must not hide what the others see
            says = f"The check `{check.__name__}` failed itself ({error!r}): it is not known whether all is well."
            found.append(wrong(check.__name__, says, "Run it again; if it fails again, please report it."))
    return found


def home(place: Place, _told: dict[str, Any]) -> list[Finding]:
    try:
        facts = place.home.stat()
    except FileNotFoundError:
        return [note("home", f"{place.home} is not there yet.", f"Start yourcall: {place.command('up --detach')}")]
    except OSError as error:
        return [wrong("home", f"{place.home} cannot be read ({error.strerror}).", "Check who owns it.")]
    if not stat.S_ISDIR(facts.st_mode):
        return [wrong("home", f"{place.home} is not a folder.", "Move it away, or choose another with --home.")]
    if facts.st_uid != os.getuid():
        return [wrong("home", f"{place.home} belongs to another user.", "Choose another home with --home.")]
    if stat.S_IMODE(facts.st_mode) & 0o077:
        return [wrong("home", f"Other users can look into {place.home}.", f"chmod 700 {place.home}")]
    return [well("home", f"{place.home} is yours alone.")]


def daemon(place: Place, told: dict[str, Any]) -> list[Finding]:
    if told["running"]:
        return [well("daemon", f"yourcall is running at {told.get('url')} (pid {told.get('pid')}).")]
    if told.get("hung"):
        do = f"{place.command('down --force')} && {place.command('up --detach')}"
        return [wrong("daemon", f"yourcall (pid {told.get('pid')}) is running but does not answer.", do)]
    if told.get("problem"):
        return [wrong("daemon", str(told["problem"]), "")]
    return [wrong("daemon", "yourcall is not running.", place.command("up --detach"))]


def version(place: Place, told: dict[str, Any]) -> list[Finding]:
    if not told["running"] or told.get("version") == __version__:
        return []
    says = f"The daemon is {told.get('version')}, this command is {__version__}."
    return [wrong("version", says, f"{place.command('down')} && {place.command('up --detach')}")]


def sockets(place: Place, told: dict[str, Any]) -> list[Finding]:
    if not told["running"]:
        return []
    found: list[Finding] = []
    again = f"{place.command('down')} && {place.command('up --detach')}"
    for name, whose in (("api.sock", "this command"), ("hook.sock", "the agents' hooks")):
        try:
            facts = (place.home / name).lstat()
        except OSError:
            found.append(wrong("socket", f"{place.home / name}, the door for {whose}, is gone.", again))
            continue
        if stat.S_IMODE(facts.st_mode) & 0o077:
            found.append(wrong("socket", f"Other users may use {place.home / name}.", again))
    return found or [well("socket", "Both sockets are there, and yours alone.")]


def launcher(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """What the agents' hooks call must be there and runnable, or they silently do nothing."""
    hook = launcher_path(place.home)
    if not hook.exists() and not connected(place.home):
        return []  # nothing was set up from this home; whether it should be is another check
    if not os.access(hook, os.X_OK) or not all((place.home / name).is_file() for name in PROGRAMS):
        return [wrong("launcher", f"{hook}, which agents call, cannot be run.", place.command("setup claude"))]
    return [well("launcher", f"{hook}, which agents call, is in place.")]


def files(place: Place, _told: dict[str, Any]) -> list[Finding]:
    """What a person wrote; a daemon that runs may have read it before it was broken."""
    from yourcall.channels.secrets import read_secrets
    from yourcall.config import read_config
    from yourcall.rulebook.files import Files

    found: list[Finding] = []
    config, kept = read_config(place.home), read_secrets(place.home)
    if isinstance(config, Refused):
        found.append(wrong("config", config.reason, "Mend it: yourcall does not start with it."))
    if isinstance(kept, Refused):
        found.append(wrong("secrets", kept.reason, "Mend it: until then channels that need a secret tell nobody."))
    problems = Files(place.home).book().problems
    return found + [
        wrong("rules", each, f"Mend it, and look: {place.command('rules check')}") for each in problems
    ]


def port(place: Place, told: dict[str, Any]) -> list[Finding]:
    wished = told.get("wished_port") or place.port
    if told["running"]:
        if wished and told.get("port") and wished != told["port"]:
            says = f"Port {wished} was taken when yourcall started, so it listens on {told['port']}."
            return [
                note(
                    "port", says, "Paired devices know the old address: free the port and restart, or pair again."
                )
            ]
        return []
    if not wished:
        return []
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wished))
        except OSError as error:
            says = f"Port {wished} cannot be used ({error.strerror})."
            return [note("port", says, "yourcall will take the next free one; or choose one with: up --port N")]
    return []


def channels(place: Place, told: dict[str, Any]) -> list[Finding]:
    """A way to be told that does not work is noticed when it is too late."""
    if not told["running"]:
        return []
    listed: list[dict[str, Any]] = get(place.home, "/api/channels")
    bad = [each for each in listed if each["problem"]]
    if not bad:
        used = [each["name"] for each in listed if each["targets"]]
        return [well("channels", f"People are told through: {', '.join(used)}.")] if used else []
    test = place.command("channels test")
    return [wrong("channels", f"{each['name']}: {each['problem']}.", f"{test} {each['name']}") for each in bad]


def tmux(_place: Place, _told: dict[str, Any]) -> list[Finding]:
    if shutil.which("tmux"):
        return [well("tmux", "tmux is installed.")]
    says = "tmux is not installed. Prompts that come through hooks do not need it; start-up dialogs do."
    return [note("tmux", says, "Install tmux with your package manager.")]
