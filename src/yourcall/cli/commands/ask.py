"""`yourcall ask`: a script raises its hand; what was answered is on stdout and in the exit code.

Rule: exit 0 means the first option (or, without options, a text), and nothing else. Whatever ends the wait, Ctrl-C
included, withdraws the question.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import click
import msgspec

from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import safe, style
from yourcall.client import (
    Answered,
    Asked,
    Interrupted,
    NotAnswered,
    NotRunning,
    Refused,
    Withdrawn,
    Yourcall,
    YourcallError,
)
from yourcall.client.blocking import AGAIN

# What a script relies on: never changed, only added to. A further option is OTHER plus its place, from the second.
NOT_ANSWERED = 3
IN_TIME = 4
OTHER = 10

_EPILOG = """\b
Exit codes:
  0   the first option, or (without options) a text
  1   yourcall is not running
  2   bad usage
  3   over without an answer: withdrawn
  4   nobody answered within --timeout
  10  a text instead of an option
  11  the second option; 12 the third, and so on
  130 Ctrl-C: the question was withdrawn

\b
Examples:
  yourcall ask "Deploy?" --option yes --option no --wait && ./deploy
  name=$(yourcall ask "What shall the branch be called?" --text --wait)
  git diff | yourcall ask "Commit?" -o yes -o no --body - --wait
  id=$(yourcall ask "Which region?" --option eu --option us)
  yourcall ask --of $id --wait
"""


@click.command("ask", epilog=_EPILOG)
@click.argument("question", required=False)
@click.option("--option", "-o", "options", multiple=True, metavar="NAME", help="One way to answer; give several.")
@click.option("--text", is_flag=True, help="Allow a free-text answer too.")
@click.option("--multi", is_flag=True, help="Allow several options; each chosen one is printed on its own line.")
@click.option("--body", default="", metavar="TEXT", help="Background for the decision; - reads it from stdin.")
@click.option("--name", default="", metavar="WHO", help="Who is asking, as the person sees it.")
@click.option("--wait", is_flag=True, help="Wait for the answer; without this, only the question's id is printed.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="Wait no longer than this.")
@click.option("--of", "earlier", default="", metavar="ID", help="Print the answer to an earlier question.")
@click.option("--json", "as_json", is_flag=True, help="The answer as one object.")
@pass_place
def command(
    place: Instance,
    question: str | None,
    options: tuple[str, ...],
    text: bool,
    multi: bool,
    body: str,
    name: str,
    wait: bool,
    timeout: float | None,
    earlier: str,
    as_json: bool,
) -> None:
    """Ask QUESTION on every device at once. With --wait, the answer is printed, and the exit code tells which it
    was; it waits across restarts of yourcall, and for as long as it takes unless --timeout says otherwise."""
    if bool(question) == bool(earlier):
        raise click.UsageError("Give a question, or --of ID.")
    client = Yourcall(place.home)
    try:
        if earlier:
            _earlier(client, earlier, wait, timeout, as_json)
        if not question or (not options and not text):
            raise click.UsageError("Give at least one --option, or --text: nobody could answer this.")
        words = sys.stdin.read() if body == "-" else body
        ask = partial(client.raise_hand, question, options, text=text, multi=multi, body=words, name=name)
        if not wait:
            request = ask(attended=False)
            click.echo(json.dumps({"id": request["id"]}) if as_json else request["id"])
            return
        _leave(_waited(client, partial(ask, attended=True), timeout), options, as_json)
    except NotRunning as error:
        raise Problem(f"yourcall is not running. Start it with: {place.command('up')}") from error
    except NotAnswered as error:
        raise Problem(str(error), IN_TIME) from error
    except Withdrawn as error:
        raise Problem(str(error), NOT_ANSWERED) from error
    except Refused as error:
        raise Problem(str(error), 2) from error
    except YourcallError as error:
        raise Problem(str(error)) from error
    except KeyboardInterrupt:
        stays, gone = (
            "Stopped waiting; the question stays open.",
            "The question was withdrawn.",
        )
        raise Problem(stays if earlier else gone, 130) from None


def _waited(client: Yourcall, ask: Callable[[], dict[str, Any]], timeout: float | None) -> Answered:
    # A script that is ended, or whose terminal is closed, takes its question with it: from the moment it is asked.
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    request: dict[str, Any] = {}
    try:
        request = ask()
        return client.wait(request, timeout, _told)
    except KeyboardInterrupt:
        if request:
            client.withdraw(str(request["id"]))  # it may have struck between asking and waiting
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _told(away: bool) -> None:
    words = (
        "The connection to yourcall was lost; the question waits until yourcall is back."
        if away
        else "yourcall is back."
    )
    click.echo(style(words, dim=True), err=True)


def _earlier(client: Yourcall, id: str, wait: bool, timeout: float | None, as_json: bool) -> NoReturn:
    """What became of a question that nobody stayed for."""
    deadline = None if timeout is None else time.monotonic() + timeout
    hold = 0.0
    while (asked := _look(client, id, hold, wait)) is None or asked.state == "waiting":
        left = 5.0 if deadline is None else min(5.0, deadline - time.monotonic())
        if not wait:
            raise Problem("Nobody has answered yet.", NOT_ANSWERED)
        if left <= 0:
            raise Problem("Nobody has answered yet; the question stays open.", IN_TIME)
        hold = left
    names = tuple(option.id for question in asked.prompt.questions for option in question.options)
    _leave(client.take(asked), names, as_json)


def _look(client: Yourcall, id: str, hold: float, wait: bool) -> Asked | None:
    """How it stands; None if yourcall went away while we waited, which is no answer."""
    try:
        return client.asked(id, hold)
    except Interrupted:
        if not wait:
            raise
    except NotRunning:
        if not hold:  # at the first look that is said
            raise
    time.sleep(AGAIN)
    return None


def _leave(answer: Answered, options: tuple[str, ...], as_json: bool) -> NoReturn:
    """Say what was answered, and leave with the code for it."""
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(answer)))
    else:
        # A script reads this: what stands in a terminal must not be able to command it, what is piped is verbatim.
        show = safe if sys.stdout.isatty() else str
        for word in [*answer.options, *([answer.text] if answer.text else [])]:
            click.echo(show(word))
    if not answer.options:
        code = 0 if not options else OTHER
    else:
        place = options.index(answer.option) if answer.option in options else 0
        code = 0 if place == 0 or len(answer.options) > 1 else OTHER + place
    raise click.exceptions.Exit(code)
