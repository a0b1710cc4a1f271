"""`yourcall rules`: what may be answered without a person; to list, try, make and take back.

Rule: a rule is shown in words, with what it would have decided so far, before it is made; and no command makes one
by the way.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from msgspec import Struct

from yourcall.agents.registry import USUAL
from yourcall.cli.client import get, refusal
from yourcall.cli.commands import organisation
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.requests import complete_id
from yourcall.cli.step_up import act
from yourcall.cli.terminal.render import clock, safe, style, table
from yourcall.cli.views import read

# Trying a rule on a thousand prompts takes a second or two on a slow machine.
PATIENCE = 60.0

COLOURS = {"allow": "green", "deny": "red", "ask": "yellow", "hold": "yellow"}
DAY_S = 86_400


class Rule(Struct, frozen=True):
    name: str
    do: str
    words: str = ""
    text: str = ""
    project: str = ""
    used: int = 0


class Rules(Struct, frozen=True):
    path: str
    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    paused: bool = False
    paused_by: str = ""
    paused_at: float = 0.0


class Part(Struct, frozen=True):
    text: str
    effects: tuple[str, ...] = ()
    do: str = "ask"
    rule: str = ""
    layer: str = ""


class Ruling(Struct, frozen=True):
    do: str
    why: str
    message: str = ""
    parts: tuple[Part, ...] = ()


class Tried(Struct, frozen=True):
    looked: int
    decided: int
    same: int
    other: int
    examples: tuple[str, ...] = ()


class Proposal(Struct, frozen=True):
    rule: Rule
    tried: Tried


@click.group(
    "rules",
    invoke_without_command=True,
    epilog="""\b
Examples:
  yourcall rules                            what may be decided without you?
  yourcall rules check                      is the file right?
  yourcall rules test "git log && rm -rf x" what would they say to this?
  yourcall rules add --like k3fq            always, like this prompt
  yourcall rules explain k3fq               why was this asked, or answered?
  yourcall rules undo                       take the last change back
