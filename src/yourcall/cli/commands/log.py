"""`yourcall log`: who answered what, when, how long it had waited, and what then happened."""

from __future__ import annotations

import json
from typing import Any

import click
from msgspec import Struct

from yourcall.cli.client import get
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.terminal.render import clock, safe, short, span, style, table
from yourcall.cli.terminal.sheet import ID_SHOWN
from yourcall.cli.views import read

# The daemon gives out this many lines at a time.
PAGE = 500
PATIENCE = 60.0


class Changed(Struct, frozen=True):
    number: int
    at: float
    area: str
    what: str
    about: str
    by: str
    detail: str = ""


@click.command("settings", epilog="\b\nExample:\n  yourcall log settings --limit 200\n")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, at most.")
@click.option("--json", "as_json", is_flag=True, help="An array, the newest first.")
@pass_place
def settings(place: Instance, limit: int, as_json: bool) -> None:
    """Who paired or changed a device, a rule, a channel or a person, and when; the newest last."""
    data = get(place.home, "/api/log/settings", query={"limit": limit})
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    lines = read(data, list[Changed])
    if not lines:
        click.echo("No setting has been changed yet.")
        return
    rows = [
        [clock(line.at), line.area, line.what, line.about, line.by, line.detail or "-"] for line in reversed(lines)
    ]
    click.echo(table(["WHEN", "AREA", "WHAT", "ABOUT", "BY", "DETAIL"], rows, ["", "cyan"]))


@click.command(
    "verify", epilog="\b\nExample:\n  yourcall log verify --head 812:3f2a…    still the record I noted?\n"
)
@click.option(
    "--head",
    metavar="HEAD",
    default="",
    help="A head that was noted before, HASH or PLACE:HASH: it must still be there.",
)
@click.option(
    "--heads",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of heads that an export of kind `head` wrote: each must still be there.",
)
@click.option("--json", "as_json", is_flag=True, help="What was found, as an object.")
@pass_place
def verify(place: Instance, head: str, heads: str | None, as_json: bool) -> None:
    """Is the record whole and unchanged? Looks at every link, every fact and every row; exits 1 if not."""
    import msgspec

    from yourcall.store.chain import verify as verified
    from yourcall.store.problem import StoreProblem

    path = place.home / "yourcall.db"
    if not path.exists():
        raise Problem(f"There is no record in {place.home}.")
    try:
        found = verified(path, head)
        if heads:
            found = msgspec.structs.replace(found, problems=(*found.problems, *_lost_heads(place, heads)))
    except StoreProblem as problem:
        raise Problem(str(problem)) from problem
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        forgotten = f", {found.forgotten:,} forgotten since, as the settings say" if found.forgotten else ""
        text = f"{found.facts:,} facts{forgotten}." + (f"\nHead: {found.links}:{found.head}" if found.head else "")
        good = style("Whole and unchanged: ", "green")
        bad = style("NOT whole: ", "red") + safe("; ".join(found.problems[:20])) + ".\n"
        click.echo((bad if found.problems else good) + text)
    if found.problems:
        raise click.exceptions.Exit(1)


def _lost_heads(place: Instance, file: str) -> list[str]:
    """The heads of this machine in the file that its chain no longer holds."""
    import socket
    import sqlite3
    from contextlib import closing
    from pathlib import Path

    lost: list[str] = []
    with closing(sqlite3.connect(f"file:{place.home / 'yourcall.db'}?mode=ro", uri=True)) as db:
        for line in Path(file).read_text("utf-8", "replace").splitlines():
            try:
                noted = json.loads(line)
                n, _, link = str(noted["head"]).partition(":")
                row = db.execute("SELECT link FROM chain WHERE n = ?", (int(n),)).fetchone()
            except (ValueError, KeyError, TypeError, OverflowError):
                lost.append(f"a line of {file} can't be read")
                continue
            if noted.get("host") == socket.gethostname() and (row is None or bytes(row[0]).hex() != link):
                lost.append(f"head {n}, noted earlier, is not in this chain: the chain was cut off or made anew")
    return lost


@click.command("hold", epilog="\b\nExamples:\n  yourcall log hold 'case 17'\n  yourcall log hold --off\n")
@click.argument("why", default="")
@click.option("--off", is_flag=True, help="Delete again what is older than `keep.days`.")
@pass_place
def hold(place: Instance, why: str, off: bool) -> None:
    """Keep the whole record, whatever `keep.days` says, until `--off`. Without WHY: says if a hold is on."""
    from yourcall.cli.client import may
    from yourcall.system import private_files

    file = place.home / "hold"
    if off or why:
        may(place.home, "rules")
        if off:
            file.unlink(missing_ok=True)
        else:
            private_files.write(file, why.encode("utf-8", "replace"))
    if file.exists():
        click.echo(f"A hold is on, nothing is deleted: {safe(file.read_text('utf-8', 'replace'))}")
    else:
        click.echo("No hold is on: what is older than keep.days is deleted.")


