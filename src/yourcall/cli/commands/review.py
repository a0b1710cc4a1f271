"""`yourcall review`: another agent's opinion of what a session did.

Rule: what the reviewer writes goes through `safe`; the review goes back to the session only if that is asked for.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any
from urllib.parse import quote

import click

from yourcall.cli.client import call, get, refusal
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.requests import session_path
from yourcall.cli.terminal.render import safe, style
from yourcall.cli.views import Review, read

# A reviewer's servers start before its first word.
BEGINS = 90.0
LOOK_S = 0.4


@click.command(
    "review",
    epilog="""\b
Examples:
  yourcall review 3f2a --by codex
  yourcall review 3f2a --by claude --text "Is it safe to run twice?"
  yourcall review 3f2a --by codex --send    and send its review there
  yourcall review 3f2a --list

\b
Exit codes:
  0  the review is done (and sent, with --send)
  1  yourcall is not running
  2  refused: the reason is on stderr
  4  there is no review: the reviewer failed, or was ended
""",
)
@click.argument("session")
@click.option("--by", "agent", metavar="AGENT", help="Who reviews; without it, a list of those on this machine.")
@click.option("--text", default="", help="What you want to know; without it, what is wrong, missing or risky.")
@click.option("--send", "send_back", is_flag=True, help="Send the review back as the session's next instruction.")
@click.option("--list", "listing", is_flag=True, help="The reviews of this session.")
@click.option("--json", "as_json", is_flag=True, help="The review as JSON, once it is done.")
@pass_place
def command(
    place: Instance, session: str, agent: str | None, text: str, send_back: bool, listing: bool, as_json: bool
) -> None:
    """Ask another agent what it thinks of what SESSION did (the first letters of its id are enough). It runs in
    the same folder, in the mode of its own in which it only reads, and is given what was asked, what was said and
    the diff. Its review is printed as it is written."""
    if listing:
        _list(get(place.home, session_path(place, session, "reviews")), as_json)
        return
    if agent is None:
        known = ", ".join(each["agent"] for each in get(place.home, "/api/reviewers")) or "none is installed"
        raise click.UsageError(f"Say who reviews: --by AGENT. On this machine: {known}.")
    body = json.dumps({"agent": agent, "text": text})
    data = _send(place, session_path(place, session, "reviews"), body, 201, BEGINS)
    data = _follow(place, data, quiet=as_json)
    review = read(data, Review)
    if review.state == "done" and send_back:
        data = _send(place, f"/api/reviews/{quote(review.id, safe='')}/send", "{}", 200)
        if not as_json:
            click.echo(style("\nSent back: it is the next instruction of the session.", dim=True))
    if as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=not sys.stdout.isatty()))
    if review.state != "done":
        raise Problem(f"There is no review: {safe(review.detail) or 'it was ended'}.", 4)


def _follow(place: Instance, data: Any, *, quiet: bool) -> Any:
    """Print what is added, until the review is over. Ctrl-C ends it."""
    review, told = read(data, Review), 0
    try:
        while True:
            text = safe(review.text, lines=True)
            # What was said piece by piece may be put together anew once a message is whole.
            if not quiet and len(text) > told:
                click.echo(text[told:], nl=False)
                told = len(text)
            if review.state != "running":
                if told:
                    click.echo()
                return data
            time.sleep(LOOK_S)
            data = get(place.home, f"/api/reviews/{quote(review.id, safe='')}")
            review = read(data, Review)
    except KeyboardInterrupt:
        _send(place, f"/api/reviews/{quote(review.id, safe='')}/end", None, 200)
        raise


def _send(place: Instance, path: str, body: str | None, wanted: int, timeout: float = 10.0) -> Any:
    reply = call(place.home, "POST", path, body=body, timeout=timeout)
    if reply.status != wanted:
        raise refusal(reply)
    return reply.data


def _list(data: Any, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    reviews = read(data, list[Review])
    if not reviews:
        click.echo("It was not reviewed.")
    for review in reviews:
        sent = ", sent back" if review.sent_at else ""
        cost = f", ${review.cost_usd:.2f}" if review.cost_usd else ""
        click.echo(style(f"{review.round}. {safe(review.reviewer)}: {review.state}{sent}{cost}", bold=True))
        click.echo(f"   {safe(review.question)}")
        for line in safe(review.text or review.detail, lines=True).splitlines():
            click.echo(f"   {line}")