""",
)
@click.option("--json", "as_json", is_flag=True, help="The rules as an object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What may be answered without a person: list, test, add, remove."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command, as_json=as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="The rules as an object.")
@pass_place
def list_command(place: Instance, as_json: bool) -> None:
    """The rules in words: yours, and those of the project in this folder."""
    data = get(place.home, "/api/rules", query={"cwd": _here()})
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    rules = read(data, Rules)
    if rules.paused:
        by = f" by {safe(rules.paused_by)}" if rules.paused_by else ""
        click.echo(style(f"Paused{by} since {clock(rules.paused_at)}: everything waits for a person.", "yellow"))
    for problem in rules.problems:
        click.echo(style("Not used as it is: ", "red") + safe(problem), err=True)
    if rules.problems:
        click.echo("Until you fix this, no rule allows anything; denies still count.", err=True)
    elif not rules.rules:
        click.echo(f"There are no rules; everything is asked. They would stand in {safe(rules.path)}")
    for rule in rules.rules:
        times = "never used" if not rule.used else f"used {rule.used} time{'s' if rule.used > 1 else ''}"
        of = ", of this project" if rule.project else ""
        click.echo(f"{style(safe(rule.name), 'cyan')}  {style(rule.do, COLOURS.get(rule.do, ''))}  ({times}{of})")
        click.echo(f"  {safe(rule.words)}")
    if rules.problems:
        raise click.exceptions.Exit(1)


@command.command("check", epilog="\b\nExample:\n  yourcall rules check .yourcall/rules.toml --project\n")
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@click.option("--project", is_flag=True, help="As the file of a project, which can only restrict.")
@pass_place
def check_command(place: Instance, file: str | None, project: bool) -> None:
    """Is FILE, or your own, right? Says what is wrong and in which line; needs no daemon. Exits 1 if it is not."""
    from yourcall.rules.text import in_words
    from yourcall.rules.text import read as read_rules

    path = Path(file) if file else place.home / "rules.toml"
    if not file and not path.exists():
        click.echo(f"You have no rules yet. They stand in {path}; see: yourcall rules --help")
        return
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Problem(f"{path} is not text in UTF-8.") from error
    book = read_rules(text, path.name, str(path.parent) if project else "")
    for rule in book.rules:
        click.echo(f"{style(rule.name, 'cyan')}  {safe(in_words(rule))}")
    for problem in book.problems:
        click.echo(style("Wrong: ", "red") + safe(problem), err=True)
    if book.problems:
        raise click.exceptions.Exit(1)
    click.echo(f"{len(book.rules)} rule{'s' if len(book.rules) != 1 else ''}, nothing wrong.")


@command.command(
    "test",
    epilog="\b\nExamples:\n  yourcall rules test 'git log | head'\n  yourcall rules test make --dir ~/shop\n",
)
@click.argument("shell_command", metavar="COMMAND")
@click.option("--dir", "folder", type=click.Path(file_okay=False), help="The folder it would run in; this one.")
@click.option("--agent", default=USUAL, show_default=True, help="The agent that would run it.")
@click.option("--json", "as_json", is_flag=True, help="The ruling as an object.")
@pass_place
def test_command(place: Instance, shell_command: str, folder: str | None, agent: str, as_json: bool) -> None:
    """What the rules would say to COMMAND, part by part. Exits 0 if it is allowed, 3 if denied, 4 if asked."""
    where = os.path.normpath(os.path.join(_here(), os.fsencode(folder or "").decode("utf-8", "replace")))
    if not where.startswith("/"):
        raise Problem("The folder you are in is gone. Say which one is meant: --dir FOLDER")
    body = {"command": shell_command, "cwd": where, "agent": agent}
    _say(place, _sent(place, "POST", "/api/rules/test", body), as_json)


@command.command("explain")
@click.argument("prompt_id", metavar="ID", shell_complete=complete_id)
@click.option("--json", "as_json", is_flag=True, help="The ruling as an object.")
@pass_place
def explain_command(place: Instance, prompt_id: str, as_json: bool) -> None:
    """What the rules, as they are now, say to the prompt ID. Exit codes as for `test`."""
    _say(place, _sent(place, "GET", f"/api/prompts/{quote(prompt_id, safe='')}/ruling"), as_json)


def _here() -> str:
    """The folder we are in; one that was removed under us is no project's."""
    try:
        return os.getcwdb().decode("utf-8", "replace")  # as agents tell it: a name may be no text
    except FileNotFoundError:
        return ""


def _besides(place: Instance) -> None:
    """What else decides now: a mistake in the file, the brake."""
    rules = read(get(place.home, "/api/rules", query={"cwd": _here()}), Rules)
    for problem in rules.problems:
        click.echo(style("No rule allows anything: ", "red") + safe(problem), err=True)
    if rules.paused:
        text = f"Rules are paused: everything waits. To let them decide: {place.command('resume')}"
        click.echo(style(text, "yellow"), err=True)


def _say(place: Instance, data: Any, as_json: bool) -> None:
    ruling = read(data, Ruling)
    if as_json:
        click.echo(json.dumps(data, indent=2))
    else:
        click.echo(style(ruling.do, COLOURS.get(ruling.do, "")) + f": {safe(ruling.why)}")
        rows = [
            [p.do, ", ".join(p.effects).replace("_", " ") or "nothing", p.rule or "-", p.layer or "-", p.text]
            for p in ruling.parts
        ]
        if rows:
            click.echo(table(["", "DOES", "RULE", "LAYER", "PART"], rows))
        _besides(place)
    raise click.exceptions.Exit({"allow": 0, "deny": 3}.get(ruling.do, 4))


@command.command("dry-run")
@click.option("--json", "as_json", is_flag=True, help="The counts as an object.")
@pass_place
def dry_run_command(place: Instance, as_json: bool) -> None:
    """What the current rules would have decided over the recorded past."""
    data = _sent(place, "GET", "/api/rules/dry-run")
    click.echo(json.dumps(data, indent=2) if as_json else past(read(data, Tried), "They"))


