"""`yourcall send`, `key` and `interrupt`: speak to a session in its own terminal.

Rule: what was not seen to arrive is not called sent; the exit code says the same as the words.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn, cast

import click

from yourcall.cli.client import Interrupted, call, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.requests import session_path
from yourcall.cli.terminal.render import safe, style
from yourcall.cli.views import Result, read

EXIT_CODES = {"confirmed": 0, "sent": 0, "refused": 2, "unsure": 5}

# A long text is drawn, sent and heard of; all three are waited for.
PATIENCE = 30.0

_CODES = """\b
Exit codes:
  0  sent, or confirmed by the session itself
  1  yourcall is not running
  2  refused: nothing was typed; the reason is on stderr
  5  unsure
"""


@click.command(
    "send",
    epilog=f"""{_CODES}
\b
Examples:
  yourcall send 3f2a "Now run the tests."
  git diff | yourcall send 3f2a -
  yourcall send 3f2a --command /compact
""",
)
@click.argument("session")
@click.argument("text")
@click.option(
    "--command", "as_command", is_flag=True, help="A leading / or ! is meant as the agent's own command."
)
@click.option("--json", "as_json", is_flag=True, help="Print the daemon's reply.")
@pass_place
def send(place: Instance, session: str, text: str, as_command: bool, as_json: bool) -> None:
    """Give SESSION (the first letters of its id are enough) its next instruction, or a follow-up while it works.
    TEXT arrives as it is written; - reads it from standard input. Nothing is typed into an open dialog, nor where
    somebody has a draft in the input box."""
    if text == "-":
        text = sys.stdin.read()
    _speak(place, session, "send", {"text": text, "as_command": as_command}, as_json)


@click.command(
    "key",
    epilog=f"""{_CODES}
\b
Examples:
  yourcall key 3f2a escape
  yourcall key 3f2a "page up"
""",
)
@click.argument("session")
@click.argument("name", metavar="KEY")
@click.option("--json", "as_json", is_flag=True, help="Print the daemon's reply.")
@pass_place
def key(place: Instance, session: str, name: str, as_json: bool) -> None:
    """Press one special KEY in SESSION: enter, escape, up, down, left, right, tab, backspace, delete, home, end,
    pageup, pagedown or space. Refused while a dialog is open: that is answered with `yourcall answer`."""
    _speak(place, session, "key", {"key": name}, as_json)


@click.command(
    "interrupt",
    epilog=f"""{_CODES}
\b
Example:
  yourcall interrupt 3f2a
""",
)
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print the daemon's reply.")
@pass_place
def interrupt(place: Instance, session: str, as_json: bool) -> None:
    """Stop the turn that SESSION is in, as Escape at its desk would."""
    _speak(place, session, "interrupt", None, as_json)


def _speak(place: Instance, session: str, verb: str, body: dict[str, Any] | None, as_json: bool) -> NoReturn:
    payload = _post(place.home, session_path(place, session, verb), body)
    try:
        result = read(payload, Result)
    except Problem as error:
        raise _unsure("what yourcall said is not understood") from error
    code = EXIT_CODES.get(result.result, 5)
    detail = safe(result.detail).strip()
    text = f"{result.result.capitalize()}{f': {detail}' if detail else ''}"
    if as_json:
        click.echo(json.dumps(payload, indent=2))
    else:
        click.echo(style(text, "green") if result.result == "confirmed" else text, err=code != 0)
    raise click.exceptions.Exit(code)


def _post(home: Path, path: str, body: dict[str, Any] | None) -> Any:
    try:
        reply = call(home, "POST", path, body=None if body is None else json.dumps(body), timeout=PATIENCE)
    except Interrupted as error:
        raise _unsure("the connection to yourcall broke") from error
    except KeyboardInterrupt:
        raise _unsure("stopped waiting for the result", 130) from None
    if reply.status >= 500:
        raise _unsure("yourcall hit an internal error")
    data: Any = reply.data
    payload = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if "result" not in payload:
        raise refusal(reply)
    return payload


def _unsure(why: str, code: int = 5) -> Problem:
    return Problem(f"Unsure: {why}; look at the session's own terminal.", code)
