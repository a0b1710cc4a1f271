"""`yourcall conversation`: what was said and done in a session, and what is added as it happens.

Rule: everything an agent, a model or a file wrote goes through `safe`; what is left out here is counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, cast

import click
from msgspec import Struct

from yourcall.cli.client import Interrupted, NotRunning, get
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.requests import session_path
from yourcall.cli.terminal.render import clock, safe, span, style, wrapped
from yourcall.cli.views import read

# Soon enough that it reads like a conversation; a look that finds nothing costs the daemon one `stat`.
EVERY = 0.5
SHOWN_LINES = 12


class Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0


class Entry(Struct, frozen=True):
    """Any entry, as far as it is printed; each type uses some of the fields."""

    type: str = ""
    at: float = 0.0
    text: str = ""
    by: str = ""
    phase: str = ""
    kind: str = ""
    title: str = ""
    detail: str = ""
    diff: str = ""
    is_error: bool = False
    child: str = ""
    level: str = ""
    scope: str = ""
    cost_usd: float | None = None
    seconds: float | None = None
    turns: int | None = None
    tokens: Tokens | None = None
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class Shown(Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
    next_before: int | None = None
    end: int = 0
    file: str = ""
    restarted: bool = False


@click.command(
    "conversation",
    epilog="""\b
Examples:
  yourcall conversation 3f2a                  the last messages and actions
  yourcall conversation 3f2a -f               and then what is added
  yourcall conversation 3f2a --before 81234   the page before
  yourcall conversation 3f2a --json -f | jq -c 'select(.type == "action")'
