"""What yourcall changed outside its home: which settings files, and what was there before.

Rule: enough is kept to undo each change exactly, and nothing else; without this note undo still works, it only
leaves an empty `{}` where there was no file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from yourcall.agents.claude import setup
from yourcall.agents.set_up import Finding, Version
from yourcall.agents.settings_text import is_blank
from yourcall.cli.connectable import GEMINI, OTHERS, Connectable, Scope
from yourcall.cli.launcher import launcher_path
from yourcall.cli.settings_file import Found, read, write_whole
from yourcall.model import Refused


class Change(Struct, frozen=True):
    """`was`: what we found in the place of the file. `folder`: we also made the folder around it, and so many more
    `above` that one."""

    agent: str
    scope: Scope
    path: str
    was: Literal["absent", "blank", "filled"]
    folder: bool = False
    above: int = 0


class State(Struct, frozen=True):
    """How one settings file stands with us. No finding: prompts of sessions that read it will reach us."""

    agent: str
    scope: Scope
    path: str
    findings: tuple[Finding, ...]


def claude_folder() -> Path:
    """Where Claude Code keeps what belongs to the user."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude").absolute()


def scopes_here() -> tuple[Scope, ...]:
    """Whose settings hold in the folder we are in; one that was removed under us has none of its own."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return ("user",)
    return get_args(Scope)


def claude_settings(scope: Scope, folder: Path) -> Path:
    if scope == "user":
        return claude_folder() / "settings.json"
    return folder.absolute() / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def settings_of(agent: str, scope: Scope, folder: Path) -> Path:
    """The file of this agent that our hooks stand in."""
    other = OTHERS.get(agent)
    return claude_settings(scope, folder) if other is None else other.settings(scope, folder)


def noted(home: Path) -> list[Change]:
    try:
        return msgspec.convert(json.loads((home / "setup.json").read_bytes()), list[Change])
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return []


def remember(home: Path, found: Found, agent: str, scope: Scope) -> None:
    """Note what is about to change; of a file that is ours already, the first note stays the right one."""
    known = {change.path: change for change in noted(home)}
    path = str(found.path)
    if path in known and holds_ours(found):
        return
    was = "absent" if found.text is None else "blank" if is_blank(found.text) else "filled"
    missing = [folder for folder in found.target.parents if not folder.exists()]
    known[path] = Change(agent, scope, path, was, bool(missing), max(0, len(missing) - 1))
    _keep(home, list(known.values()))


def holds_ours(found: Found) -> bool:
    edited = GEMINI.remove(found.text)  # it knows the hooks of every agent whose settings have this shape
    return isinstance(edited, setup.Edited) and edited.changed


def forget(home: Path, path: Path) -> None:
    """Drop a note. A folder that we made passes to another file of ours in it, to be removed with that one."""
    all_changes = noted(home)
    gone = [change for change in all_changes if change.path == str(path)]
    if not gone:
        return
    left = [change for change in all_changes if change not in gone]
    made = next((change for change in gone if change.folder), None)
    if made is not None:
        left = [
            msgspec.structs.replace(change, folder=True, above=max(change.above, made.above))
            if Path(change.path).parent == path.parent
            else change
            for change in left
        ]
    _keep(home, left)


def remove_folders(home: Path, path: Path, target: Path) -> None:
    """What we made around a file of ours, unless something else came to lie in it."""
    made = next((change for change in noted(home) if change.path == str(path) and change.folder), None)
    for folder in list(target.parents)[: made.above + 1] if made else []:
        try:
            folder.rmdir()
        except OSError:
            return


def states(home: Path, versions: list[setup.Version]) -> list[State]:
    """The user's own settings and every other file we changed, each with what is wrong with it."""
    places: dict[str, Scope] = {str(claude_settings("user", Path())): "user"}
    places |= {change.path: change.scope for change in noted(home) if change.agent == "claude"}
    over_all = administrators_say()
    return [
        State("claude", scope, path, tuple(over_all + _findings(Path(path), home, versions)))
        for path, scope in places.items()
    ]


def states_of(agent: Connectable, home: Path, versions: list[Version]) -> list[State]:
    """As `states`, for one of the others."""
    places: dict[str, Scope] = {str(agent.settings("user", Path())): "user"}
    places |= {change.path: change.scope for change in noted(home) if change.agent == agent.name}
    found: list[State] = []
    for path, scope in places.items():
        text = read(Path(path))
        if isinstance(text, Refused):
            findings = [Finding("broken", text.reason, f"{agent.title} cannot read it either.")]
        else:
            findings = agent.check(text.text, str(launcher_path(home)), versions)
        found.append(State(agent.name, scope, path, tuple(findings)))
    return found


def administrators_say() -> list[setup.Finding]:
    """What the settings of the machine's administrator, which stand above all others, say about hooks."""
    where = "/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code"
    found = read(Path(where) / "managed-settings.json")
    return [] if isinstance(found, Refused) else setup.blocked(found.text)


def _findings(path: Path, home: Path, versions: list[setup.Version]) -> list[setup.Finding]:
    found = read(path)
    if isinstance(found, Refused):
        return [setup.Finding("broken", found.reason, "Claude Code cannot read it either.")]
    return setup.check(found.text, str(launcher_path(home)), versions)


def _keep(home: Path, all_changes: list[Change]) -> None:
    # json, not msgspec: a path may hold bytes that are no UTF-8.
    note = json.dumps(msgspec.to_builtins(all_changes), indent=2) + "\n"
    write_whole(home / "setup.json", note.encode(), 0o600)
