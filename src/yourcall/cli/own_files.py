"""Files in an agent's folder that are wholly ours, such as an extension: what they should hold, and what they do.

Rule: a file with another first line than ours is somebody else's: it is never written over, and never removed.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from yourcall.agents.kit.setup import Edited, Finding
from yourcall.agents.setup_spec import OwnFile
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
    setup = agent.setup
    return [changes.folder_of(agent) / each.path for each in setup.files] if setup is not None else []


def wanted(agent: Agent, home: Path, *, undo: bool) -> list[OwnChange] | Refused:
    """Every such file with the text that it should have; none to be there if this is undone."""
    found: list[OwnChange] = []
    for own, path in zip(agent.setup.files if agent.setup else (), places(agent), strict=True):
        file = read(path)
        if isinstance(file, Refused):
            return file
        text = own.text(str(home.absolute()))
        ours = file.text is not None and _first(file.text) == _first(text)
        if undo:
            found.append(OwnChange(file, Edited(None if ours else file.text, ours)))
        elif file.text is not None and not ours:
            return Refused(f"{path} is not yourcall's. Move it away, then run this again.")
        else:
            found.append(OwnChange(file, Edited(text, text != file.text)))
    return found


def remove_folders(agent: Agent, path: Path) -> None:
    """The empty folders around a file of ours that is gone, up to the agent's own."""
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
    for own, path in zip(agent.setup.files if agent.setup else (), places(agent), strict=True):
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
    setup = agent.setup
    pairs: list[tuple[OwnFile, Path]] = list(zip(setup.files, places(agent), strict=True)) if setup else []
    for own, path in pairs:
        file = read(path)
        if not isinstance(file, Refused) and file.text == own.text(str(home.absolute())):
            return True
    return False


def _first(text: str) -> str:
    return text.partition("\n")[0]
