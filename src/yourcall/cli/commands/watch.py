"""`yourcall watch`: one line per change, as it happens, across restarts of the daemon.

Rule: nothing is missed silently; after a break the feed goes on where it stopped, and says so.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from yourcall.cli.client import NotRunning, get, live
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import clip, clock, columns, safe, style
from yourcall.cli.terminal.sheet import ID_SHOWN, STATE_COLOURS, project
from yourcall.cli.views import Prompt, Session, read

# Soon enough to miss nothing a person would notice, rare enough to cost nothing all night.
FIRST_RETRY, LONGEST_RETRY = 0.1, 2.0


@click.command(
    "watch",
    epilog="""\b
Examples:
  yourcall watch
  yourcall watch --json | jq -c 'select(.type == "prompt") | .prompt.title'
  yourcall watch --json --after 1200
""",
)
@click.option("--after", type=click.IntRange(0), metavar="SEQ", help="Start with everything after this number.")
@click.option("--json", "as_json", is_flag=True, help="Each message of the live feed, one per line.")
@pass_place
def command(place: Instance, after: int | None, as_json: bool) -> None:
    """Follow prompts and sessions as they change, one line each; first what waits now. Ctrl-C ends it."""
    try:
        follow(place, after, as_json)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(0) from None


def follow(place: Instance, after: int | None, as_json: bool) -> None:
    """Print the feed for as long as it takes; a feed that breaks is taken up again where it stopped."""
    feed = live(place.home, after)  # not running at the start: that is said, and it is over
    while True:
        after = _until_it_breaks(feed, place.home, after, as_json)
        click.echo(style("The connection to yourcall was lost; waiting for it to come back.", dim=True), err=True)
        time.sleep(FIRST_RETRY)  # one that comes and goes is not asked without a pause
        feed = _again(place.home, after)
        click.echo(style("yourcall is back; continuing where it stopped.", dim=True), err=True)


def _until_it_breaks(feed: Any, home: Path, after: int | None, as_json: bool) -> int | None:
    from websockets.exceptions import ConnectionClosed

    with feed:
        while True:
            try:
                message: dict[str, Any] = json.loads(feed.recv())
            except (ConnectionClosed, OSError):
                return after
            if as_json:
                click.echo(json.dumps(message))
            elif message.get("type") != "hello":
                click.echo(line(message))
            elif message.get("snapshot"):
                try:
                    waiting = get(home, "/api/prompts")
                except Problem:
                    return after  # it left in this very moment; the next one is asked the same
                for prompt in waiting:
                    click.echo(line({"type": "prompt", "prompt": prompt, "at": prompt.get("opened_at", 0)}))
            # A hello that promises what was missed names the end of it: until that came, we are not there.
            if message.get("type") != "hello" or message.get("snapshot"):
                after = message.get("seq", after)


def _again(home: Path, after: int | None) -> Any:
    pause = FIRST_RETRY
    while True:
        try:
            return live(home, after)
        except (NotRunning, Problem):
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_RETRY)


def line(message: dict[str, Any]) -> str:
    """One change, in one line that fits the terminal."""
    at = clock(float(message.get("at") or time.time()))
    if message.get("type") == "prompt":
        prompt = read(message.get("prompt"), Prompt)
        by = prompt.answered_by if prompt.state not in ("open", "desk") and prompt.answered_by else ""
        note = ", ".join(w for w in (prompt.outcome or "", f"by {by}" if by else "") if w)
        text = safe(f"{prompt.agent} {project(prompt.cwd)}: {prompt.title}" + (f" ({note})" if note else ""))
        return _line(at, prompt.id[:ID_SHOWN], prompt.state, text, STATE_COLOURS.get(prompt.state, ""))
    if message.get("type") == "session":
        session = read(message.get("session"), Session)
        text = safe(f"{session.agent} {project(session.cwd)}: session {session.id[:8]}")
        return _line(at, "", session.state, text, "")
    if message.get("type") == "pause":
        return _line(at, "", "paused" if message.get("paused") else "rules on", "what rules decide", "")
    return safe(f"{at}  {message.get('type')}")


def _line(at: str, name: str, state: str, text: str, colour: str) -> str:
    lead = f"{at}  {safe(name):<{ID_SHOWN}}  {safe(state):<9}  "
    painted = f"{at}  {style(f'{safe(name):<{ID_SHOWN}}', 'cyan')}  {style(f'{safe(state):<9}', colour)}  "
    return painted + clip(text, max(columns() - len(lead), 20))