@click.command("export", epilog="\b\nExample:\n  yourcall log export | jq -c 'select(.via == \"rule\")'\n")
@pass_place
def export(place: Instance) -> None:
    """Every decision as a line of JSON, the newest first: by whom, from where, by which rule, what came of it.

    After the decisions come the changed settings (devices, rules, channels), newest first, each with an `area`.
    """
    _export_decisions(place)
    _export_settings(place)


def _export_settings(place: Instance) -> None:
    query: dict[str, object] = {"limit": PAGE}
    while lines := get(place.home, "/api/log/settings", query=query, timeout=PATIENCE):
        for line in lines:
            click.echo(json.dumps(line, ensure_ascii=False))
        query["before_number"] = lines[-1]["number"]


def _export_decisions(place: Instance) -> None:
    before: float | None = None
    while True:
        query: dict[str, object] = {"limit": PAGE}
        query |= {"before": before} if before is not None else {}
        lines: list[dict[str, Any]] = get(place.home, "/api/log", query=query, timeout=PATIENCE)
        for line in lines:
            by: str = line.get("by", "")
            line["rule"] = by.removeprefix("rule ") if line.get("via") == "rule" else ""
            click.echo(json.dumps(line, ensure_ascii=False))
        if len(lines) < PAGE:
            return
        before = lines[-1]["opened_at"]


class Wait(Struct, frozen=True):
    project: str
    kind: str
    count: int
    median: float
    longest: float
    total: float


class Saving(Struct, frozen=True):
    words: str
    text: str
    taps: int


class Report(Struct, frozen=True):
    decided: dict[str, int]
    waits: tuple[Wait, ...] = ()
    savings: tuple[Saving, ...] = ()


@click.command("report", epilog="\b\nExample:\n  yourcall log report\n")
@click.option("--json", "as_json", is_flag=True, help="The report as an object.")
@pass_place
def report(place: Instance, as_json: bool) -> None:
    """How long prompts waited, by project and kind, and the rules that would have saved you taps."""
    data = get(place.home, "/api/log/report", timeout=PATIENCE)
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    found = read(data, Report)
    if not found.decided:
        click.echo("Nothing has been answered yet.")
        return
    words = {"here": "answered through yourcall", "desk": "at the desk", "rule": "by rule", "nobody": "by nobody"}
    click.echo("Decided: " + ", ".join(f"{n} {words.get(who, who)}" for who, n in found.decided.items()))
    if found.waits:
        rows = [
            [short(w.project), w.kind, str(w.count), span(w.median), span(w.longest), span(w.total)]
            for w in found.waits
        ]
        click.echo("\n" + table(["PROJECT", "KIND", "PROMPTS", "MEDIAN", "LONGEST", "IN ALL"], rows))
    for saving in found.savings:
        click.echo(f"\nWould have saved you {saving.taps} taps: {safe(saving.words)}")
        click.echo(safe(saving.text, lines=True).rstrip())


class Line(Struct, frozen=True):
    id: str
    title: str
    answered_at: float
    agent: str = ""
    waited: float = 0.0
    by: str = ""
    answer: str = ""
    state: str = ""
    outcome: str | None = None


def then(line: Line) -> str:
    """What came of it in one word: the outcome once it is proven, until then how far it got."""
    return line.outcome if line.outcome and line.state in ("confirmed", "desk") else line.state


@click.group(
    "log",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall log
  yourcall log --limit 200
  yourcall log settings          who changed devices, rules, channels
  yourcall log verify                       is the record whole and unchanged?
  yourcall log export > record.jsonl
  yourcall log report                       what waited, what to make rules of
  yourcall log --json | jq -r '.[] | [.by, .answer, .title] | @tsv'
""",
)
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many, at most.")
@click.option("--json", "as_json", is_flag=True, help="An array, the newest first.")
@click.pass_context
def command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Who answered what, when, how long it had waited, and what then happened; the newest last."""
    place = ctx.find_object(Instance)
    if ctx.invoked_subcommand is not None or place is None:
        return
    data = get(place.home, "/api/log", query={"limit": limit})
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    lines = read(data, list[Line])
    if not lines:
        click.echo("Nothing has been answered yet.")
        return
    lines.sort(key=lambda line: line.answered_at)
    rows = [
        [
            clock(line.answered_at),
            line.id[:ID_SHOWN],
            span(line.waited),
            line.by or "-",
            line.answer or "-",
            then(line),
            line.title,
        ]
        for line in lines
    ]
    click.echo(table(["WHEN", "ID", "WAITED", "BY", "ANSWER", "THEN", "TITLE"], rows, ["", "cyan"]))


for each in (settings, verify, export, report, hold):
    command.add_command(each)
