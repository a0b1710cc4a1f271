"""Start the real Codex against a scripted model: a fresh home, a private terminal, its app-server ended with it.

The rule it keeps: nothing is reached but the CODEX_HOME of the test; the app-server that a plain `codex` starts in
the background is found by the pid file in that home, and ended by that pid.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import until
from kit.terminal import alive
from yourcall.live_check import mcp_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kit.responses_server import ResponsesServer
    from kit.terminal import Pane, Tmux

MCP = Path(mcp_server.__file__)
SOCKET = "app-server-control/app-server-control.sock"
CONFIG = """model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
suppress_unstable_features_warning = true

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[model_providers.scripted]
name = "scripted"
base_url = "{base_url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
default_mode_request_user_input = true
request_permissions_tool = true

[mcp_servers.demo]
command = "{python}"
args = ["{mcp}"]

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects."{project}"]
trust_level = "trusted"
"""


@dataclass(frozen=True)
class CodexHome:
    """A home folder in which Codex starts without any first-run screen."""

    path: Path
    project: Path

    @classmethod
    def make(cls, folder: Path, model: ResponsesServer) -> CodexHome:
        home = cls(folder / "codex-user", folder / "codex-project")
        home.config.mkdir(parents=True)
        home.project.mkdir()
        told = {"base_url": model.base_url, "python": sys.executable, "mcp": MCP, "project": home.project}
        (home.config / "config.toml").write_text(CONFIG.format(**told))
        return home

    @property
    def config(self) -> Path:
        """CODEX_HOME."""
        return self.path / ".codex"

    @property
    def socket(self) -> Path:
        return self.config / SOCKET

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.path),
            "CODEX_HOME": str(self.config),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "SCRIPTED_KEY": "dummy",
        }

    def server_pid(self) -> int:
        """The background app-server of this home; 0 if there is none."""
        return self._background("daemon.pid")

    def _background(self, file: str) -> int:
        try:
            pid = json.loads((self.config / "app-server-daemon" / file).read_text())["pid"]
            known = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (OSError, ValueError, KeyError):
            return 0
        return pid if f"CODEX_HOME={self.config}".encode() in known else 0

    def kill_server(self) -> None:
        """End it as a crash would."""
        self._kill(self.server_pid())

    def close(self) -> None:
        """End what Codex has left running for this home; the updater first, it would start a server anew."""
        for file in ("daemon-updater.pid", "daemon.pid"):
            if pid := self._background(file):
                self._kill(pid)
        for link in (self.socket, self.config / "app-server-daemon/daemon-updater.sock"):
            if link.is_symlink():  # it leads out of this home, to a file that the killed server has left
                link.readlink().unlink(missing_ok=True)

    def _kill(self, pid: int) -> None:
        assert pid
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), what=f"the end of {pid}")

    def rollouts(self) -> list[Path]:
        return sorted(self.config.glob("sessions/**/*.jsonl"))


class Codex:
    """One running TUI."""

    def __init__(self, pane: Pane, home: CodexHome) -> None:
        self.terminal, self.home = pane, home

    def wait_ready(self) -> None:
        """Wait until the input box is there and the screen has settled."""
        self.terminal.wait_until(lambda screen: "›" in screen and "gpt-5.5" in screen.lower())
        self.terminal.settle(0.5)

    def say(self, words: str) -> None:
        """Wait for the input box, type, see the words there, and send them. A fast burst would be a paste."""
        self.wait_ready()
        self.terminal.text(words)
        self.terminal.wait_until(lambda _: self.terminal.shows(words))
        self.terminal.settle(0.4)
        self.terminal.key("Enter")

    def wait_dialog(self, words: str = "Would you like to run the following command?") -> str:
        self.terminal.wait_until(lambda _: self.terminal.shows(words))
        return self.terminal.settle(0.4)

    def wait_closed(self, words: str = "Press enter to confirm or esc to cancel") -> None:
        """The dialog is gone from the screen."""
        self.terminal.wait_until(lambda _: not self.terminal.shows(words))

    def press(self, *names: str) -> None:
        self.terminal.settle(0.4)
        self.terminal.key(*names)

    def close(self) -> None:
        if alive(self.terminal.pid):
            os.kill(self.terminal.pid, signal.SIGKILL)
            until(lambda: not alive(self.terminal.pid), what="the end of the TUI")


def start_codex(tmux: Tmux, binary: Path, home: CodexHome, *arguments: str, cols: int = 120) -> Codex:
    """Codex in the home's project, as a person starts it."""
    pane = tmux.start([str(binary), *arguments], cwd=home.project, env=home.env, cols=cols, rows=40)
    return Codex(pane, home)


def run_codex(binary: Path, home: CodexHome, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One of its other commands, to its end."""
    words: Sequence[str] = [str(binary), *arguments]
    return subprocess.run(
        words, env=home.env, cwd=home.project, capture_output=True, text=True, timeout=90, check=False
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
