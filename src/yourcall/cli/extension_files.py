"""Files in an agent's folder that are wholly ours, such as an extension: what they should hold, and what they do.

Rule: a file with another first line than ours is somebody else's: it is never written over, and never removed.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from yourcall.agents.setup_spec import Edited, Finding, OwnFile, Scope
from yourcall.agents.spec import Agent
from yourcall.cli import changes
from yourcall.model.prompts import Refused
from yourcall.system.settings_file import SettingsFile, read


class OwnChange(Struct, frozen=True):
    """What is there, and what becomes of it."""

    found: SettingsFile
    edited: Edited


def places(agent: Agent) -> list[Path]:
    """Where an agent's own files of ours are."""
    return [path for _, path in _files(agent, "user")]


def _files(agent: Agent, scope: Scope) -> list[tuple[OwnFile, Path]]:
    setup = agent.setup
    if setup is not None and scope == "user":
        return [(each, changes.folder_of(agent) / each.path) for each in setup.files]
    if setup is not None and scope == "managed" and setup.managed is not None:
        program = setup.managed.program
        return [(program, changes.managed_folder(agent) / program.path)]
    return []


def wanted(agent: Agent, scope: Scope, home: Path, *, undo: bool) -> list[OwnChange] | Refused:
    """Every such file with the text that it should have; none to be there if this is undone."""
    own_changes: list[OwnChange] = []
    for own, path in _files(agent, scope):
        file = read(path)
        if isinstance(file, Refused):
            return file
        text = own.text(str(home.absolute()))
        ours = file.text is not None and _first(file.text) == _first(text)
        if undo:
            own_changes.append(OwnChange(file, Edited(None if ours else file.text, ours)))
        elif file.text is not None and not ours:
            return Refused(f"{path} is not yourcall's. Move it away, then run this again.")
        else:
            own_changes.append(OwnChange(file, Edited(text, text != file.text)))
    return own_changes


def remove_folders(agent: Agent, path: Path) -> None:
    """The empty folders around a file of ours that is gone, up to the agent's own."""
    if not path.is_relative_to(changes.folder_of(agent)):
        return
    for folder in path.parents:
        if folder == changes.folder_of(agent):
            return
        try:
            folder.rmdir()
        except OSError:
            return


def findings(agent: Agent, home: Path) -> list[Finding]:
    """What is missing, or belongs to another version or home."""
    again = f"Run `yourcall setup {agent.name}`."
    told: list[Finding] = []
    for own, path in _files(agent, "user"):
        file = read(path)
        text = own.text(str(home.absolute()))
        if isinstance(file, Refused):
            told.append(Finding("broken", file.reason, again))
        elif file.text is None:
            told.append(Finding("missing", f"{path} is missing.", again))
        elif file.text != text:
            told.append(Finding("outdated", f"{path} is of another yourcall, or was changed.", again))
    return told


def calls(agent: Agent, home: Path) -> bool:
    """Does one of them belong to this home?"""
    for own, path in _files(agent, "user"):
        file = read(path)
        if not isinstance(file, Refused) and file.text == own.text(str(home.absolute())):
            return True
    return False


def _first(text: str) -> str:
    """The line that says whose file it is; behind the one that names its interpreter."""
    first, _, rest = text.partition("\n")
    return rest.partition("\n")[0] if first.startswith("#!") else first
