"""`yourcall run`: start an agent in this terminal, in a private tmux, or without a terminal.

Rule: the agent stays the person's own program, with their own environment; what is withheld from it is said. A
secret is handed on in an environment, never on a command line. Whatever fails on our side, the agent starts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from yourcall.agents.acp import table
from yourcall.agents.generic.agent import GENERIC
from yourcall.agents.registry import AGENTS, USUAL, by_program
from yourcall.cli.client import call, connect
from yourcall.cli.commands.attach import become, declined, joined
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.own_server import with_server
from yourcall.cli.terminal.render import safe
from yourcall.daemon.config import read_config
from yourcall.links.private_tmux import server
from yourcall.links.screen.tmux import distrusted
from yourcall.links.stdio import launch
from yourcall.model.prompts import Refused
from yourcall.system.sockets import made_private, short_folder

# MCP servers start before a session does.
BEGINS_S = 90.0
MODES = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"]


@click.command(
    "run",
    epilog="""\b
Examples:
  yourcall run -- claude                       in this terminal
  yourcall run --keep -- claude                the same; survives the terminal
  yourcall run --detach -- claude --resume     in the background; see: attach
  yourcall run --headless "Fix the test."      no terminal; prints an id
  yourcall run --headless --resume ID "Go on."
  yourcall run --headless --agent codex "Fix the test."
  yourcall run --acp opencode                  an agent over ACP, by name
  yourcall run --acp -- gemini --acp           or by its command
  yourcall run --acp --say "Fix the test." -- my-agent --stdio
""",
)
@click.option("--keep", is_flag=True, help="Let it live on when this terminal ends; `yourcall attach` finds it.")
@click.option("--detach", "--tmux", "detach", is_flag=True, help="In the background, in a private tmux.")
@click.option("--headless", is_flag=True, help="Without a terminal; WORDS is the first instruction, - reads it.")
@click.option(
    "--acp", is_flag=True, help="An agent that speaks ACP, without a terminal; WORDS is its name or command."
)
@click.option(
    "--say", metavar="TEXT", default="", help="ACP: the first instruction; without it, it waits for one."
)
@click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The folder to work in."
)
@click.option(
    "--agent",
    metavar="NAME",
    default=USUAL,
    help=f"Headless: {', '.join(n for n, a in AGENTS.items() if a.setup and a.headless)}, or one over ACP.",
    show_default=True,
)
@click.option("--resume", metavar="ID", default="", help="Headless, ACP: go on with an earlier session.")
@click.option("--model", metavar="NAME", default="", help="Headless, ACP: the model.")
@click.option("--permission-mode", type=click.Choice(MODES), help="Headless, ACP: what is asked for.")
@click.option(
    "--json", "as_json", is_flag=True, help="What was started, as one object (--detach, --headless, --acp)."
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_place
def command(
    place: Instance,
    keep: bool,
    detach: bool,
    headless: bool,
    acp: bool,
    say: str,
    cwd: Path | None,
    agent: str,
    resume: str,
    model: str,
    permission_mode: str | None,
    as_json: bool,
    words: tuple[str, ...],
) -> None:
    """Start an agent as your own shell would. Behind `--` stands the command as you would type it. So that a
    subscription is not billed as API use by accident, ANTHROPIC_API_KEY is withheld unless config.toml says
    [claude] use_api_billing = true."""
    if headless + detach + keep + acp > 1:
        raise click.UsageError("Choose one of --keep, --detach, --headless and --acp.")
    if not (headless or acp) and (resume or model or permission_mode):
        raise click.UsageError("Give these to the agent itself, behind --; here they go with --headless or --acp.")
    if say and not acp:
        raise click.UsageError("--say goes with --acp; with --headless the instruction stands at the end.")
    if headless or acp:
        given = {"resume": resume, "model": model, "permission_mode": permission_mode or ""}
        where = "" if resume and cwd is None else str((cwd or Path.cwd()).absolute())
        what = over_acp(words, say) if acp else {"prompt": _instruction(words), "agent": agent}
        _headless(place, {**what, "cwd": where, **given}, as_json)
        return
    env = _environment(place, words[0])
    folder = (cwd or Path.cwd()).absolute()
    program = launch.find(words[0], env)
    if isinstance(program, Refused):
        raise Problem(program.reason, 2)
    argv, agent = [program, *words[1:]], _agent(program)
    if detach or (keep and not _in_tmux(env)):
        _run_privately(place, argv, env, folder, as_json=as_json, attach=keep)
        return
    _here(place, argv, {**env, "PWD": str(folder)}, folder, agent)


# --- in this terminal ---------------------------------------------------------------------------------------


def _here(place: Instance, argv: list[str], env: dict[str, str], folder: Path, agent: str) -> None:
    """Through a pseudo-terminal of ours, where there is a terminal at all; tmux is as good as one already."""
    os.chdir(folder)
    if not _running(place):
        click.echo(f"yourcall is not running: answer here, or start it: {place.command('up --detach')}", err=True)
    in_tmux = _in_tmux(env)
    if in_tmux and AGENTS[agent].early_dialogs:
        # Its first dialogs come before its hooks, if it has any.
        _look_after(place, Path(env["TMUX"].split(",")[0]), env["TMUX_PANE"], agent)
    argv = with_server(place.home, argv, env)
    doors = short_folder(place.home, "pty")
    if in_tmux or not _at_a_terminal() or made_private(doors):
        become(argv, env)
    from yourcall.links.pty import relay
    from yourcall.links.pty.control_socket import About
    from yourcall.links.pty.leader import Job

    sys.stdout.flush()
    errors = -1 if os.isatty(2) else os.dup(2)
    about = About(server.new_name(argv[0]), agent, str(folder), time.time())
    relay.run(Job(argv, env, str(folder), errors), doors, about)
    become(argv, env)  # it could not begin: without us, then, which also says what is wrong with it


def _at_a_terminal() -> bool:
    """Input and output are one terminal, and we are in front of it."""
    try:
        return os.ttyname(0) == os.ttyname(1) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _in_tmux(env: Mapping[str, str]) -> bool:
    """This terminal is a pane of a tmux server of the user's own, not one that was opened from there."""
    socket, pane = env.get("TMUX", "").split(",")[0], env.get("TMUX_PANE", "")
    if not socket or not pane or distrusted(socket):
        return False
    own = server.tmux(Path(socket), "display-message", "-p", "-t", pane, "#{pane_tty}").stdout.strip()
    return not os.isatty(0) or own == os.ttyname(0)