def past(tried: Tried, who: str) -> str:
    if not tried.looked:
        return "Nothing is on record that a rule could have decided."
    lines = [f"{who} would have decided {tried.decided} of {tried.looked} prompts on record:"]
    open_ = tried.decided - tried.same - tried.other
    lines += [
        f"  {tried.same} as it was decided, {tried.other} otherwise"
        + (f", {open_} not answered yet." if open_ else ".")
    ]
    lines += [f"  {safe(title)}" for title in tried.examples]
    return "\n".join(lines)


@command.command(
    "add", epilog="\b\nExamples:\n  yourcall rules add --like k3fq\n  yourcall rules add --like k3fq --uses 5\n"
)
@click.option(
    "--like", "prompt_id", metavar="ID", shell_complete=complete_id, help="Base the rule on this prompt."
)
@click.option("--text", metavar="TOML", help="The rule as it would stand in the file.")
@click.option("--deny", is_flag=True, help="Deny such prompts instead of allowing them.")
@click.option("--message", metavar="T", default="", help="What the agent is told with a deny.")
@click.option("--uses", type=click.IntRange(1), metavar="N", help="Only so many times.")
@click.option("--days", type=click.FloatRange(0, min_open=True), metavar="N", help="Only for so many days.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The rule as an object; with --yes.")
@pass_place
def add_command(
    place: Instance,
    prompt_id: str | None,
    text: str | None,
    deny: bool,
    message: str,
    uses: int | None,
    days: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a rule: "always, like this" of a prompt, or as written. It is shown, and tried on the past, first."""
    if bool(prompt_id) == bool(text):
        raise click.UsageError("Say which prompt it is like (--like ID), or write it (--text).")
    do = "deny" if deny else "allow"
    body: dict[str, object] = {"do": do, "message": message}
    body |= {"uses": uses} if uses else {}
    body |= {"until": time.time() + days * DAY_S} if days else {}
    if prompt_id:
        proposal = read(
            _sent(place, "GET", f"/api/prompts/{quote(prompt_id, safe='')}/rule", query={"do": do}), Proposal
        )
        if not as_json:
            click.echo(
                f"{safe(proposal.rule.words)}\n{past(proposal.tried, 'It')}\n\n"
                f"{safe(proposal.rule.text, lines=True)}"
            )
    body |= {"prompt": prompt_id} if prompt_id else {"text": text}
    if not yes and not click.confirm("Make this rule?", default=False):
        raise Problem("Nothing was changed.")
    data = _sent(place, "POST", "/api/rules", body, created=True)
    made = read(data, Rule)
    wording = f"Made: {made.name}. To take it back: {place.command(f'rules remove {made.name}')}"
    click.echo(json.dumps(data, indent=2) if as_json else wording)


@command.command("remove")
@click.argument("name")
@pass_place
def remove_command(place: Instance, name: str) -> None:
    """Take the rule NAME out of your file."""
    _sent(place, "DELETE", f"/api/rules/{quote(name, safe='')}")
    click.echo(f"Removed {safe(name)}. To bring it back: {place.command('rules undo')}")


@command.command("undo")
@pass_place
def undo_command(place: Instance) -> None:
    """Undo the last change that was made through yourcall; run it again to redo."""
    _sent(place, "POST", "/api/rules/undo")
    click.echo(f"Undone. What holds now: {place.command('rules')}")


def _sent(
    place: Instance,
    method: str,
    path: str,
    body: Mapping[str, object] | None = None,
    query: Mapping[str, object] | None = None,
    created: bool = False,
) -> Any:
    text = None if body is None else json.dumps(body)
    reply = act(place.home, method, path, body=text, query=query, timeout=PATIENCE)
    if reply.status != (201 if created else 200):
        raise refusal(reply)
    return reply.data


command.add_command(organisation.command)
