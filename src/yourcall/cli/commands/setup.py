"""`yourcall setup AGENT`: connect an agent. Shows the change to its settings, asks, applies it; or undoes it.

Rule: nothing outside yourcall's home changes unless the person saw the change and said yes (or said --yes).
"""

from __future__ import annotations

import json
import shlex
import sys
from difflib import unified_diff
from pathlib import Path
from typing import get_args

import click
import msgspec
from msgspec import Struct

from yourcall.agents.kit.hook_settings import is_blank
from yourcall.agents.registry import AGENTS, CONNECTED, USUAL
from yourcall.agents.setup_spec import Edited, Installed, Scope, Setup, State, show_version
from yourcall.agents.spec import Agent
from yourcall.cli import changes, extension_files
from yourcall.cli.extension_files import OwnChange
from yourcall.cli.instance import Instance, Problem, pass_place
from yourcall.cli.machine import ThisMachine, ask, find, versions
from yourcall.cli.terminal.render import safe, short, style
from yourcall.hook.launcher import install_launcher
from yourcall.model.prompts import Refused
from yourcall.system.settings_file import SettingsFile, backup_of, read, replace

NOT_CONFIRMED = 2


class SetupRequest(Struct, frozen=True):
    """What the person wants: which settings, and how far to go."""

    place: Instance
    agent: Agent
    scope: Scope
    folder: Path | None
    only_show: bool
    yes: bool
    undo: bool
    as_json: bool
    ask: tuple[str, ...] | None = None
    clis: tuple[Path, ...] = ()

    @property
    def home(self) -> Path:
        return self.place.home

    @property
    def setup(self) -> Setup:
        assert self.agent.setup is not None
        return self.agent.setup

    def no(self, reason: str, exit_code: int = 1, **more: object) -> Problem:
        """Say why not, in the form that was asked for; to be raised."""
        if self.as_json:
            click.echo(json.dumps({"error": reason, "changed": False, "applied": False, **more}))
        return Problem(reason, exit_code)


class SetupChange(Struct, frozen=True):
    """What becomes of the agent's settings, and of the files in its folder that are wholly ours."""

    found: SettingsFile
    edited: Edited
    own: tuple[OwnChange, ...] = ()

    @property
    def difference(self) -> str:
        parts = [_difference(each.found, each.edited.text) for each in self.own]
        if self.edited.changed:
            parts.append(_difference(self.found, self.edited.text))
        return "\n".join(parts)