def _running(place: Instance) -> bool:
    with suppress(Problem):
        connect(place.home).close()
        return True
    return False


def _instruction(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    return sys.stdin.read() if text == "-" else text


def _environment(place: Instance, program: str) -> dict[str, str]:
    """This terminal's own; the login shell is asked if it does not know the program (over ssh, from cron)."""
    config = read_config(place.home)
    if isinstance(config, Refused):
        raise Problem(config.reason)
    env = dict(os.environ)
    if isinstance(launch.find(program, env), Refused):
        env = launch.login_environment(env)
    billed = config.api_billing
    if launch.API_KEY in env and not billed:
        where = safe(str(place.home / "config.toml"))
        click.echo(
            f"{launch.API_KEY} is withheld. To use it: [claude] use_api_billing = true in {where}", err=True
        )
    return launch.prepared(env, api_billing=billed)


# --- without a terminal -------------------------------------------------------------------------------------


def over_acp(words: tuple[str, ...], say: str) -> dict[str, Any]:
    """One word that is a name in the table is that agent, as the table starts it; all else is a command."""
    row = table.named(words[0])
    if row is not None and len(words) == 1:
        return {"prompt": say, "agent": row.name}
    program = words[0] if "/" not in words[0] else str(Path(words[0]).absolute())
    return {"prompt": say, "agent": table.of_program(program).name, "command": [program, *words[1:]]}


def _headless(place: Instance, request: dict[str, Any], as_json: bool) -> None:
    reply = call(place.home, "POST", "/api/sessions", body=json.dumps(request), timeout=BEGINS_S)
    if reply.status != 201:
        raise declined(reply)
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
        return
    click.echo(safe(reply.data["id"]))


# --- in a tmux of its own -----------------------------------------------------------------------------------


def _run_privately(
    place: Instance, argv: list[str], env: dict[str, str], folder: Path, *, as_json: bool, attach: bool
) -> None:
    private = server.start(place.home, argv, env, folder)
    if isinstance(private, Refused):
        raise Problem(safe(private.reason))
    seen = _look_after(place, private.socket, private.pane, _agent(argv[0]))
    if attach:
        become(*joined(private.socket, f"={private.name}"))
    if as_json:
        told = {"name": private.name, "server": str(private.socket), "pane": private.pane, "watched": seen}
        click.echo(json.dumps(told, indent=2))
        return
    click.echo(
        f"{private.name} runs in {safe(str(folder))}. Attach with: {place.command(f'attach {private.name}')}"
    )
    if not seen:
        click.echo(f"Its prompts are seen once yourcall runs: {place.command('up --detach')}")


def _look_after(place: Instance, socket: Path, pane: str, agent: str) -> bool:
    """Its first dialogs come before its hooks; they are read from the screen."""
    body = json.dumps({"server": str(socket), "pane": pane, "agent": agent})
    with suppress(Problem):  # whatever it is, the agent starts
        return call(place.home, "POST", "/api/panes", body=body).status == 201
    return False


def _agent(program: str) -> str:
    """Which agent this program is; any other is looked at as a program that nobody taught us."""
    known = by_program(program)
    return known.name if known is not None and known.screen is not None else GENERIC.name
