"""Start the real Claude Code against a scripted model, type into it, and read what it leaves on disk.

The rule it keeps: the CLI sees a fresh home and a clean environment, and no key is typed before the screen it
is meant for has settled (a digit within about 50 ms of a dialog's appearing is ignored).
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.terminal import Pane, alive, squeezed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kit.model_server import ModelServer
    from kit.terminal import Ptys, Terminal, Tmux

API_KEY = "sk-ant-dummy"
COMPOSER = "❯\u00a0"  # the input box; a dialog's pointer is followed by a plain space
OLD_COMPOSER = ">\u00a0"  # 2.0.x
MANUAL = ("--permission-mode", "manual")  # the default mode, auto, asks nobody


def has_composer(screen: str) -> bool:
    return COMPOSER in screen or any(line.startswith(OLD_COMPOSER) for line in screen.splitlines())


@dataclass(frozen=True)
class ClaudeHome:
    """A home folder in which Claude Code starts without any first-run dialog."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, settings: Mapping[str, Any] | None = None) -> ClaudeHome:
        """A fresh home and a trusted, empty project below `folder`."""
        home = cls(folder / "home", folder / "project")
        home.config.mkdir(parents=True)
        home.temporary.mkdir()
        home.project.mkdir()
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        state = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "2.1.325",
            "numStartups": 5,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            "projects": {str(home.project): trusted},
        }
        (home.path / ".claude.json").write_text(json.dumps(state))
        if settings is not None:
            home.write_settings(settings)
        return home

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    @property
    def config(self) -> Path:
        return self.path / ".claude"

    @property
    def settings(self) -> Path:
        return self.config / "settings.json"

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        self.settings.write_text(json.dumps(settings, indent=2))

    def session_file(self, pid: int) -> Path:
        return self.config / "sessions" / f"{pid}.json"

    def session(self, pid: int) -> dict[str, Any]:
        """The session file of that process; {} while there is none, or while it is being written."""
        try:
            return json.loads(self.session_file(pid).read_text())
        except (OSError, ValueError):
            return {}

    def transcripts(self) -> list[Path]:
        """Every transcript, subagents' too (those lie in <session>/subagents/agent-<id>.jsonl)."""
        return sorted(self.config.glob("projects/**/*.jsonl"))

    def lines(self) -> list[dict[str, Any]]:
        """Every whole transcript line of every session."""
        return [line for transcript in self.transcripts() for line in jsonl(transcript)]

    def tool_result_lines(self, use_id: str | None = None) -> list[dict[str, Any]]:
        """The transcript lines that carry a tool result (of that call)."""
        return [
            line
            for line in self.lines()
            if line.get("type") == "user"  # an `api-request-blob` line repeats the message
            and isinstance(content := line["message"]["content"], list)
            and any(b.get("type") == "tool_result" and use_id in (None, b["tool_use_id"]) for b in content)
        ]


def jsonl(path: Path) -> Iterable[dict[str, Any]]:
    """The whole lines of a file that is still being written."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield json.loads(line)


class Claude:
    """One running CLI."""

    def __init__(self, terminal: Terminal, home: ClaudeHome) -> None:
        self.terminal, self.home = terminal, home

    @property
    def pid(self) -> int:
        return self.terminal.pid

    @property
    def alive(self) -> bool:
        return alive(self.pid)

    @property
    def session(self) -> dict[str, Any]:
        return self.home.session(self.pid)

    @property
    def status(self) -> str | None:
        return self.session.get("status")

    def wait_status(self, *wanted: str) -> str:
        """Wait until the session file says one of these."""
        got = until(lambda: (s := self.status) in wanted and s, what=f"status {wanted}", show=self._show)
        return str(got)

    def wait_ready(self) -> None:
        """Wait until the input box is there and the screen has settled."""
        until(lambda: self._at_rest() and self._known(), what="the input box", show=self._show)
        self.terminal.settle()

    def type(self, words: str) -> None:
        """Type into the input box and see it there. What is typed right after the start may be swallowed whole."""
        for patience in (4, 15):
            self.terminal.text(words)
            try:
                until(
                    lambda: self.terminal.shows(words),
                    patience,
                    what=f"{words!r} in the input box",
                    show=self._show,
                )
                return
            except AssertionError:
                if patience == 15 or self.terminal.shows(words[:4]):
                    raise

    def say(self, words: str) -> None:
        """Wait for the input box, type, see the words there, and send them."""
        self.wait_ready()
        self.type(words)
        self.terminal.key("Enter")

    def wait_dialog(self, words: str = "Do you want to proceed?") -> str:
        """Wait until a dialog with these words is up and takes keys; returns the screen."""
        until(lambda: self._dialog(words), what=f"a dialog {words!r}", show=self._show)
        return self.terminal.settle()

    def press(self, *names: str) -> None:
        """One answer at the desk, after the screen has settled."""
        self.terminal.settle()
        self.terminal.key(*names)

    def wait_gone(self) -> None:
        until(lambda: not self.alive, what=f"the end of claude ({self.pid})", show=self._show)

    def kill(self) -> None:
        """End it as a crash would."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait_gone()

    def hooks(self) -> list[int]:
        """The processes of our hook program that this CLI has started; only its own descendants are looked at."""
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            try:
                todo += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                if b"hook.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue  # it ended while we looked
        return found

    def end_hook(self, pid: int, number: int) -> None:
        assert pid in self.hooks()
        os.kill(pid, number)

    def _known(self) -> bool:
        """It has written its session file; 2.0.x never does."""
        return bool(self.session) or not (self.home.config / "sessions").is_dir()

    def _at_rest(self) -> bool:
        if isinstance(self.terminal, Pane):
            return has_composer(self.terminal.screen())
        return self.status == "idle" and COMPOSER.encode() in self.terminal.raw

    def _dialog(self, words: str) -> bool:
        if isinstance(self.terminal, Pane):
            screen = self.terminal.screen()
            return not has_composer(screen) and squeezed(words) in squeezed(screen)
        return self.status == "waiting" and self.terminal.shows(words)

    def _show(self) -> str:
        screen = self.terminal.screen() if isinstance(self.terminal, Pane) else self.terminal.seen()[-2000:]
        return f"{screen}\nsession file: {self.session}"


def environment(home: ClaudeHome, model: ModelServer) -> dict[str, str]:
    """All that the CLI may know: nothing of the person's own environment gets in."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CODE_TMPDIR": str(home.temporary),  # else it shares /tmp/claude-<uid> with the person's own
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def start_claude(
    where: Tmux | Ptys,
    binary: Path,
    home: ClaudeHome,
    model: ModelServer,
    *,
    args: Sequence[str] = MANUAL,
    env: Mapping[str, str] | None = None,
    cols: int = 120,
    rows: int = 40,
) -> Claude:
    """Claude Code in the home's project; it ends with the `Tmux` or `Ptys` it was started in."""
    known = {**environment(home, model), **(env or {})}
    command = [str(binary), *args]
    return Claude(where.start(command, cwd=home.project, env=known, cols=cols, rows=rows), home)
