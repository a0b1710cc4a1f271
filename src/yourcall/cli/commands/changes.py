"""`yourcall changes`: which files a session changed, and how.

Rule: names and contents of files go through `safe`; what is left out here is counted.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import click

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, pass_place
from yourcall.cli.requests import session_path
from yourcall.cli.terminal.render import safe, style, table
from yourcall.cli.views import read
from yourcall.model.changes import ChangedFile, FilePatch, SessionChanges

_LETTERS = {"added": "A", "modified": "M", "deleted": "D", "untracked": "?"}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command(
    "changes",
    epilog="""\b
Examples:
  yourcall changes 3f2a                    since the session began
  yourcall changes 3f2a --against head     since the last commit
  yourcall changes 3f2a --diff             with the changes themselves
  yourcall changes 3f2a --json | jq -r '.files[].path'
""",
)
@click.argument("session")
@click.option(
    "--against",
    type=click.Choice(["start", "head", "record"]),
    help="The commit when the session began, the last commit, or the agent's own record.",
)
@click.option("--diff", "with_diff", is_flag=True, help="Each file's change, too.")
@click.option("--json", "as_json", is_flag=True, help="The list as JSON; with --diff each file has its `patch`.")
@pass_place
def command(place: Instance, session: str, against: str | None, with_diff: bool, as_json: bool) -> None:
    """List the files that a session changed, as git sees them; without git, as the agent's record tells."""
    query = f"?{urlencode({'against': against})}" if against else ""
    data = get(place.home, session_path(place, session, f"changes{query}"))
    changes = read(data, SessionChanges)
    patches = {file.id: _patch(place, changes, file) for file in changes.files} if with_diff else {}
    if as_json:
        _print_json(data, patches)
        return
    since = {"start": "the session began", "head": "the last commit", "record": "the session began, by its record"}
    click.echo(f"{safe(changes.root)}, since {since[changes.against]}:")
    if not changes.files:
        click.echo("No file differs.")
    rows = [
        [
            _LETTERS[file.kind],
            _sum(file),
            safe(file.path) + ("" if file.touched else style("  not named by the session", dim=True)),
        ]
        for file in changes.files
    ]
    if rows:
        click.echo(table(["", "LINES", "FILE"], rows, ["cyan"]))
    if not changes.complete:
        click.echo("Only some of the files are listed here.")
    if changes.note:
        click.echo(safe(changes.note))
    for file in changes.files:
        patch = patches.get(file.id)
        if patch is not None:
            click.echo(f"\n{style(safe(patch.path), bold=True)}")
            lines = patch.patch.split("\n")
            click.echo("\n".join(style(safe(line), _COLOURS.get(line[:1], "")) for line in lines))
            if not patch.complete:
                click.echo("The rest of this change isn't shown.")


def _sum(file: ChangedFile) -> str:
    return "" if file.added is None else f"+{file.added} -{file.removed}"


def _patch(place: Instance, changes: SessionChanges, file: ChangedFile) -> FilePatch:
    path = f"/api/sessions/{quote(changes.session_id, safe='')}/changes/{file.id}?against={changes.against}"
    return read(get(place.home, path), FilePatch)


def _print_json(data: Any, patches: dict[str, FilePatch]) -> None:
    for file in data["files"]:
        if file["id"] in patches:
            file["patch"] = patches[file["id"]].patch
    click.echo(json.dumps(data, indent=2))
