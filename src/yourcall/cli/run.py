"""`yourcall run`: start an agent, in this terminal, in a private tmux, or without a terminal; `attach` and `stop`.

Rule: the agent stays the person's own program, with their own environment; what is withheld from it is said. A
secret is handed on in an environment, never on a command line.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, cast
from urllib.parse import quote

import click

from yourcall.agents.acp import table
from yourcall.cli.client import NotRunning, Reply, call, get, refusal
from yourcall.cli.place import Place, Problem, pass_place
from yourcall.cli.render import safe
from yourcall.cli.run_codex import with_server
from yourcall.config import read_config
from yourcall.links import launch
from yourcall.model import Refused
from yourcall.sockets import made_private, short_folder

# MCP servers start before a session does.
BEGINS_S = 90.0
ENDS_AT_ONCE_S = 1.0
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
MODES = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"]


@click.command(
    "run",
    epilog="""\b
Examples:
  yourcall run -- claude                       in this terminal
  yourcall run --tmux -- claude --resume       in a tmux of its own
  yourcall run --headless "Fix the test."      no terminal; prints an id
  yourcall run --headless --resume ID "Go on."
  yourcall run --headless --agent codex "Fix the test."
  yourcall run --acp opencode                  an agent over ACP, by name
  yourcall run --acp -- gemini --acp           or by its command
  yourcall run --acp --say "Fix the test." -- my-agent --stdio
""",
)
@click.option("--tmux", "in_tmux", is_flag=True, help="In a private tmux, in the background.")
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
    default="claude",
    help="Headless: claude, codex, or one over ACP.",
    show_default=True,
)
@click.option("--resume", metavar="ID", default="", help="Headless, ACP: go on with an earlier session.")
@click.option("--model", metavar="NAME", default="", help="Headless, ACP: the model.")
@click.option("--permission-mode", type=click.Choice(MODES), help="Headless, ACP: what is asked for.")
@click.option(
    "--json", "as_json", is_flag=True, help="What was started, as one object (--tmux, --headless, --acp)."
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_place
def command(
    place: Place,
    in_tmux: bool,
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
    if headless + in_tmux + acp > 1:
        raise click.UsageError("Choose one of --tmux, --headless and --acp.")
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
    if in_tmux:
        _in_tmux(place, [program, *words[1:]], env, folder, as_json)
        return
    agent, pane = _agent(program), env.get("TMUX_PANE", "")
    if agent in ("gemini", "generic") and pane and env.get("TMUX"):
        # Its first dialogs come before its hooks, if it has any.
        _look_after(place, Path(env["TMUX"].split(",")[0]), pane, agent)
    os.chdir(folder)
    argv = with_server(place.home, [program, *words[1:]], env)
    _become(argv, {**env, "PWD": str(folder)})


def _instruction(words: tuple[str, ...]) -> str:
    said = " ".join(words)
    return sys.stdin.read() if said == "-" else said


def _environment(place: Place, program: str) -> dict[str, str]:
    """This terminal's own; the login shell is asked if it does not know the program (over ssh, from cron)."""
    config = read_config(place.home)
    if isinstance(config, Refused):
        raise Problem(config.reason)
    env = dict(os.environ)
    if isinstance(launch.find(program, env), Refused):
        env = launch.login_environment(env)
    billed = config.claude.use_api_billing
    if launch.API_KEY in env and not billed:
        where = safe(str(place.home / "config.toml"))
        click.echo(
            f"{launch.API_KEY} is withheld. To use it: [claude] use_api_billing = true in {where}", err=True
        )
    return launch.prepared(env, api_billing=billed, owned=False)


def _become(argv: list[str], env: dict[str, str]) -> NoReturn:
    sys.stdout.flush()
    try:
        os.execve(argv[0], argv, env)  # noqa: S606 - the person's own command, as they typed it
    except OSError as error:
        raise Problem(f"{argv[0]} cannot be run: {error.strerror}.") from error


# --- without a terminal -------------------------------------------------------------------------------------


def over_acp(words: tuple[str, ...], say: str) -> dict[str, Any]:
    """One word that is a name in the table is that agent, as the table starts it; all else is a command."""
    row = table.named(words[0])
    if row is not None and len(words) == 1:
        return {"prompt": say, "agent": row.name}
    program = words[0] if "/" not in words[0] else str(Path(words[0]).absolute())
    return {"prompt": say, "agent": table.of_program(program).name, "command": [program, *words[1:]]}


def _headless(place: Place, wish: dict[str, Any], as_json: bool) -> None:
    reply = call(place.home, "POST", "/api/sessions", body=json.dumps(wish), timeout=BEGINS_S)
    if reply.status != 201:
        raise _no(reply)
    if as_json:
        click.echo(json.dumps(reply.data, indent=2))
        return
    click.echo(safe(reply.data["id"]))


def _no(reply: Reply) -> Problem:
    data: Any = reply.data
    detail = str(cast("dict[str, Any]", data).get("detail") or "") if isinstance(data, dict) else ""
    return Problem(detail, 2) if detail else refusal(reply)