""",
)
@click.argument("session")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is added, until Ctrl-C.")
@click.option("--limit", type=click.IntRange(1, 500), default=30, show_default=True, help="How many, at most.")
@click.option("--before", type=click.IntRange(0), metavar="PLACE", help="The page before this place.")
@click.option("--subagent", default="", metavar="ID", help="The conversation of a subagent.")
@click.option("--full", is_flag=True, help="Every output and diff in full.")
@click.option("--json", "as_json", is_flag=True, help="The page as JSON; with -f one entry per line.")
@pass_place
def command(
    place: Instance,
    session: str,
    follow: bool,
    limit: int,
    before: int | None,
    subagent: str,
    full: bool,
    as_json: bool,
) -> None:
    """What was said and done in a session: messages, thoughts, actions with their results, cost. Oldest first.

    SESSION is an id, or its beginning (see: yourcall sessions).
    """
    path = session_path(place, session, "conversation")
    asked: dict[str, object] = {"limit": limit}
    asked |= {"before": before} if before is not None else {}
    asked |= {"subagent": subagent} if subagent else {}
    data = get(place.home, path, query=asked)
    if as_json and not follow:
        click.echo(json.dumps(data, indent=2))
        return
    shown = read(data, Shown)
    if not as_json and shown.next_before is not None:
        earlier = place.command(f"conversation {session} --before {shown.next_before}")
        click.echo(style(f"Earlier: {earlier}", dim=True))
    _show(data, as_json, full)
    if not shown.entries and not follow:
        click.echo("Nothing has been said yet.")
    try:
        while follow:
            data = _more(place, path, {"subagent": subagent} if subagent else {}, shown)
            shown = read(data, Shown)
            if shown.restarted and not as_json:
                click.echo(style("The transcript began anew.", dim=True))
            _show(data, as_json, full)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(0) from None


def _more(place: Instance, path: str, asked: dict[str, object], last: Shown) -> Any:
    """What was added, once something was; a daemon that is restarted meanwhile is waited for."""
    while True:
        time.sleep(EVERY)
        try:
            data: Any = get(place.home, path, query={**asked, "after": last.end, "file": last.file})
        except (NotRunning, Interrupted):
            continue
        shown = read(data, Shown)
        # An empty page may still have moved: lines that are no conversation were added.
        if shown.end != last.end or shown.file != last.file:
            return data


def _show(data: Any, as_json: bool, full: bool) -> None:
    if as_json:
        for entry in cast("Iterable[Any]", data["entries"]):
            click.echo(json.dumps(entry))
        return
    for entry in read(data, Shown).entries:
        click.echo(block(entry, full))


def block(entry: Entry, full: bool = False) -> str:
    """One entry, in as many lines as it needs."""
    at = style(clock(entry.at) if entry.at else " " * 8, dim=True)
    match entry.type:
        case "user":
            return _said(at, f"{entry.by or 'you'}", "cyan", entry.text)
        case "assistant":
            return _said(at, "agent", "green", entry.text)
        case "thinking":
            took = f" ({span(entry.seconds)})" if entry.seconds else ""
            return _said(at, "thought", "", (entry.text or "not shown") + took, dim=True)
        case "action":
            return _action(at, entry, full)
        case "result":
            return f"{at}  {style(_result(entry), 'red' if entry.is_error else '', dim=not entry.is_error)}"
        case "compaction":
            before, after = entry.tokens_before, entry.tokens_after
            size = f" ({before:,} tokens became {after:,})" if before is not None and after is not None else ""
            head = f"{at}  {style(f'compacted{size}', 'magenta')}"
            return f"{head}\n{_cut(entry.summary, full)}" if entry.summary else head
        case "notice":
            colour = {"error": "red", "warning": "yellow"}.get(entry.level, "")
            return _said(at, "notice", colour, entry.text)
        case other:
            return f"{at}  {safe(other)}"


def _said(at: str, who: str, colour: str, wording: str, *, dim: bool = False) -> str:
    text = wrapped(wording, 12)
    return f"{at}  {style(safe(who), colour, bold=not dim, dim=dim)}\n{style(text, dim=True) if dim else text}"


def _action(at: str, entry: Entry, full: bool) -> str:
    if entry.phase == "started":
        lines = [f"{at}  {style('▸', 'yellow')} {safe(entry.title)}"]
        lines += [_cut(entry.detail, full)] if entry.detail and entry.detail != entry.diff else []
        lines += [_diff(entry.diff, full)] if entry.diff else []
        return "\n".join(lines)
    mark = style("✗", "red") if entry.is_error else style("✓", "green")
    lines = [f"{at}  {mark} {safe(entry.title or entry.kind)}"]
    # What a file change reports is for the model; the change itself says more, unless it was not made.
    made = bool(entry.diff) and not entry.is_error
    lines += [_diff(entry.diff, full)] if made else [_cut(entry.detail, full)] if entry.detail else []
    lines += (
        [style(f"{' ' * 12}its own conversation: --subagent {safe(entry.child)}", dim=True)] if entry.child else []
    )
    return "\n".join(lines)


def _cut(text: str, full: bool) -> str:
    lines = wrapped(text, 12).split("\n")
    if full or len(lines) <= SHOWN_LINES:
        return "\n".join(lines)
    more = style(f"{' ' * 12}… {len(lines) - SHOWN_LINES} more lines (--full)", dim=True)
    return "\n".join([*lines[:SHOWN_LINES], more])


def _diff(text: str, full: bool) -> str:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = [style(line, colours.get(line.lstrip()[:1], "")) for line in _cut(text, full).split("\n")]
    return "\n".join(lines)


def _result(entry: Entry) -> str:
    over = "the session so far" if entry.scope == "session" else "end of the turn"
    parts = ["the turn failed" if entry.is_error else over]
    parts += [span(entry.seconds)] if entry.seconds is not None else []
    parts += [f"{entry.turns} steps"] if entry.turns is not None else []
    parts += [f"{entry.tokens.input:,} tokens in, {entry.tokens.output:,} out"] if entry.tokens else []
    parts += [f"${entry.cost_usd:.4f} so far"] if entry.cost_usd is not None else []
    parts += [safe(entry.text)] if entry.is_error and entry.text else []
    return ", ".join(parts)
