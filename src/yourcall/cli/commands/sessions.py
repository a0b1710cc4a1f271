"""`yourcall sessions`: the agents' sessions that are known, and how each is reached."""

from __future__ import annotations

import json
import time

import click

from yourcall.agents.registry import AGENTS, USUAL
from yourcall.cli.client import get
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.terminal.render import safe, short, span, table
from yourcall.cli.views import Session, read
from yourcall.live_check.grades import mention, ungraded

# The modes in which the person is hardly asked, or not at all, and what that means.
UNASKED = {
    "auto": "In auto mode the agent decides by itself, so there is nothing to answer",
    "bypassPermissions": "Permissions are bypassed: everything runs without asking",
    "dontAsk": "The agent asks nothing and refuses what isn't already allowed",
}


@click.command(
    "sessions",
    epilog="""\b
Examples:
  yourcall sessions
  yourcall sessions --all
  yourcall sessions --json | jq -r '.[] | select(.state == "waiting") | .cwd'
""",
)
@click.option("--all", "everything", is_flag=True, help="Also the 50 that ended last; their conversations stay.")
@click.option("--json", "as_json", is_flag=True, help="An array of sessions.")
@pass_place
def command(place: Instance, everything: bool, as_json: bool) -> None:
    """List the agents' running sessions: what each is doing, in which folder, and how yourcall reaches it."""
    data = get(place.home, "/api/sessions")
    if everything:
        data += get(place.home, "/api/sessions", query={"ended": "true"})
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    sessions = read(data, list[Session])
    if not sessions:
        click.echo(f"No sessions yet. Connect an agent with: {place.command(f'setup {USUAL}')}")
        return
    now = time.time()
    rows = [
        [
            s.id[:8],
            s.state,
            " ".join(w for w in (s.agent, s.version) if w),
            s.permission_mode or "-",
            ", ".join(" ".join(w for w in (link.kind, link.target) if w and w != s.id) for link in s.links) or "-",
            span(now - s.seen_at) if s.seen_at else "-",
            short(s.cwd),
        ]
        for s in sorted(sessions, key=lambda s: -s.seen_at)
    ]
    click.echo(table(["ID", "STATE", "AGENT", "MODE", "LINKS", "SEEN", "FOLDER"], rows, ["cyan"]))
    for session in sessions:
        if session.note:
            click.echo(f"\n{safe(session.id[:8])}: {safe(session.note)}")
    for agent, version in dict.fromkeys((s.agent, s.version) for s in sessions if s.state != "ended"):
        if agent in AGENTS and ungraded(place.home, agent, version) and mention(place.home, agent, version):
            live = place.command(f"doctor --live {agent}")
            click.echo(f"\nNobody has tested {safe(AGENTS[agent].title)} {safe(version)} yet. To find out: {live}")
    for mode, text in UNASKED.items():
        found = [s for s in sessions if s.permission_mode == mode and s.state != "ended"]
        if found:
            click.echo(f"\n{text}: {', '.join(safe(s.id[:8]) for s in found)}.")