# --- in a tmux of its own -----------------------------------------------------------------------------------


def _in_tmux(place: Place, argv: list[str], env: dict[str, str], folder: Path, as_json: bool) -> None:
    """A server of its own for each: it has just this environment, and ends with the session."""
    if shutil.which("tmux") is None:
        raise Problem("There is no tmux here. Install it, or run the agent in this terminal: without --tmux.")
    name = f"{Path(argv[0]).name[:20]}-{''.join(secrets.choice(LETTERS) for _ in range(4))}"
    socket = _sockets(place.home) / name
    for variable in ("TMUX", "TMUX_PANE"):
        env.pop(variable, None)
    made = _tmux(
        socket, "new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", "200", "-y", "50",
        "-c", str(folder), "--", *argv, env=env,
    )  # fmt: skip
    if made.returncode != 0:
        raise Problem(f"tmux could not start it: {safe(made.stderr.strip())}")
    pane = made.stdout.strip()
    deadline = time.monotonic() + ENDS_AT_ONCE_S
    while time.monotonic() < deadline:
        if _tmux(socket, "has-session", "-t", f"={name}").returncode != 0:
            raise Problem(f"{argv[0]} ended at once. To see why, run it in this terminal: without --tmux.")
        time.sleep(0.1)
    seen = _look_after(place, socket, pane, _agent(argv[0]))
    if as_json:
        click.echo(json.dumps({"name": name, "server": str(socket), "pane": pane, "watched": seen}, indent=2))
        return
    click.echo(f"{name} runs in {safe(str(folder))}. Attach with: {place.command(f'attach {name}')}")
    if not seen:
        click.echo(f"Its prompts are seen once yourcall runs: {place.command('up --detach')}")


def _look_after(place: Place, socket: Path, pane: str, agent: str) -> bool:
    """Its first dialogs come before its hooks; they are read from the screen."""
    body = json.dumps({"server": str(socket), "pane": pane, "agent": agent})
    with suppress(NotRunning):
        return call(place.home, "POST", "/api/panes", body=body).status == 201
    return False


def _agent(program: str) -> str:
    """Which agent this program is; any other is looked at as a program that nobody taught us."""
    name = Path(program).name
    return name if name in ("claude", "codex", "gemini") else "generic"


def _sockets(home: Path) -> Path:
    """Where the sockets are."""
    folder = short_folder(home, "tmux")
    if wrong := made_private(folder):
        raise Problem(wrong)
    return folder


def _tmux(socket: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    # Without the person's own configuration: a plugin that restores sessions would restore them in here.
    return subprocess.run(
        ["tmux", "-S", str(socket), "-f", "/dev/null", *words],
        env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _named(place: Place, name: str) -> Path | None:
    """The socket of a tmux of ours."""
    if not name or "/" in name or name.startswith("."):
        return None
    socket = _sockets(place.home) / name
    return socket if socket.is_socket() and _tmux(socket, "has-session").returncode == 0 else None


def _session(place: Place, name: str) -> dict[str, Any]:
    """A session of the daemon's, by the beginning of its id."""
    alike = [s for s in get(place.home, "/api/sessions") if s["id"].startswith(name)]
    if len(alike) != 1:
        many = "There is no such session" if not alike else f"{len(alike)} sessions start like this"
        raise Problem(f"{many}: {name!r}. See: {place.command('sessions')}", 2)
    return alike[0]


@click.command(
    "attach",
    epilog="""\b
Examples:
  yourcall attach claude-k3fq       one that `yourcall run --tmux` started
  yourcall attach 3f2a              any session that runs in tmux, by its id
""",
)
@click.argument("session")
@pass_place
def attach(place: Place, session: str) -> None:
    """Attach this terminal to SESSION, where it runs in tmux."""
    socket = _named(place, session)
    if socket is not None:
        words = ["-S", str(socket), "attach-session", "-t", f"={session}"]
    else:
        links = [link for link in _session(place, session)["links"] if link["kind"] == "tmux"]
        if not links:
            raise Problem("This session runs in no tmux: there is nothing to attach to.", 2)
        words = ["-S", links[0]["server"], "attach-session", "-t", links[0]["target"]]
    program = shutil.which("tmux")
    if program is None:
        raise Problem("There is no tmux here.")
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    _become([program, *words], env)


@click.command(
    "stop",
    epilog="""\b
Examples:
  yourcall stop 3f2a                one without a terminal, by its id
  yourcall stop claude-k3fq         one that `yourcall run --tmux` started
""",
)
@click.argument("session")
@pass_place
def stop(place: Place, session: str) -> None:
    """End SESSION, which yourcall started, and all that it runs. To end only its turn: yourcall interrupt."""
    socket = _named(place, session)
    if socket is not None:
        _tmux(socket, "kill-server")
        click.echo(f"{session} has ended.")
        return
    found = _session(place, session)
    reply = call(place.home, "POST", f"/api/sessions/{quote(found['id'], safe='')}/stop")
    if reply.status != 200:
        raise _no(reply)
    click.echo(f"{safe(found['id'])} has ended.")
