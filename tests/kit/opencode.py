"""The real opencode, or Kilo, in a terminal: a fresh home with its plugin folder, and a scripted model.

The rule it keeps: nothing is reached but loopback. With a plugin the program fetches a package of its own at its
first start; the home is made as it stands after that.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kit.acp import any_provider
from kit.terminal import squeezed
from kit.turns import tool
from kit.yourcall import Yourcall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kit.chat_server import ChatServer
    from kit.terminal import Pane, Tmux
    from kit.turns import Block

OWN_PACKAGE = {"opencode": "@opencode-ai/plugin", "kilo": "@kilocode/plugin"}
DIALOG = "Permission required"


@dataclass(frozen=True)
class OpencodeHome:
    """A person's home with a project in it. `app` is `opencode` or `kilo`."""

    app: str
    path: Path
    project: Path
    binary: Path
    env: dict[str, str]

    @classmethod
    def make(cls, folder: Path, app: str, binary: Path, model: ChatServer) -> OpencodeHome:
        home, project = folder / "user", folder / "shop"
        home.mkdir()
        project.mkdir()
        subprocess.run(["git", "init", "-q", str(project)], check=True)
        env = {"HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        env |= {"PATH": f"{binary.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        env |= any_provider(app, home, model)
        wanted = {OWN_PACKAGE[app]: _version(binary)}
        settings = home / ".config" / app
        (settings / "node_modules").mkdir()
        (settings / "package.json").write_text(json.dumps({"dependencies": wanted}))
        lock = {"name": app, "lockfileVersion": 3, "requires": True, "packages": {"": {"dependencies": wanted}}}
        (settings / "package-lock.json").write_text(json.dumps(lock))
        made = cls(app, home, project, binary, env)
        made.configure("snapshot", False)  # copies the project before each turn, which takes long
        return made

    @property
    def plugin(self) -> Path:
        return self.path / ".config" / self.app / "plugin" / "yourcall.js"

    def configure(self, name: str, value: object) -> None:
        file = self.path / ".config" / self.app / f"{self.app}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))


def _version(binary: Path) -> str:
    said = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.strip()


class ForOpencode(Yourcall):
    """A yourcall of the same person: its commands find the program, and its settings."""

    def __init__(self, folder: Path, home: OpencodeHome) -> None:
        super().__init__(folder, home)  # type: ignore[arg-type]
        self._path = home.binary.parent

    @property
    def env(self) -> dict[str, str]:
        ours = super().env
        return {**ours, "PATH": f"{self._path}{os.pathsep}{ours['PATH']}"}


@dataclass(frozen=True)
class Opencode:
    """One that runs in a pane."""

    pane: Pane
    home: OpencodeHome

    def say(self, words: str) -> None:
        self.pane.paste(words)
        self.pane.wait_until(lambda screen: squeezed(words) in squeezed(screen))
        self.pane.key("Enter")

    def asks(self) -> str:
        return self.pane.wait_until(lambda screen: DIALOG in screen)

    def asks_no_more(self) -> str:
        return self.pane.wait_until(lambda screen: DIALOG not in screen and "esc dismiss" not in screen)

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()


def start(tmux: Tmux, home: OpencodeHome, *words: str, env: Mapping[str, str] | None = None) -> Opencode:
    command = [str(home.binary), *words]
    pane = tmux.start(command, cwd=home.project, env={**home.env, **(env or {})}, cols=110, rows=36)
    pane.wait_until(lambda screen: "ctrl+p" in screen or "Ask anything" in screen)
    pane.settle()
    return Opencode(pane, home)


def shell(command: str, description: str = "Do it") -> Block:
    return tool("bash", command=command, description=description)
