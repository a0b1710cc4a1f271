"""`yourcall`: the table of commands, and the last line of defence between a bug and the person.

Rule: this file imports click and nothing else that costs time; a command's module is imported when it is called,
and its one-line help is written here, so that `yourcall --help` stays quick.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from yourcall import __version__
from yourcall.cli.instance import Instance, Problem, default_home

# Section -> command -> (module, attribute, one line of help).
COMMANDS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Prompts": {
        "ls": ("prompts", "ls", "List what is waiting for you."),
        "show": ("prompts", "show", "Show everything about one prompt."),
        "answer": ("answer", "command", "Answer a prompt, and show the result."),
        "dismiss": ("prompts", "dismiss", "Take a prompt off the list, without an answer."),
        "inbox": ("inbox", "command", "All that waits in one terminal, answered in place."),
        "watch": ("watch", "command", "Follow prompts and sessions as they change."),
        "ask": ("ask", "command", "Ask a question from a script, and get the answer."),
        "mcp": ("mcp", "command", "An MCP server, for agents that want to ask a person."),
        "search": ("search", "command", "Find prompts and answers that hold some words."),
        "log": ("log", "command", "Who answered what, when, and what then happened."),
    },
    "Rules": {
        "rules": ("rules", "command", "What may be answered without you: list, test, add, remove."),
        "pause": ("pause", "pause", "Pause all rules: every prompt waits for you."),
        "resume": ("pause", "resume", "Let rules decide again."),
        "lock": ("lock", "lock", "Emergency: stop everything that is done through yourcall."),
        "unlock": ("lock", "unlock", "End the lock."),
    },
    "Sessions and devices": {
        "sessions": ("sessions", "command", "List the agents' sessions."),
        "run": ("run", "command", "Start an agent: here, in a private tmux, or without a terminal."),
        "attach": ("attach", "attach", "Attach to a session that has a terminal."),
        "stop": ("attach", "stop", "End a session that yourcall started."),
        "send": ("send", "send", "Give a session its next instruction."),
        "key": ("send", "key", "Press one special key in a session."),
        "interrupt": ("send", "interrupt", "Stop the turn a session is in."),
        "review": ("review", "command", "Ask another agent what it thinks of a session's work."),
        "queue": ("queue", "command", "Instructions that wait for a session: add, list, remove, move."),
        "conversation": ("conversation", "command", "What was said and done in a session."),
        "changes": ("changes", "command", "Which files a session changed, and how."),
        "devices": ("devices", "command", "List, add, pair and revoke devices."),
        "people": ("people", "command", "Several persons: who there is, and what each may do where."),
        "passkeys": ("passkeys", "command", "What confirms a dangerous yes: list, add and revoke."),
        "channels": ("channels", "command", "Notification channels: list, add, test and remove them."),
        "pair": ("devices", "pair", "Let a phone or browser in: a code, and the address."),
        "open": ("open_app", "command", "Open the app in this machine's browser, already let in."),
        "reach": ("reach", "command", "Find a way from the phone to this machine, and set it up."),
    },
    "Many machines": {
        "fleet": ("fleet", "command", "Make a fleet, invite machines, join, leave."),
        "hosts": ("hosts", "command", "The machines of the fleet: list, rename, remove."),
    },
    "In tmux": {
        "next": ("navigate", "next_command", "Go to the pane of the session that has waited longest."),
        "prev": ("navigate", "prev_command", "The same, in the other direction."),
        "back": ("navigate", "back_command", "Return to where you were before."),
        "skip": ("navigate", "skip_command", "Skip this session for a while, and go on."),
        "tmux": ("tmux", "command", "A status segment, a picker, and keys for all of this."),
    },
    "Setting up": {
        "guide": ("guide", "command", "From nothing to an answered prompt, step by step."),
        "setup": ("setup", "command", "Connect an agent: show the change, ask, apply; or undo it."),
        "agents": ("agents", "command", "Which agents are known, and how far each is understood."),
        "doctor": ("doctor", "command", "Explain what is wrong, and what to do about it."),
        "demo": ("demo", "command", "Play scripted agents, without any agent installed."),
        "screen": ("screen", "command", "Read a captured terminal screen of an agent."),
        "completion": ("completion", "command", "Print the completion script for your shell."),
    },
    "The daemon": {
        "up": ("daemon", "up", "Start yourcall."),
        "down": ("daemon", "down", "Stop it."),
        "status": ("daemon", "status", "Is it running, where, and what waits?"),
        "relay": ("relay", "command", "On a server of yours: pass phones on to machines, without reading along."),
        "service": ("service", "command", "Start it with your session: install or remove."),
        "uninstall": ("uninstall", "command", "Undo everything yourcall ever changed."),
    },
}

_TABLE = {name: entry for section in COMMANDS.values() for name, entry in section.items()}

_EPILOG = """\b
Examples:
  yourcall                       the first time: a guide; then: what waits
  yourcall up --detach           start it in the background
  yourcall setup claude          connect Claude Code
  yourcall ls                    what is waiting?
  yourcall answer k3fq allow     answer it

