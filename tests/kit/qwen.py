"""The real Qwen Code against a scripted model: a home of its own, a terminal of its own, no network but loopback.

with ChatServer() as model:
    words = model.script("touch", [shell("touch marker")], [text("Made it.")])
    qwen = start_qwen(tmux, qwen_bin, home, model)
    qwen.say(words)
    qwen.wait_dialog("Allow execution")
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.terminal import Pane, squeezed
from kit.turns import Block, tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kit.chat_server import ChatServer
    from kit.terminal import Terminal, Tmux

COMPOSER = "Type your message"
WAITS = "Waiting for user confirmation"


def shell(command: str, description: str = "Do it") -> Block:
    return tool("run_shell_command", command=command, description=description, is_background=False)


def ask(*questions: Mapping[str, Any]) -> Block:
    return tool("ask_user_question", questions=list(questions))


def question(text: str, header: str, *labels: str, several: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"About {label}"} for label in labels]
    return {"question": text, "header": header, "options": options, "multiSelect": several}


@dataclass(frozen=True)
class QwenHome:
    """A home folder in which Qwen Code starts without any first-run dialog."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, settings: Mapping[str, Any] | None = None) -> QwenHome:
        home = cls(folder / "home", folder / "project")
        (home.path / ".qwen").mkdir(parents=True)
        home.project.mkdir()
        known: dict[str, Any] = {
            "security": {"auth": {"selectedType": "openai"}},
            "tools": {"approvalMode": "default"},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "ui": {"hideTips": True, "enableFollowupSuggestions": False},
        }
        home.settings.write_text(json.dumps({**known, **(settings or {})}, indent=2))
        return home

    @property
    def settings(self) -> Path:
        return self.path / ".qwen" / "settings.json"


class Qwen:
    """One running CLI."""

    def __init__(self, terminal: Terminal, home: QwenHome) -> None:
        self.terminal, self.home = terminal, home

    @property
    def title(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.variable("pane_title")

    def screen(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.screen()

    def registered(self) -> dict[str, Any] | None:
        """What the CLI says of its process in its own registry."""
        for file in sorted((self.home.path / ".qwen" / "sessions").glob("*.json")):
            with contextlib.suppress(ValueError):
                found: dict[str, Any] = json.loads(file.read_text())
                if os.path.exists(f"/proc/{found.get('pid')}"):
                    return found
        return None

    def wait_ready(self) -> None:
        """Wait until the input box is empty and the screen has settled."""
        until(self._ready, 60.0, every=0.1, what="the input box", show=self.screen)
        self.terminal.settle(0.3)

    def say(self, words: str) -> None:
        """Wait for the input box, type, see the words there, and send them."""
        self.wait_ready()
        self.terminal.text(words)
        until(lambda: self.terminal.shows(words), what=f"{words!r} in the input box", show=self.screen)
        self.terminal.settle(0.2)
        self.terminal.key("Enter")

    def wait_dialog(self, words: str = WAITS) -> str:
        """Wait until a dialog with these words is up and the screen has settled; returns the screen."""
        until(lambda: squeezed(words) in squeezed(self.screen()), every=0.05, what=f"{words!r}", show=self.screen)
        return self.terminal.settle(0.2)

    def press(self, *names: str) -> None:
        """One answer at the desk, after the screen has settled."""
        self.terminal.settle(0.2)
        self.terminal.key(*names)

    def _ready(self) -> bool:
        return self.title.startswith("Qwen") and self.terminal.shows(COMPOSER)

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()


def environment(home: QwenHome, model: ChatServer) -> dict[str, str]:
    """All that the CLI may know: nothing of the person's own environment gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_MODEL": "scripted",
        "NO_UPDATE_NOTIFIER": "1",
    }


def start_qwen(
    where: Tmux,
    binary: Path,
    home: QwenHome,
    model: ChatServer,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cols: int = 120,
    rows: int = 40,
) -> Qwen:
    """Qwen Code in the home's project. It leads a process group (its pane's), with a child that does the work."""
    known = {**environment(home, model), **(env or {})}
    return Qwen(where.start([str(binary), *args], cwd=home.project, env=known, cols=cols, rows=rows), home)


def end_group(qwen: Qwen) -> None:
    """End it with its child: that one may outlive its terminal, and then takes no SIGTERM."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(qwen.terminal.pid, signal.SIGKILL)
