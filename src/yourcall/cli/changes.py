"""What yourcall changed outside its home: which settings files, and what was there before.

Rule: enough is kept to undo each change exactly, and nothing else; without this note undo still works, it only
leaves an empty `{}` where there was no file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from yourcall.agents.kit.hook_settings import is_blank
from yourcall.agents.registry import CONNECTED
from yourcall.agents.setup_spec import Above, Edited, Finding, Scope, Setup, State, Version
from yourcall.agents.spec import Agent
from yourcall.hook.launcher import launcher_path
from yourcall.model.prompts import Refused
from yourcall.system.settings_file import SettingsFile, read, write_whole


class Change(Struct, frozen=True):
    """`was`: what we found in the place of the file. `folder`: we also made the folder around it, and so many more
    `above` that one."""

    agent: str
    scope: Scope
    path: str
    was: Literal["absent", "blank", "filled"]
    folder: bool = False
    above: int = 0


def folder_of(agent: Agent) -> Path:
    """Where this agent keeps what belongs to the user."""
    setup = _setup(agent)
    moved = os.environ.get(setup.variable)
    around = Path(moved) if moved and setup.inside else Path.home()
    return (Path(moved) if moved and not setup.inside else around / setup.folder).absolute()


def moved_to(agent: Agent, path: Path) -> tuple[str, str]:
    """The variable, and its value, with which these settings are the user's own."""
    setup = _setup(agent)
    folder = path
    for _ in Path(setup.file).parts:
        folder = folder.parent
    return setup.variable, str(folder.parent if setup.inside else folder)


def _setup(agent: Agent) -> Setup:
    assert agent.setup is not None
    return agent.setup


def scopes_here() -> tuple[Scope, ...]:
    """Whose settings hold in the folder we are in; one that was removed under us has none of its own."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return ("user",)
    return ("user", "project", "local")


def settings_of(agent: Agent, scope: Scope, project: Path) -> Path:
    """The file of this agent that our hooks stand in."""
    setup = _setup(agent)
    if scope == "managed":
        assert setup.managed is not None
        return managed_folder(agent) / setup.managed.file
    return folder_of(agent) / setup.file if scope == "user" else project.absolute() / setup.projects[scope]


def managed_folder(agent: Agent) -> Path:
    """Where the administrator's settings for this agent are."""
    managed = _setup(agent).managed
    assert managed is not None
    return Path(managed.folder(sys.platform))


def launcher_of(agent: Agent, scope: Scope, home: Path) -> Path:
    """What the hooks in these settings call: this home's launcher, or a program that finds each person's."""
    managed = _setup(agent).managed
    if scope == "managed" and managed is not None:
        return managed_folder(agent) / managed.program.path
    return launcher_path(home)


def noted(home: Path) -> list[Change]:
    try:
        return msgspec.convert(json.loads((home / "setup.json").read_bytes()), list[Change])
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return []


def remember(home: Path, file: SettingsFile, agent: str, scope: Scope) -> None:
    """Note what is about to change; of a file that is ours already, the first note stays the right one."""
    known = {change.path: change for change in noted(home)}
    path = str(file.path)
    if path in known and holds_ours(file):
        return
    was = "absent" if file.text is None else "blank" if is_blank(file.text) else "filled"
    missing = [folder for folder in file.target.parents if not folder.exists()]
    known[path] = Change(agent, scope, path, was, bool(missing), max(0, len(missing) - 1))
    _keep(home, list(known.values()))


def holds_ours(file: SettingsFile) -> bool:
    edited = [_setup(agent).remove(file.text) for agent in CONNECTED.values()]
    return any(isinstance(each, Edited) and each.changed for each in edited)


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


def states(agent: Agent, home: Path, versions: list[Version], above: Above) -> list[State]:
    """The user's own settings and every other file we changed, each with what is wrong with it."""
    places: dict[str, Scope] = {str(settings_of(agent, "user", Path())): "user"}
    places |= {change.path: change.scope for change in noted(home) if change.agent == agent.name}
    found: list[State] = []
    for path, scope in places.items():
        own = [
            finding
            for finding in _findings(agent, scope, Path(path), home, versions)
            if not (finding.code == "disabled" and above.enforced)
            and not (finding.code == "missing" and above.connected)
        ]
        found.append(State(agent.name, scope, path, (*above.findings, *own)))
    return found


def _findings(agent: Agent, scope: Scope, path: Path, home: Path, versions: list[Version]) -> list[Finding]:
    file = read(path)
    if isinstance(file, Refused):
        return [Finding("broken", file.reason, f"{product(agent)} cannot read it either.")]
    return _setup(agent).check(file.text, str(launcher_of(agent, scope, home)), versions)


def product(agent: Agent) -> str:
    """What the agent's program is called."""
    return agent.grade.cli if agent.grade is not None else agent.title


def _keep(home: Path, all_changes: list[Change]) -> None:
    # json, not msgspec: a path may hold bytes that are no UTF-8.
    note = json.dumps(msgspec.to_builtins(all_changes), indent=2) + "\n"
    write_whole(home / "setup.json", note.encode(), 0o600)
