"""The agents that `setup` connects besides Claude Code, one row each: where their hooks stand, who writes them.

Rule: a row is all that setup and uninstall have to know of an agent; what its settings mean is its own module's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from yourcall.agents.codex import setup as codex
from yourcall.agents.gemini import setup as gemini
from yourcall.agents.set_up import Edited, Finding, Version
from yourcall.model import Refused

Scope = Literal["user", "project", "local"]

CONNECTED = "Done. Sessions you start from now on are connected; restart those that are running.\n"


class Connectable(Struct, frozen=True):
    """`variable` names the folder that `folder` is in; `done` is said when it is connected."""

    name: str
    title: str
    variable: str
    folder: Callable[[], Path]
    file: str
    below: str  # the same folder in a project
    scopes: tuple[Scope, ...]
    add: Callable[[str | None, str, list[Version]], Edited | Refused]
    remove: Callable[[str | None], Edited | Refused]
    check: Callable[[str | None, str, list[Version]], list[Finding]]
    done: str

    def settings(self, scope: Scope, project: Path) -> Path:
        return (self.folder() if scope == "user" else project.absolute() / self.below) / self.file


def codex_folder() -> Path:
    """Where Codex keeps what belongs to the user."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex").absolute()


def gemini_folder() -> Path:
    """Where Gemini CLI keeps what belongs to the user."""
    return (Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini").absolute()


CODEX = Connectable(
    name="codex",
    title="Codex",
    variable="CODEX_HOME",
    folder=codex_folder,
    file="hooks.json",
    below=".codex",
    scopes=("user",),
    add=codex.add,
    remove=codex.remove,
    check=codex.check,
    done=CONNECTED
    + "A plain `codex` of 0.158 and later is reached through its own control socket, without these hooks; they are"
    " for `codex --no-daemon` and older versions, which are answered in their own dialog: run those inside tmux.",
)
GEMINI = Connectable(
    name="gemini",
    title="Gemini CLI",
    variable="GEMINI_CLI_HOME",
    folder=gemini_folder,
    file="settings.json",
    below=".gemini",
    scopes=("user", "project"),
    add=gemini.add,
    remove=gemini.remove,
    check=gemini.check,
    done=CONNECTED
    + "Gemini CLI is answered in its own dialog, so run it inside tmux: elsewhere its prompts are shown, and"
    " answered at the desk.",
)
OTHERS: dict[str, Connectable] = {agent.name: agent for agent in (CODEX, GEMINI)}
