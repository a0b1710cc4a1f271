"""The real GitHub Copilot CLI against a scripted model: a home of its own, a terminal, no network but loopback.

    with ChatServer() as model:
        words = model.script("touch", [shell("touch marker")], [text("Made it.")])
        copilot = start_copilot(tmux, copilot_bin, home, model)
        copilot.say(words)
        copilot.wait_screen("Do you want to run this command?")

The rule it keeps: the model says what the conversation calls for (`kit.chat_server`); the consent that Copilot
asks for is given by a key at its own dialog, as a person gives it, never by a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.turns import Block, tool
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kit.chat_server import ChatServer
    from kit.terminal import Pane, Tmux

MCP_SERVER = Path(mcp_server.__file__)
STATUS_LINE = "Manual Approval"
CONSENT = "wants elevated permissions"
SHELL = "Do you want to run this command?"


def shell(command: str, description: str = "Do it") -> Block:
    return tool("bash", command=command, description=description)


def ask(message: str, **fields: dict[str, Any]) -> Block:
    """One form; each field is a piece of JSON Schema."""
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return tool("ask_user", message=message, requestedSchema=schema)


def environment(home: CopilotHome, model: ChatServer, binary: Path) -> dict[str, str]:
    """All that the CLI may know. What it unpacks (235 MB) lies beside the program, for every test."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "XDG_CACHE_HOME": str(binary.parent.parent / "unpacked"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": model.base_url,
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "claude-sonnet-4.6",
    }


@dataclass(frozen=True)
class CopilotHome:
    """A home folder in which the CLI starts without any first-run dialog but that of our extension."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, *, trusted: bool = True) -> CopilotHome:
        home = cls(folder / "home", folder / "project")
        (home.path / ".copilot").mkdir(parents=True)
        home.project.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", str(home.project)], check=True)
        known: dict[str, Any] = {"firstLaunchAt": "2026-01-01T00:00:00.000Z", "appTipShown": True}
        if trusted:
            known["trustedFolders"] = [str(home.project)]
        (home.path / ".copilot" / "config.json").write_text(json.dumps(known))
        home.settings.write_text(json.dumps({"banner": "never", "showTipsOnStartup": False, "autoUpdate": False}))
        return home

    @property
    def settings(self) -> Path:
        return self.path / ".copilot" / "settings.json"

    @property
    def extension(self) -> Path:
        return self.path / ".copilot" / "extensions" / "yourcall" / "extension.mjs"

    def mcp_server(self) -> None:
        """The kit's MCP server, as `demo`: `demo-add_ticket`, `demo-book_table`, `demo-link_account`."""
        server = {"type": "local", "command": sys.executable, "args": [str(MCP_SERVER)], "tools": ["*"]}
        (self.path / ".copilot" / "mcp-config.json").write_text(json.dumps({"mcpServers": {"demo": server}}))

    def records(self) -> list[Path]:
        return sorted((self.path / ".copilot" / "session-state").glob("*/events.jsonl"))

    def events(self) -> list[dict[str, Any]]:
        """What the CLI has written of its sessions."""
        lines = [line for path in self.records() for line in path.read_text().splitlines()]
        return [json.loads(line) for line in lines]


class Copilot:
    """One running CLI."""

    def __init__(self, pane: Pane, home: CopilotHome) -> None:
        self.terminal, self.home = pane, home

    @property
    def pid(self) -> int:
        return self.terminal.pid

    def screen(self) -> str:
        return self.terminal.screen()

    def wait_screen(self, words: str) -> str:
        until(lambda: self.terminal.shows(words), every=0.05, what=f"{words!r}", show=self.screen)
        return self.screen()

    def wait_gone(self, words: str) -> None:
        until(lambda: not self.terminal.shows(words), every=0.05, what=f"no {words!r}", show=self.screen)

    def consent(self, key: str = "2") -> None:
        """The person's own word on the extension, at their desk; 2 is for good."""
        self.wait_screen(CONSENT)
        self.terminal.settle(0.3)
        self.terminal.key(key)
        self.wait_gone(CONSENT)

    def wait_ready(self) -> None:
        until(lambda: self.terminal.shows(STATUS_LINE), every=0.1, what="the input box", show=self.screen)
        self.terminal.settle(0.3)

    def say(self, words: str) -> None:
        self.wait_ready()
        self.terminal.text(words)
        until(lambda: self.terminal.shows(words), what=f"{words!r} in the input box", show=self.screen)
        self.terminal.settle(0.2)
        self.terminal.key("Enter")

    def press(self, *names: str) -> None:
        """One answer at the desk, after the screen has settled."""
        self.terminal.settle(0.3)
        self.terminal.key(*names)

    def children(self) -> list[int]:
        """The processes of extensions below it."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.pid), "-f", "extension_bootstrap"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [int(pid) for pid in found.stdout.split()]

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()


def start_copilot(
    where: Tmux,
    binary: Path,
    home: CopilotHome,
    model: ChatServer,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cols: int = 120,
    rows: int = 40,
) -> Copilot:
    known = {**environment(home, model, binary), **(env or {})}
    return Copilot(where.start([str(binary), *args], cwd=home.project, env=known, cols=cols, rows=rows), home)
