"""`yourcall inbox`: all that waits, and the whole of it, in one terminal; answered in place.

Rule: what draws it is imported only here and only when it runs; no other command, and not the daemon, pays for it.
"""

from __future__ import annotations

import sys

import click

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, Problem, pass_place


@click.command("inbox", epilog="\b\nExamples:\n  yourcall inbox\n  yourcall inbox k3fq\n")
@click.argument("prompt_id", metavar="[ID]", required=False, default="")
@pass_place
def command(place: Instance, prompt_id: str) -> None:
    """All that waits beside the whole of one prompt, live; answer with the keys it shows. Begins with the prompt
    ID, or with the oldest. Works over ssh from 80×24 on; ? lists the keys, q leaves."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Problem(f"The inbox needs a terminal. In a script, use: {place.command('ls --json')}", 2)
    get(place.home, "/api/status")  # not running: that is said, and it is over
    from yourcall.cli.inbox.app import Inbox
    from yourcall.cli.requests import fetch

    first = fetch(place.home, prompt_id).id if prompt_id else ""
    go = Inbox(place, first).run()
    if go is not None:
        from yourcall.cli.panes import go as show

        show(None, go, "switch")