@click.command(
    "setup",
    epilog="""\b
Examples:
  yourcall setup                            what is connected?
  yourcall setup claude --diff              what would change?
  yourcall setup claude                     show it, ask, and do it
  yourcall setup claude --undo              take it out again
  yourcall setup claude --ask Bash          be asked for commands in auto mode too
  yourcall setup claude --scope project     only for the project in this folder
  sudo yourcall setup claude --scope managed   for everybody on this machine
  yourcall setup codex                      the same for Codex
  yourcall setup gemini                     the same for Gemini CLI
  yourcall setup copilot                    the same for GitHub Copilot CLI
  yourcall setup qwen                       the same for Qwen Code
  yourcall setup opencode                   the same for opencode (kilo: Kilo Code)
  yourcall setup droid                      the same for Factory droid
""",
)
@click.argument("agent", required=False, type=click.Choice(list(CONNECTED)))
@click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="user",
    help="Whose settings: user (default), project (shared with others), local (this project, only you), managed"
    " (everybody on this machine; needs root).",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project's folder (default: this one).",
)
@click.option(
    "--cli",
    "clis",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The agent's program, if it is not the one on PATH; can be given several times.",
)
@click.option(
    "--ask",
    "tools",
    multiple=True,
    metavar="TOOL",
    help="Be asked for this tool in every mode, auto too (Bash, mcp__github__.*); can be given several times.",
)
@click.option("--no-ask", is_flag=True, help="Take an earlier --ask or --rules back.")
@click.option("--rules", "by_rules", is_flag=True, help="Let rules decide before Claude asks: no dialog at all.")
@click.option("--diff", "only_show", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Apply without asking.")
@click.option("--undo", is_flag=True, help="Take out exactly what setup put in.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON; with --yes or --diff.")
@pass_place
def command(
    place: Instance,
    agent: str | None,
    scope: Scope,
    folder: Path | None,
    clis: tuple[Path, ...],
    tools: tuple[str, ...],
    no_ask: bool,
    by_rules: bool,
    only_show: bool,
    yes: bool,
    undo: bool,
    as_json: bool,
) -> None:
    """Connect an agent: show the change to its settings, ask, apply; or undo it."""
    if folder is not None and scope in ("user", "managed"):
        raise click.UsageError("--dir goes with --scope project or --scope local.")
    if only_show and yes:
        raise click.UsageError("--diff only shows and --yes applies: choose one.")
    if tools and (no_ask or undo):
        raise click.UsageError("--ask adds, --no-ask and --undo take away: choose one.")
    if by_rules and (tools or no_ask or undo):
        raise click.UsageError("--rules goes alone: with --ask, rules are looked at first anyway.")
    if agent is None:
        _list(place, clis, as_json)
        return
    known = AGENTS[agent]
    asked = SetupRequest(place, known, scope, folder, only_show, yes, undo, as_json, None, clis)
    scopes = ("user", *asked.setup.projects, *(("managed",) if asked.setup.managed else ()))
    if scope not in scopes or ((tools or no_ask or by_rules) and not asked.setup.ruled):
        words = f"--scope {scope}" if scope not in scopes else "--ask"
        raise click.UsageError(f"{changes.product(known)} has no {words}; {changes.product(AGENTS[USUAL])} has.")
    tools = asked.setup.ruled if by_rules else tools
    asked = msgspec.structs.replace(asked, ask=tools if tools or no_ask else None)
    programs = [] if undo else ask(clis or find(known, changes.folder_of(known)))
    if folder is None and scope not in ("managed", *changes.scopes_here()):
        raise asked.no("The folder you are in is gone. Go to the project's own first, or name it with --dir.")
    found = read(changes.settings_of(known, scope, folder or Path()))
    if isinstance(found, Refused):
        raise asked.no(found.reason)
    edited = _undone(asked, found) if undo else _done(asked, found, programs)
    if isinstance(edited, Refused):
        raise asked.no(f"{found.path}: {edited.reason}")
    own = extension_files.wanted(known, scope, place.home, undo=undo)
    if isinstance(own, Refused):
        raise asked.no(own.reason)
    change = SetupChange(found, edited, tuple(each for each in own if each.edited.changed))
    difference = change.difference
    if not as_json:
        _show(asked, found, programs, difference, edited.notes)
    applied = bool(difference) and not only_show
    if applied:
        _confirm(asked, difference)
        _apply(asked, change)
    elif not undo and not only_show:
        _make_launcher(asked)
    if as_json:
        result = {
            "agent": agent,
            "scope": scope,
            "path": str(found.path),
            "versions": [show_version(version) for version in versions(programs)],
            "changed": bool(difference),
            "applied": applied,
            "diff": difference,
            "notes": edited.notes,
        }
        click.echo(json.dumps(result, indent=2))
    elif applied:
        click.echo(_UNDONE if undo else asked.setup.done)


_UNDONE = "Removed. Sessions that are running keep the old settings until they are restarted."


def _done(asked: SetupRequest, found: SettingsFile, programs: list[Installed]) -> Edited | Refused:
    above = ThisMachine(asked.place, asked.agent, programs).above()
    if above.connected and asked.scope != "managed" and asked.ask is None:
        # The launcher leaves every call to those of the administrator: these would only cost time.
        note = f"The administrator's settings already connect everybody on this machine ({above.connected})."
        return Edited(found.text, False, (note,))
    launcher = changes.launcher_of(asked.agent, asked.scope, asked.home)
    edited = asked.setup.add(found.text, str(launcher), versions(programs), asked.ask)
    if isinstance(edited, Refused):
        return edited
    notes = [f"{finding.says} {finding.do}" for finding in above.findings]
    notes += [
        f"The version of {program.path} is unknown. If you do not use it, name the one you use with --cli."
        for program in programs
        if program.version is None
    ]
    if asked.scope == "managed":
        notes.append("For people without a yourcall in ~/.yourcall, the hooks do nothing.")
    if asked.scope == "project" and edited.changed:
        notes.append("This file is usually shared. For people without this launcher, the hooks do nothing.")
    return Edited(edited.text, edited.changed, (*edited.notes, *notes))


def removed(agent: str, text: str | None) -> Edited | Refused:
    """The settings of this agent without our hooks."""
    setup = AGENTS[agent].setup
    return Refused(f"This version knows no settings of {agent!r}.") if setup is None else setup.remove(text)


def _undone(asked: SetupRequest, found: SettingsFile) -> Edited | Refused:
    edited = asked.setup.remove(found.text)
    if isinstance(edited, Refused) or not edited.changed or not is_blank(edited.text):
        return edited
    # Nothing of theirs is left in the file: then what was there before we came?
    before = {change.path: change.was for change in changes.noted(asked.home)}.get(str(found.path))
    left = None if before == "absent" else edited.text or "" if before == "blank" else "{}\n"
    return Edited(left, True)


def _apply(asked: SetupRequest, change: SetupChange) -> None:
    found, text = change.found, change.edited.text
    if asked.undo:
        if change.edited.changed:
            _replace(asked, found, text)
        for own in change.own:
            _replace(asked, own.found, own.edited.text)
            extension_files.remove_folders(asked.agent, own.found.path)
        if text is None:
            changes.remove_folders(asked.home, found.path, found.target)
        changes.forget(asked.home, found.path)
        return
    # First what the hooks call and the files beside the settings: at no moment do those point at nothing.
    _make_launcher(asked)
    if change.edited.changed:
        changes.remember(asked.home, found, asked.agent.name, asked.scope)
    if asked.scope == "managed":
        _make_readable_folders(asked, found.target.parent)
    try:
        for own in change.own:
            _replace(asked, own.found, own.edited.text, 0o755)
        if change.edited.changed:
            _replace(asked, found, text, 0o644)
    except Problem:
        if not changes.holds_ours(found):
            changes.forget(asked.home, found.path)
        raise


def _make_readable_folders(asked: SetupRequest, folder: Path) -> None:
    """What is for everybody must be readable for everybody, whatever root's umask is."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        for each in reversed(missing):
            each.mkdir()
            each.chmod(0o755)
    except OSError as error:
        raise asked.no(f"{folder} cannot be made ({(error.strerror or '').lower()}). This needs root.") from error


def _replace(asked: SetupRequest, found: SettingsFile, text: str | None, shared: int = 0o600) -> None:
    if found.text is None and asked.scope == "managed":
        found = msgspec.structs.replace(found, mode=shared)
    # Undoing after the home was deleted must not bring it back.
    backup = backup_of(asked.home, asked.agent.name, found.target) if asked.home.is_dir() else None
    refused = replace(found, text, backup)
    if refused is not None:
        raise asked.no(refused.reason)


def _make_launcher(asked: SetupRequest) -> None:
    try:
        install_launcher(asked.home)
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise asked.no(f"{asked.home} cannot be written ({why}). Choose another home with --home.") from error


def _confirm(asked: SetupRequest, difference: str) -> None:
    if asked.yes:
        return
    if asked.as_json or not sys.stdin.isatty():
        reason = f"Nothing was changed. To apply this: {asked.place.command(_words(asked))} --yes"
        raise asked.no(reason, NOT_CONFIRMED, changed=True, diff=difference)
    if not click.confirm("Take this out?" if asked.undo else "Make this change?", default=False):
        raise Problem("Nothing was changed.")


def _words(asked: SetupRequest) -> str:
    """What was typed, so that it makes the very change that was shown."""
    words = ["setup", asked.agent.name, *([] if asked.scope == "user" else ["--scope", asked.scope])]
    words += ["--dir", str(asked.folder)] if asked.folder else []
    words += [word for path in asked.clis for word in ("--cli", str(path))]
    if asked.ask is not None and asked.ask == asked.setup.ruled:
        words.append("--rules")
    elif asked.ask is not None:
        words += [word for tool in asked.ask for word in ("--ask", tool)] or ["--no-ask"]
    return shlex.join([*words, *(["--undo"] if asked.undo else [])])


def _show(
    asked: SetupRequest, found: SettingsFile, programs: list[Installed], difference: str, notes: tuple[str, ...]
) -> None:
    for program in programs:
        if program.version is not None:
            name = changes.product(asked.agent)
            click.echo(f"{name} {show_version(program.version)}  {short(program.path)}")
    for note in notes:
        click.echo(style("Note: ", "yellow") + safe(note))
    if not difference:
        what = "holds nothing of ours" if asked.undo else "is up to date"
        click.echo(f"Nothing to change: {short(str(found.path))} {what}.")
        return
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in difference.split("\n"):
        click.echo(style(safe(line, lines=True), colours.get(line[:1], "")))


def _difference(found: SettingsFile, text: str | None) -> str:
    """A unified diff. A line ends only where the file ends one; how it is ended is not shown."""
    before, after = ("/dev/null" if each is None else str(found.path) for each in (found.text, text))
    return "\n".join(unified_diff(_lines(found.text), _lines(text), before, after, lineterm="", n=2))


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\n\\ No newline at end of file"
    return [line.removesuffix("\r") for line in lines]


def _list(place: Instance, clis: tuple[Path, ...], as_json: bool) -> None:
    states: list[State] = []
    for agent in CONNECTED.values():
        usual = agent.name == USUAL
        machine = ThisMachine(place, agent, ask(clis) if usual and clis else None)
        if usual or machine.versions or machine.changed:
            states += machine.states()
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(states), indent=2))
        return
    for state in states:
        words = style("set up", "green") if not state.findings else style("not set up right", "yellow")
        click.echo(f"{state.agent}  {words}  {short(state.path)} ({state.scope})")
        for finding in state.findings:
            click.echo(f"  {safe(finding.says)} {safe(finding.do)}")
