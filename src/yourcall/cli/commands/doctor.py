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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from yourcall import __version__
from yourcall.agents.kit.setup import show_version
from yourcall.agents.registry import AGENTS, USUAL
from yourcall.agents.setup_spec import Health, note, well, wrong
from yourcall.agents.spec import Agent
from yourcall.cli.client import get
from yourcall.cli.commands.daemon import standing
from yourcall.cli.commands.uninstall import connected
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.terminal.render import style, wrapped
from yourcall.hook.launcher import PROGRAMS, launcher_path
from yourcall.live_check.grades import ungraded
from yourcall.live_check.specs import checks
from yourcall.model.prompts import Refused

if TYPE_CHECKING:
    from yourcall.cli.machine import ThisMachine

Check = Callable[[Instance, dict[str, Any]], list[Health]]

MARKS = {"well": ("ok   ", "green"), "note": ("note ", "cyan"), "wrong": ("WRONG", "red")}


@click.command(
    "doctor",
    epilog="""\b
Examples:
  yourcall doctor
  yourcall doctor --json | jq '.[] | select(.level == "wrong")'
  yourcall doctor --live claude             does my version work?
  yourcall doctor --live claude --kind plan --kind question
""",
)
@click.option(
    "--live",
    "agent",
    type=click.Choice(sorted(checks())),
    help="Prove this agent: your installed version, in a sandbox with a scripted model; never your account.",
)
@click.option(
    "--cli",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --live: the agent's program, if it is not the one on PATH.",
)
@click.option("--kind", "kinds", multiple=True, help="With --live: only this kind; can be given several times.")
@click.option(
    "--patience",
    type=click.FloatRange(1, 600),
    default=45.0,
    help="With --live: seconds that a step may take (45).",
)
@click.option(
    "--screens",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --live: keep the screens that were seen in this folder.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="An array of {check, level, says, do}; with --live an object."
)
@pass_place
def command(
    place: Instance,
    agent: str | None,
    cli: Path | None,
    kinds: tuple[str, ...],
    patience: float,
    screens: Path | None,
    as_json: bool,
) -> None:
    """Explain what is wrong, and what to do about it. Exits with 1 if anything is wrong.

    With --live AGENT it proves an agent instead: it starts your installed version in a fresh home, a private tmux
    and a private yourcall, lets a scripted model on this machine raise each kind of prompt, and looks whether it
    is noticed, shown exactly, answered, confirmed and withdrawn. It takes a minute or two. The grades are kept,
    and `yourcall agents` shows them. The exit code is 0 if every kind was proved.
    """
    if agent is not None:
        from yourcall.live_check.report import live

        raise click.exceptions.Exit(live(place.home, agent, cli, kinds, patience, screens, as_json=as_json))
    if cli or kinds or screens:
        raise click.UsageError("--cli, --kind and --screens go with --live.")
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
        click.echo("\nNo problems found." if not bad else f"\n{bad} problem{'s' if bad > 1 else ''} found.")
    raise click.exceptions.Exit(1 if any(finding.level == "wrong" for finding in findings) else 0)


def examine(place: Instance) -> list[Health]:
    """Every check in turn; one that fails itself says so, and the others go on."""
    from yourcall.cli.machine import ThisMachine

    try:
        told = standing(place.home)
    except click.ClickException as error:
        told = {"running": False, "problem": error.format_message()}
    ours: list[Check] = [home, daemon, version, sockets, launcher, files, port, channels, tmux]
    every = [(check.__name__, partial(check, place, told)) for check in ours]
    provable = checks()
    for agent in AGENTS.values():
        machine = ThisMachine(place, agent, running=bool(told["running"]))
        every += [(check.__name__, partial(check, machine)) for check in agent.doctor]
        if agent.name in provable:
            every.append(("version", partial(untried, place, agent, machine)))
    findings: list[Health] = []
    for name, check in every:
        try:
            findings += check()
        except Exception as error:  # one check that stumbles must not hide what the others see
            says = f"The check `{name}` crashed ({error!r}), so this part is unchecked."
            findings.append(wrong(name, says, "Run doctor again. If it happens again, please report it."))
    return findings


def untried(place: Instance, agent: Agent, machine: ThisMachine) -> list[Health]:
    """A version that nobody has tried is no problem; but nobody knows."""
    versions = [show_version(each.version) for each in machine.programs if each.version is not None]
    new = [each for each in dict.fromkeys(versions) if ungraded(place.home, agent.name, each)]
    return [
        note(
            "version",
            f"{agent.title} {each} has no grade yet: nobody has tried this version.",
            place.command(f"doctor --live {agent.name}"),
        )
        for each in new
    ]


