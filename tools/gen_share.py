"""Writes what packages need besides the program: manual page, completions, and the pins of what it runs on.

python tools/gen_share.py            writes (`make format` runs it)
python tools/gen_share.py --check    says what is out of date, and exits 1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import runtime_pins
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from yourcall import __version__
from yourcall.cli.main import COMMANDS, cli

PACKAGING = Path(__file__).parents[1] / "packaging"
COMPLETIONS: dict[str, type[ShellComplete]] = {
    "bash-completion/completions/yourcall": BashComplete,
    "zsh/site-functions/_yourcall": ZshComplete,
    "fish/vendor_completions.d/yourcall.fish": FishComplete,
}


def files() -> dict[str, str]:
    made = {"share/man/man1/yourcall.1": "\n".join(_manual()) + "\n", "requirements.txt": runtime_pins.text()}
    for place, kind in COMPLETIONS.items():
        shell = kind(cli, {}, "yourcall", "_YOURCALL_COMPLETE")
        made[f"share/{place}"] = (shell.source_template % shell.source_vars()).strip() + "\n"
    return made


def _manual() -> Iterator[str]:
    top = click.Context(cli, info_name="yourcall")
    yield f'.TH YOURCALL 1 "" "yourcall {__version__}" "User Commands"'
    yield ".ad l"  # a long word in a justified line is a warning
    yield ".SH NAME"
    yield r"yourcall \- answer your coding agents from anywhere"
    yield ".SH SYNOPSIS"
    yield r".B yourcall"
    yield r"[\fIOPTIONS\fR] [\fICOMMAND\fR] [\fIARGS\fR]..."
    yield ".SH DESCRIPTION"
    yield _roff(cli.help or "")
    yield ".SH OPTIONS"
    yield from _options(cli, top)
    yield ".SH COMMANDS"
    for title, commands in COMMANDS.items():
        yield f".SS {_roff(title)}"
        for name in commands:
            command = cli.get_command(top, name)
            assert command is not None
            yield from _command(command, click.Context(command, top, info_name=name), f"yourcall {name}")
    yield ".SH ENVIRONMENT"
    yield ".TP\n.B YOURCALL_HOME\nThe folder of the instance; ~/.yourcall unless told."
    yield ".TP\n.B YOURCALL_PORT\nThe port of the daemon."
    yield ".SH FILES"
    yield ".TP\n.I ~/.yourcall/config.toml\nThe configuration."
    yield ".TP\n.I ~/.yourcall/rules.toml\nWhat may be answered without you."


def _command(command: click.Command, ctx: click.Context, path: str) -> Iterator[str]:
    words = " ".join(command.collect_usage_pieces(ctx))
    yield f".TP\n.B {_roff(path)}\n{_roff(words)}"
    yield f".br\n{_roff(command.help or command.short_help or '')}"
    yield ".RS"
    yield from _options(command, ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from _command(inner, click.Context(inner, ctx, info_name=name), f"{path} {name}")
    yield ".RE"


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            yield f".TP\n.B {_roff(record[0])}\n{_roff(record[1])}"


def _roff(text: str) -> str:
    """As plain words: nothing in it is a request to the formatter."""
    plain = " ".join(text.replace("\b", "").split())
    escaped = plain.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    escaped = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in escaped)
    return "\\&" + escaped if escaped.startswith(".") else escaped


def main() -> int:
    outdated = [name for name, text in files().items() if not _is(PACKAGING / name, text)]
    if "--check" in sys.argv:
        print("\n".join(outdated))
        return 1 if outdated else 0
    for name in outdated:
        (PACKAGING / name).parent.mkdir(parents=True, exist_ok=True)
        (PACKAGING / name).write_text(files()[name])
    return 0


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
