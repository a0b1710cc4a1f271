"""`yourcall queue`: instructions that wait until a session's turn has ended well.

Rule: a number is looked up in the list as it is now, and its instruction is meant by its id from then on.
"""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import datetime
from typing import Any, NamedTuple

import click

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.requests import session_path
from yourcall.cli.terminal.render import clip, columns, safe, style
from yourcall.cli.views import Order, Queue, read

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SETTLED = ("done", "unsure", "dropped")
_WORDS = {"done": "given", "dropped": "not needed", "given": "on its way", "giving": "on its way"}


class Asked(NamedTuple):
    """The session that the group was called with."""

    session: str
    as_json: bool


class QueueGroup(click.Group):
    """`queue SESSION --json` is `queue SESSION list --json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if len(args) > 1 and not args[0].startswith("-") and args[1].startswith("-"):
            args = [args[0], "list", *args[1:]]
        return super().parse_args(ctx, args)


@click.group(
    "queue",
    cls=QueueGroup,
    invoke_without_command=True,
    subcommand_metavar="[list | add TEXT | remove N | move N M | edit N TEXT | hold | resume]",
    epilog="""\b
Examples:
  yourcall queue 3f2a                                  what waits
  yourcall queue 3f2a add "Now update the docs."       after this turn
  yourcall queue 3f2a add "Go on." --at 18:00
  yourcall queue 3f2a add "Go on." --after-limit
  yourcall queue 3f2a add "Refactor it." --when-passes "make test"
  yourcall queue 3f2a move 3 1
  yourcall queue 3f2a remove 2
  yourcall queue 3f2a resume                           after something held it

\b
Exit codes:
  0  done
  1  yourcall is not running
  2  refused: nothing was changed; the reason is on stderr
