"""Which instance a command is about, and how a command says no.

Rule: imported by every command line, so it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import IO, Any

import click


def read_daemon_file(home: Path) -> dict[str, Any]:
    """{pid, port, url, version, started_at}, or nothing if there is no such note or it makes no sense."""
    try:
        value = json.loads((home / "daemon.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


class Instance:
    """The home folder of the instance, and the port that was wished for. Filled while options are read."""

    def __init__(self, home: Path, port: int | None = None) -> None:
        self.home = home
        self.port = port

    def command(self, text: str) -> str:
        """A command line as the person has to type it to reach this instance."""
        from yourcall.cli.terminal.render import safe

        default = self.home == default_home() or os.environ.get("YOURCALL_HOME") == str(self.home)
        name = program()
        return safe(f"{name} {text}" if default else f"{name} --home {shlex.quote(str(self.home))} {text}")


def program() -> str:
    """The word that starts yourcall here: its name, or its path where it is not on PATH (a fresh clone)."""
    import shutil

    beside = Path(sys.executable).with_name("yourcall")
    return "yourcall" if shutil.which("yourcall") or not beside.exists() else shlex.quote(str(beside))


def default_home() -> Path:
    return Path.home() / ".yourcall"


class Problem(click.ClickException):
    """What went wrong and what to do, in a sentence; printed alone on stderr, without a traceback."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        # click means it for whole classes and reads it from the one raised; each of ours knows its own.
        self.exit_code = exit_code  # pyright: ignore[reportAttributeAccessIssue]

    def show(self, file: IO[Any] | None = None) -> None:
        # The sentence may quote an option's label or a file's name: others wrote those.
        from yourcall.cli.terminal.render import safe

        click.echo(safe(self.format_message(), lines=True), file=file or sys.stderr)


pass_place = click.make_pass_decorator(Instance)