def home(place: Instance, _told: dict[str, Any]) -> list[Health]:
    try:
        facts = place.home.stat()
    except FileNotFoundError:
        return [
            note("home", f"{place.home} doesn't exist yet.", f"Start yourcall: {place.command('up --detach')}")
        ]
    except OSError as error:
        return [
            wrong("home", f"{place.home} can't be read ({error.strerror}).", "Check its owner and permissions.")
        ]
    if not stat.S_ISDIR(facts.st_mode):
        return [wrong("home", f"{place.home} is not a folder.", "Move it away, or choose another with --home.")]
    if facts.st_uid != os.getuid():
        return [wrong("home", f"{place.home} belongs to another user.", "Choose another home with --home.")]
    if stat.S_IMODE(facts.st_mode) & 0o077:
        return [wrong("home", f"Other users can look into {place.home}.", f"chmod 700 {place.home}")]
    return [well("home", f"Only you can read {place.home}.")]


def daemon(place: Instance, told: dict[str, Any]) -> list[Health]:
    if told["running"]:
        return [well("daemon", f"yourcall is running at {told.get('url')} (pid {told.get('pid')}).")]
    if told.get("hung"):
        do = f"{place.command('down --force')} && {place.command('up --detach')}"
        return [wrong("daemon", f"yourcall (pid {told.get('pid')}) is running but doesn't answer.", do)]
    if told.get("problem"):
        return [wrong("daemon", str(told["problem"]), "")]
    return [wrong("daemon", "yourcall is not running.", place.command("up --detach"))]


def version(place: Instance, told: dict[str, Any]) -> list[Health]:
    if not told["running"] or told.get("version") == __version__:
        return []
    says = f"The daemon is {told.get('version')}, this command is {__version__}."
    return [wrong("version", says, f"{place.command('down')} && {place.command('up --detach')}")]


def sockets(place: Instance, told: dict[str, Any]) -> list[Health]:
    if not told["running"]:
        return []
    findings: list[Health] = []
    again = f"{place.command('down')} && {place.command('up --detach')}"
    for name, whose in (("api.sock", "this command"), ("hook.sock", "the agents' hooks")):
        try:
            facts = (place.home / name).lstat()
        except OSError:
            findings.append(wrong("socket", f"{place.home / name}, the socket for {whose}, is missing.", again))
            continue
        if stat.S_IMODE(facts.st_mode) & 0o077:
            findings.append(wrong("socket", f"Other users can use {place.home / name}.", again))
    return findings or [well("socket", "Both sockets exist, and only you can use them.")]


def launcher(place: Instance, _told: dict[str, Any]) -> list[Health]:
    """What the agents' hooks call must be there and runnable, or they silently do nothing."""
    hook = launcher_path(place.home)
    if not hook.exists() and not connected(place.home):
        return []  # nothing was set up from this home; whether it should be is another check
    if not os.access(hook, os.X_OK) or not all((place.home / name).is_file() for name in PROGRAMS):
        return [wrong("launcher", f"{hook}, which agents call, can't be run.", place.command(f"setup {USUAL}"))]
    return [well("launcher", f"{hook}, which agents call, is in place.")]


def files(place: Instance, _told: dict[str, Any]) -> list[Health]:
    """What a person wrote; a daemon that runs may have read it before it was broken."""
    from yourcall.channels.secrets import read_secrets
    from yourcall.daemon.config import read_config
    from yourcall.daemon.rules.files import Files

    findings: list[Health] = []
    config, kept = read_config(place.home), read_secrets(place.home)
    if isinstance(config, Refused):
        findings.append(wrong("config", config.reason, "Fix it: yourcall won't start with it."))
    if isinstance(kept, Refused):
        findings.append(
            wrong("secrets", kept.reason, "Fix it: until then, channels that need a secret can't send.")
        )
    problems = Files(place.home).book().problems
    return findings + [
        wrong("rules", each, f"Fix it, then check: {place.command('rules check')}") for each in problems
    ]


def port(place: Instance, told: dict[str, Any]) -> list[Health]:
    wished = told.get("wished_port") or place.port
    if told["running"]:
        if wished and told.get("port") and wished != told["port"]:
            says = f"Port {wished} was taken when yourcall started, so yourcall listens on {told['port']}."
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
            says = f"Port {wished} can't be used ({error.strerror})."
            return [note("port", says, "yourcall will use the next free port. To choose one: up --port N")]
    return []


def channels(place: Instance, told: dict[str, Any]) -> list[Health]:
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


def tmux(_place: Instance, _told: dict[str, Any]) -> list[Health]:
    if shutil.which("tmux"):
        return [well("tmux", "tmux is installed.")]
    says = "tmux is not installed. Hooks work without it; start-up dialogs need it."
    return [note("tmux", says, "Install tmux with your package manager.")]