""",
)
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print the queue as JSON.")
@click.pass_context
def command(ctx: click.Context, session: str, as_json: bool) -> None:
    """Instructions that wait for SESSION (the first letters of its id are enough). The first is given when a turn
    has ended well: not while the agent asks or has failed. Who speaks to it at the desk, says no or stops its turn
    holds the queue until `resume`. Each is given once; what may have arrived is never given again."""
    ctx.meta[__name__] = Asked(session, as_json)
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_orders)


_json = click.option("--json", "as_json", is_flag=True, help="Print the queue as JSON.")


@command.command("list")
@_json
@pass_place
def list_orders(place: Instance, as_json: bool = False) -> None:
    """List what waits, and what became of the latest ones."""
    _show(get(place.home, _path(place)), as_json)


@command.command("add")
@click.argument("text")
@click.option("--at", "at", metavar="TIME", help="Not before: 18:00, 2026-11-20T09:00, or +30m.")
@click.option(
    "--when-passes", "passes", metavar="COMMAND", help="Only if this command, in its folder, exits with 0."
)
@click.option("--after-limit", is_flag=True, help="When the usage limit has reset that holds it now.")
@_json
@pass_place
def add(place: Instance, text: str, at: str | None, passes: str | None, after_limit: bool, as_json: bool) -> None:
    """Add TEXT at the end; - reads it from standard input."""
    if (at is not None) + (passes is not None) + after_limit > 1:
        raise click.UsageError("Give one of --at, --when-passes and --after-limit.")
    body: dict[str, Any] = {"text": sys.stdin.read() if text == "-" else text}
    if at is not None:
        body |= {"trigger": "time", "at": moment(at, time.time())}
    elif passes is not None:
        body |= {"trigger": "command", "command": passes}
    elif after_limit:
        body |= {"trigger": "limit"}
    _show(_send(place, "POST", "", body), as_json)


@command.command("remove")
@click.argument("number", metavar="N", type=click.IntRange(1))
@_json
@pass_place
def remove(place: Instance, number: int, as_json: bool) -> None:
    """Remove the Nth of those that wait."""
    _show(_send(place, "DELETE", f"/orders/{_nth(place, number).id}"), as_json)


@command.command("move")
@click.argument("number", metavar="N", type=click.IntRange(1))
@click.argument("to", metavar="M", type=click.IntRange(1))
@_json
@pass_place
def move(place: Instance, number: int, to: int, as_json: bool) -> None:
    """Make the Nth of those that wait the Mth."""
    _show(_send(place, "POST", f"/orders/{_nth(place, number).id}", {"place": to}), as_json)


@command.command("edit")
@click.argument("number", metavar="N", type=click.IntRange(1))
@click.argument("text")
@_json
@pass_place
def edit(place: Instance, number: int, text: str, as_json: bool) -> None:
    """Give the Nth of those that wait another TEXT."""
    _show(_send(place, "POST", f"/orders/{_nth(place, number).id}", {"text": text}), as_json)


@command.command("hold")
@_json
@pass_place
def hold(place: Instance, as_json: bool) -> None:
    """Give nothing until `resume`."""
    _show(_send(place, "POST", "/hold", {"held": True}), as_json)


@command.command("resume")
@_json
@pass_place
def resume(place: Instance, as_json: bool) -> None:
    """Let it go on, whatever held it."""
    _show(_send(place, "POST", "/hold", {"held": False}), as_json)


def moment(text: str, now: float) -> float:
    """A time as people write it: the next 18:00, a date with a time, or so long from now."""
    if relative := re.fullmatch(r"\+(\d{1,6})([smhd])", text):
        return now + int(relative[1]) * _UNITS[relative[2]]
    if clock := re.fullmatch(r"(\d{1,2}):(\d{2})", text):
        try:
            at = datetime.fromtimestamp(now).replace(
                hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0
            )
        except ValueError:
            raise click.UsageError(f"{text!r} is no time of the day.") from None
        return at.timestamp() if at.timestamp() > now else at.timestamp() + 86_400
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise click.UsageError(f"{text!r} is no time: give 18:00, 2026-11-20T09:00 or +30m.") from None


def _asked() -> Asked:
    return click.get_current_context().meta[__name__]


def _path(place: Instance, rest: str = "") -> str:
    return session_path(place, _asked().session, f"queue{rest}")


def _send(place: Instance, method: str, rest: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body)
    reply = call(place.home, method, _path(place, rest), body=data)
    if reply.status not in (200, 201):
        raise refusal(reply)
    return reply.data


def _waiting(queue: Queue) -> list[Order]:
    return [order for order in queue.orders if order.state == "waiting"]


def _nth(place: Instance, number: int) -> Order:
    waiting = _waiting(read(get(place.home, _path(place)), Queue))
    if number > len(waiting):
        raise Problem(f"{len(waiting)} wait here: there is no number {number}.", 2)
    return waiting[number - 1]


def _show(data: Any, as_json: bool) -> None:
    if as_json or _asked().as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=not sys.stdout.isatty()))
        return
    queue = read(data, Queue)
    for order in queue.orders:
        if order.state in _SETTLED:
            click.echo(style(_line(f"   {_WORDS.get(order.state, order.state)}", order), dim=True))
    for order in queue.orders:
        if order.state not in _SETTLED and order.state != "waiting":
            click.echo(_line(f" → {_WORDS.get(order.state, order.state)}", order))
    waiting = _waiting(queue)
    for number, order in enumerate(waiting, 1):
        click.echo(_line(f"{number:2}. {_trigger(order)}", order))
    if not waiting:
        click.echo("Nothing waits.")
    elif queue.held:
        click.echo(
            style(f"Held: {safe(queue.held)}. To let it go on: yourcall queue {_asked().session} resume", "yellow")
        )
    elif queue.waits_for:
        click.echo(f"The first is given: {safe(queue.waits_for)}.")


def _trigger(order: Order) -> str:
    match order.trigger:
        case "time":
            return datetime.fromtimestamp(order.at).strftime("%d %b %H:%M")
        case "command":
            return f"if `{clip(safe(order.command), 30)}` passes"
        case "limit":
            return "when its limit has reset"
        case _:
            return "next"


def _line(head: str, order: Order) -> str:
    tail = f"  ({order.detail})" if order.detail and order.state in ("unsure", "waiting") else ""
    return clip(f"{head}: {safe(order.text.strip())}{safe(tail)}", columns())
