"""`yourcall screen`: what a captured terminal screen of an agent says, as JSON.

It only reads: no daemon, no tmux, no keys. A screen that makes no sense is an answer too, never a crash.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import BinaryIO

import click
import msgspec

from yourcall import agents
from yourcall.model.screen import Reading

Reader = Callable[[str, str | None], Reading]

# Of each agent's folder that has one. Imported on first use, so that asking one agent does not load the others.
READERS = {
    folder.name: f"yourcall.agents.{folder.name}.screen.read"
    for folder in iter_modules(agents.__path__)
    if any((Path(place) / folder.name / "screen" / "read.py").is_file() for place in agents.__path__)
}

_EPILOG = """\b
Fields: state (waiting, working, error, idle), kind, title, question, target,
options [{key, label, description}], selected, checked, multi_select, text_input, clipped.
All but state are null, empty or false unless the agent waits in a dialog.
clipped: a larger window would show more of what is being decided.

\b
Examples:
  tmux capture-pane -p -t %3 | yourcall screen --agent claude
  yourcall screen --agent claude --title "$(tmux display -p '#{pane_title}')" saved.txt
  yourcall screen --batch < screens.jsonl
"""


class Unreadable(Exception):
    """A request that names no screen we can read; its text goes to the caller."""


class Request(msgspec.Struct):
    """One line of a batch."""

    agent: str
    screen: str
    title: str | None = None


class _Named(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"null")


_decode_request = msgspec.json.Decoder(Request).decode
_decode_id = msgspec.json.Decoder(_Named).decode
_encode = msgspec.json.encode


def reader(agent: str) -> Reader:
    """The function that reads that agent's screens."""
    if agent not in READERS:
        raise Unreadable(f"unknown agent {agent!r}; known: {', '.join(sorted(READERS))}")
    return import_module(READERS[agent]).read_screen


def answer(line: bytes) -> bytes:
    """The answer to one line of a batch: the id as it came, and the reading or the reason why there is none."""
    name = b"null"
    try:
        name = bytes(_decode_id(line).id)
        asked = _decode_request(line)
        body = _encode(reader(asked.agent)(asked.screen, asked.title))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Unreadable) as why:
        body = _encode({"error": str(why)})
    return b'{"id":' + name + b"," + body[1:]


def answers(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One answer per line that is not blank, in order."""
    return (answer(line) for line in lines if line.strip())


@click.command("screen", epilog=_EPILOG)
@click.option("--agent", metavar="NAME", help=f"The agent whose screen it is: {', '.join(sorted(READERS))}.")
@click.option("--title", metavar="T", help="The title of the pane, if known.")
@click.option(
    "--batch", is_flag=True, help='Read JSON lines {"id","agent","title","screen"}; write one {"id",…} per line.'
)
@click.argument("file", type=click.File("rb"), default="-")
def command(agent: str | None, title: str | None, batch: bool, file: BinaryIO) -> None:
    """Read a captured screen of an agent (FILE, or standard input) and print what it says as one JSON object.

    The screen is plain text as the terminal shows it, for instance from `tmux capture-pane -p`. Escape sequences
    are ignored. With --batch, a line that cannot be read gives {"id":…,"error":"…"} and the rest goes on.
    """
    if batch:
        if agent or title:
            raise click.UsageError("with --batch, every line names its own agent and title")
        for line in answers(file):
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()  # whoever feeds us line by line gets each answer at once
        return
    if agent is None:
        raise click.UsageError(
            f"which agent's screen is it? Give --agent NAME; known: {', '.join(sorted(READERS))}"
        )
    try:
        read = reader(agent)
    except Unreadable as why:
        raise click.BadParameter(str(why), param_hint="--agent") from None
    click.echo(_encode(read(file.read().decode("utf-8", "replace"), title)))
