"""A sandbox for one agent: a fresh home, a scripted model on loopback, a private tmux and a private yourcall.

Rule: nothing of the person's own is reached, and nothing is left. The program sees a new environment with a home
that is empty but for what the check wrote, a key that is none, and the address of the model. The folder belongs to
a keeper, a child whose input we hold open: when we are gone, however that ended, it ends every process that
carries this folder in its environment, and removes the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from yourcall.agents.live_spec import LiveCheck, Place, Turns
from yourcall.agents.registry import CONNECTED
from yourcall.agents.setup_spec import Installed
from yourcall.cli.client import call
from yourcall.cli.instance import Problem
from yourcall.live_check import mcp_server
from yourcall.live_check.models.chat import ChatServer
from yourcall.live_check.models.generate import GenerateServer
from yourcall.live_check.models.messages import ModelServer
from yourcall.live_check.models.responses import ResponsesServer
from yourcall.live_check.terminal import Pane, Tmux
from yourcall.live_check.waiting import until

YOURCALL = [sys.executable, "-P", "-m", "yourcall.cli.main"]
SETUP_S = 60
ENDED_S = 5.0
# Wide and tall enough for every dialog; nobody looks at it.
COLUMNS, ROWS = 120, 40

MODELS: dict[str, Any] = {
    "messages": ModelServer,
    "responses": ResponsesServer,
    "chat": ChatServer,
    "generate": GenerateServer,
}


class Sandbox:
    """`with sandbox(spec, program) as box: box.start()`, for one kind of prompt."""

    def __init__(self, folder: Path, spec: LiveCheck, program: Installed, model: Any, tmux: Tmux) -> None:
        self.folder, self.spec, self.program, self.model, self.tmux = folder, spec, program, model, tmux
        self.home, self.yourcall = folder / "home", folder / "yc"
        self.project, temporary = folder / "shop", folder / "tmp"
        self.unconnected = ""  # why setup did not connect this version
        server = (sys.executable, "-I", str(Path(mcp_server.__file__)))
        self.place = Place(
            str(self.home),
            str(self.project),
            str(temporary),
            model.base_url,
            program.path,
            program.version,
            server,
        )

    @property
    def environment(self) -> dict[str, str]:
        """All that the program may know."""
        return {**self._usual, **self.spec.environment(self.place)}

    @property
    def _usual(self) -> dict[str, str]:
        return {
            # The program may need one beside it, such as the node that it runs with.
            "PATH": f"{os.path.dirname(self.program.path)}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.home),
            "TMPDIR": self.place.temporary,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
        }

    def prepare(self, *, trusted: bool, connected: bool) -> None:
        """A fresh home and a new project; `connected`: a yourcall that runs, and `yourcall setup` done."""
        for folder in (self.home, self.project, Path(self.place.temporary), self.yourcall):
            folder.mkdir(mode=0o700)
        git = ["git", "init", "-q", str(self.project)]
        with suppress(OSError):  # without git it is a folder
            subprocess.run(git, env=self._usual, check=False)
        wanted = self.spec.files if trusted else self.spec.untrusted
        assert wanted is not None
        for name, text in wanted(self.place).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if not connected:
            return
        # Nothing is looked for: what the check starts is told of by its hooks, or by name.
        (self.yourcall / "config.toml").write_text(f'[discovery]\nmode = "off"\n{self.spec.config(self.place)}')
        if wording := self._run("up", "--detach", "--port", "0", "--json"):
            raise Problem(f"In the sandbox, yourcall did not start: {wording}")
        if self.spec.agent in CONNECTED:  # a version that setup refuses is read from its screen
            wording = self._run("setup", self.spec.agent, "--yes", "--cli", self.program.path)
            self.unconnected = wording.rpartition("settings.json: ")[2].rpartition("hooks.json: ")[2]

    def _run(self, *words: str) -> str:
        """What this command complains of, if it fails."""
        env = {**self.environment, "YOURCALL_HOME": str(self.yourcall)}
        env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        command = [*YOURCALL, "--home", str(self.yourcall), *words]
        done = subprocess.run(
            command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SETUP_S, check=False,
        )  # fmt: skip
        return "" if done.returncode == 0 else done.stderr.strip()[-500:] or f"it ended with {done.returncode}"

    def start(self, *arguments: str, columns: int = COLUMNS, rows: int = ROWS) -> Pane:
        command = [self.program.path, *arguments]
        return self.tmux.start(command, cwd=self.project, env=self.environment, cols=columns, rows=rows)

    def watch(self, pane: Pane) -> None:
        """Tell yourcall of this pane: its first dialogs come before its hooks do."""
        body = json.dumps({"server": str(self.tmux.socket), "pane": pane.id, "agent": self.spec.agent})
        call(self.yourcall, "POST", "/api/panes", body=body)

    def script(self, name: str, turns: Turns) -> str:
        return self.model.script(name, *(list(turn) for turn in turns))

    def heard(self, text: str, *, tools: bool = False) -> int:
        """In how many requests the model was told this; `tools`: only in those that offer some."""
        bodies: list[dict[str, Any]] = [getattr(each, "body", each) for each in list(self.model.requests)]
        return sum(
            text in json.dumps(each) for each in bodies if each.get("tools") or not (tools and self.spec.tools)
        )

    def get(self, path: str) -> Any:
        return call(self.yourcall, "GET", path).data

    def post(self, path: str, body: Mapping[str, Any], patience: float) -> tuple[int, Any]:
        reply = call(self.yourcall, "POST", path, body=json.dumps(body), timeout=patience + 10)
        return reply.status, reply.data


@contextmanager
def sandbox(
    spec: LiveCheck, program: Installed, *, trusted: bool = True, connected: bool = True
) -> Generator[Sandbox]:
    folder = Path(tempfile.mkdtemp(prefix="yc-live-"))
    with _kept(folder), ExitStack() as stack:
        (folder / "tmux").mkdir(mode=0o700)
        model = stack.enter_context(MODELS[spec.model]() if spec.tools else ChatServer(tools=False))
        tmux = stack.enter_context(Tmux(folder / "tmux"))
        box = Sandbox(folder, spec, program, model, tmux)
        box.prepare(trusted=trusted, connected=connected)
        yield box


@contextmanager
def _kept(folder: Path) -> Generator[None]:
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "yourcall.live_check.sandbox", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C is not for it
        cwd="/",
    )
    assert keeper.stdin is not None
    try:
        yield
    finally:
        keeper.stdin.close()
        keeper.wait()


def _end_all(folder: str) -> None:
    """End every process of ours whose environment names this folder. Nobody else's can: it is new and random."""
    own = os.getpid()

    def there() -> list[psutil.Process]:
        processes: list[psutil.Process] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                values = process.environ().values()
                mine = any(folder in value for value in values) and process.pid != own
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
        return processes

    for ask in ("terminate", "kill"):
        for process in there():
            with suppress(psutil.Error):
                getattr(process, ask)()
        with suppress(AssertionError):
            until(lambda: not there(), ENDED_S, every=0.05)
            return


def keep(folder: str) -> None:
    """What the keeper does."""
    sys.stdin.buffer.read()
    _end_all(folder)
    for _ in range(3):  # a process may write its last lines while it is ended
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.2)


if __name__ == "__main__":
    keep(sys.argv[1])
