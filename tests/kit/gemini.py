"""The real Gemini CLI against a scripted model: a home of its own, a terminal of its own, no network but loopback.

with GeminiModel() as model:
    words = model.script("touch", [tool("run_shell_command", command="touch marker")], [text("Made it.")])
    gemini = start_gemini(tmux, gemini_bin, home, model)
    gemini.say(words)
    gemini.wait_dialog("Allow execution")
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.terminal import Pane, squeezed
from yourcall.agents.gemini.live_check import plans_folder
from yourcall.live_check.models.generate import GenerateServer as GeminiModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kit.terminal import Ptys, Terminal, Tmux

__all__ = ["Gemini", "GeminiHome", "GeminiModel", "end_group", "environment", "plans_folder", "start_gemini"]

COMPOSER = "Type your message"


@dataclass(frozen=True)
class GeminiHome:
    """A home folder in which Gemini CLI starts without any first-run dialog."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, settings: Mapping[str, Any] | None = None, *, trusted: bool = True) -> GeminiHome:
        home = cls(folder / "home", folder / "project")
        (home.path / ".gemini").mkdir(parents=True)
        home.project.mkdir()
        known: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "ui": {"theme": "Default"},
            "telemetry": {"enabled": False},
        }
        home.settings.write_text(json.dumps({**known, **(settings or {})}, indent=2))
        if trusted:
            home.trust_file.write_text(json.dumps({str(home.project): "TRUST_FOLDER"}))
        return home

    @property
    def settings(self) -> Path:
        return self.path / ".gemini" / "settings.json"

    @property
    def trust_file(self) -> Path:
        return self.path / ".gemini" / "trustedFolders.json"


class Gemini:
    """One running CLI."""

    def __init__(self, terminal: Terminal, home: GeminiHome) -> None:
        self.terminal, self.home = terminal, home

    @property
    def pid(self) -> int:
        return self.terminal.pid

    @property
    def title(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.variable("pane_title")

    def screen(self) -> str:
        assert isinstance(self.terminal, Pane)
        return self.terminal.screen()

    def wait_ready(self) -> None:
        """Wait until the input box is there and the screen has settled."""
        until(lambda: self.terminal.shows(COMPOSER), every=0.1, what="the input box", show=self._show)
        self.terminal.settle(0.3)

    def say(self, words: str) -> None:
        """Wait for the input box, type, see the words there, and send them."""
        self.wait_ready()
        self.terminal.text(words)
        until(lambda: self.terminal.shows(words), what=f"{words!r} in the input box", show=self._show)
        self.terminal.settle(0.2)
        self.terminal.key("Enter")

    def wait_dialog(self, words: str) -> str:
        """Wait until a dialog with these words is up and the screen has settled; returns the screen."""
        until(lambda: self._dialog(words), every=0.05, what=f"a dialog {words!r}", show=self._show)
        return self.terminal.settle(0.2)

    def press(self, *names: str) -> None:
        """One answer at the desk, after the screen has settled."""
        self.terminal.settle(0.2)
        self.terminal.key(*names)

    def made(self, name: str) -> bool:
        return (self.home.project / name).exists()

    def _dialog(self, words: str) -> bool:
        screen = self.screen()
        return COMPOSER not in screen and squeezed(words) in squeezed(screen)

    def _show(self) -> str:
        return self.screen() if isinstance(self.terminal, Pane) else ""


def environment(home: GeminiHome, model: GeminiModel) -> dict[str, str]:
    """All that the CLI may know: nothing of the person's own environment gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.base_url,
    }


def start_gemini(
    where: Tmux | Ptys,
    binary: Path,
    home: GeminiHome,
    model: GeminiModel,
    *,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cols: int = 120,
    rows: int = 40,
) -> Gemini:
    """Gemini CLI in the home's project. It leads a process group (its pane's), with a child that does the work."""
    known = {**environment(home, model), **(env or {})}
    command = [str(binary), *args]
    return Gemini(where.start(command, cwd=home.project, env=known, cols=cols, rows=rows), home)


def end_group(gemini: Gemini) -> None:
    """End it with its child, which a signal to the first process alone would leave behind."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(gemini.pid, number)
            until(lambda: not _anybody(gemini.pid), patience)
        except ProcessLookupError:
            return
        except AssertionError:
            continue


def _anybody(group: int) -> bool:
    """Is anybody left in this process group, whether or not the first one is?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