Every command has its own --help with examples.
"""


class Commands(click.Group):
    """A group that knows its commands' names and helps by heart, and their code only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _TABLE:
            return None
        module, attribute, line = _TABLE[cmd_name]
        command: click.Command = getattr(import_module(f"yourcall.cli.commands.{module}"), attribute)
        command.short_help = line
        return _taking_home(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl([(name, line) for name, (_, _, line) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _TABLE and not ctx.resilient_parsing:
            raise click.UsageError(f"There is no command {args[0]!r}.{_meant(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            reader_left = isinstance(error, OSError) and error.errno == errno.EPIPE
            if reader_left or os.environ.get("YOURCALL_DEBUG"):
                raise
            if isinstance(error, UnicodeEncodeError) and not all(map(_is_text, sys.argv)):
                raise Problem("One of the arguments isn't valid UTF-8.", 2) from error
            home = ctx.obj.home if isinstance(ctx.obj, Instance) else default_home()
            raise Problem(_our_fault(error, home)) from error


def _meant(word: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, _TABLE, n=1)
    return f" Did you mean: yourcall {close[0]}?" if close else " Commands are listed by: yourcall --help"


def _is_text(word: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in word)


def _our_fault(error: Exception, home: Path) -> str:
    """A bug, told in one sentence; the details go to a file, and only into a home that exists."""
    import traceback

    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    text = f"yourcall hit an internal error ({what})."
    note = home / "log" / "cli.log"
    try:
        if home.is_dir():
            note.parent.mkdir(mode=0o700, exist_ok=True)
            fd = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(traceback.format_exception(error))
            return f"{text} The details are in {note}; please report it with them."
    except OSError:
        pass
    return f"{text} Run it again with YOURCALL_DEBUG=1 to see the details, and please report them."


class Home(click.Path):
    """A folder; none at all, as from a variable that is not set, is not the one we are in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; leave it out, or name a folder.", param, ctx)
        try:
            return super().convert(Path(value).expanduser(), param, ctx)
        except RuntimeError:
            self.fail(f"there is no user of that name: {value}", param, ctx)


def _taking_home(command: click.Command) -> click.Command:
    """Let `--home` also stand behind the command, where people put it as often as before it."""
    if not any(parameter.name == "home" for parameter in command.params):
        option = click.Option(
            ["--home"],
            type=Home(file_okay=False, path_type=Path),
            expose_value=False,
            hidden=True,
            is_eager=True,
            callback=_set_home,
        )
        command.params.append(option)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _taking_home(below)
    return command


def _set_home(ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    place = ctx.find_object(Instance)
    if value is not None and place is not None:
        place.home = value.expanduser().absolute()


@click.group(
    cls=Commands,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="yourcall")
@click.option(
    "--home",
    type=Home(file_okay=False, path_type=Path),
    envvar="YOURCALL_HOME",
    show_envvar=True,
    help="The folder of the instance; ~/.yourcall unless told.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    envvar="YOURCALL_PORT",
    show_envvar=True,
    help="The port for `up`; without it the usual one, or the next free one.",
)
@click.option("--yes", "-y", is_flag=True, help="With no command: set everything up without asking.")
@click.pass_context
def cli(ctx: click.Context, home: Path | None, port: int | None, yes: bool) -> None:
    """A coding agent stops and waits. It's your call: from here, the phone or a script, and it moves on."""
    ctx.obj = place = Instance((home or default_home()).expanduser().absolute(), port)
    if ctx.invoked_subcommand is not None:
        if yes:
            raise click.UsageError("--yes alone sets everything up; a command has its own, behind its name.", ctx)
        return
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.exceptions.NoArgsIsHelpError(ctx)
    from yourcall.cli.commands.guide import is_first_time, walk

    if yes or is_first_time(place.home):
        walk(place, yes=yes)
    else:
        ctx.invoke(ctx.command.get_command(ctx, "ls"))  # type: ignore[attr-defined]


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows its number; that is no reason to fail.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    cli(prog_name="yourcall")


if __name__ == "__main__":
    main()
