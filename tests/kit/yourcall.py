"""yourcall itself, run as a person runs it: the installed command, a daemon of its own, a home of its own.

The rule it keeps: one instance per test, on a free port, reached only through the command, HTTP or the sockets.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.poll import PATIENCE_S, until

if TYPE_CHECKING:
    from kit.claude import ClaudeHome

HUNG_S = 2.1  # a little longer than `HUNG_S` in hook/hook.py
COMMAND = Path(sys.executable).with_name("yourcall")


def is_connected(pid: int) -> bool:
    """Has this command a connection to the daemon now?"""
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:"):
                return True
    return False


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Yourcall:
    """One instance: `with Yourcall(folder, claude_home) as yc: yc.ls()`."""

    def __init__(self, folder: Path, claude: ClaudeHome | None = None) -> None:
        self.home = folder / "yourcall"
        self._user = claude.path if claude else folder
        self._process: subprocess.Popen[bytes] | None = None
        # Off: no test lists processes that it did not start. One that turns it on limits it to its own tree.
        self.discovery = "off"

    def __enter__(self) -> Yourcall:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for keeper in (self.home / "keepers").glob("*.sock"):
            keeper.unlink()  # of a daemon that was killed: it ends without its socket, and its session with it

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self._user),
            "YOURCALL_HOME": str(self.home),
            "YOURCALL_DISCOVERY": self.discovery,
            "LANG": "C.UTF-8",
        }

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        return json.loads((self.home / "daemon.json").read_text())["url"]

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        assert self._process is None
        (self.home / "daemon.json").unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [str(COMMAND), "up", "--port", "0"],
            env=self.env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        until(self._listens, what="the daemon")

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the daemon ended with {self._process.returncode}"
        return (self.home / "daemon.json").exists()

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            assert self._process.wait(PATIENCE_S) == 0
            self._process = None

    def ended(self) -> int:
        """Its exit code, once somebody else has ended it."""
        assert self._process is not None
        code = self._process.wait(PATIENCE_S)
        self._process = None
        return code

    def kill(self) -> None:
        """End it as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._process = None

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def hang(self) -> None:
        """Let it stand still, for as long as it takes until hooks know that it does."""
        self.signal(signal.SIGSTOP)
        beat = self.home / "heartbeat"
        until(lambda: time.time() - beat.stat().st_mtime > HUNG_S, what="its heart to have stopped")

    def wake(self) -> None:
        """Let it go on, and be seen to."""
        woken = time.time()
        self.signal(signal.SIGCONT)
        beat = self.home / "heartbeat"
        until(lambda: beat.stat().st_mtime >= woken, what="its heart to beat")

    def run(self, *words: str, timeout: float = 150, typed: str | None = None) -> Said:
        """One command. An answer's proof is waited for longer than a person would: the machine may be busy."""
        if words[0] == "answer" and not {"--wait", "--no-wait"} & set(words):
            words = (*words, "--wait", f"{PATIENCE_S:g}")
        done = subprocess.run(
            [str(COMMAND), *words], env=self.env, cwd=self._user, capture_output=True, text=True,
            input=typed, stdin=None if typed is not None else subprocess.DEVNULL, timeout=timeout, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def as_hook(self, command: str, payload: dict[str, Any], agent_pid: int) -> None:
        """Call a hook as that agent would: through a shell, with the payload as its input."""
        subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(payload).encode(), check=True, timeout=PATIENCE_S,
            env={**self.env, "CLAUDE_PID": str(agent_pid), "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"},
        )  # fmt: skip

    def configure(self, text: str) -> None:
        """Start it anew with this `config.toml`."""
        self.stop()
        (self.home / "config.toml").write_text(text)
        self.start()

    def setup_claude(self, *cli: Path) -> None:
        said = self.run("setup", "claude", "--yes", *(word for path in cli for word in ("--cli", str(path))))
        assert said.code == 0, said

    def waiting(self) -> list[dict[str, Any]]:
        """All that is open: what `yourcall ls --json` prints, without the cost of a command for each look."""
        status, found = self.http("GET", "/api/prompts")
        assert status == 200, found
        return found

    def prompts(self) -> list[dict[str, Any]]:
        """The open prompts that ask something: not those that only say that the agent has stopped."""
        return [prompt for prompt in self.waiting() if prompt["kind"] not in ("ready", "problem")]

    def facts(self) -> list[str]:
        """The kinds of all facts in the log, in their order."""
        with closing(sqlite3.connect(f"file:{self.home / 'yourcall.db'}?mode=ro", uri=True)) as log:
            return [kind for (kind,) in log.execute("SELECT kind FROM log ORDER BY seq")]

    def pause(self, kind: str) -> dict[str, Any]:
        """The one open prompt of this kind, once there is one."""
        (found,) = until(lambda: [p for p in self.waiting() if p["kind"] == kind], what=f"a {kind} prompt")
        return found

    def show(self, prompt_id: str) -> dict[str, Any]:
        """What `yourcall show --json` prints."""
        status, found = self.http("GET", f"/api/prompts/{prompt_id}")
        assert status == 200, found
        return found

    def connect(self, name: str) -> socket.socket:
        """A connection to one of its Unix sockets, however deep its home lies."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE_S)
        try:
            folder = os.open(self.home, os.O_PATH)
            try:
                sock.connect(f"/proc/self/fd/{folder}/{name}")
            finally:
                os.close(folder)
        except BaseException:
            sock.close()
            raise
        return sock

    def http(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """One request on the user's own socket, without the cost of starting a command."""
        connection = HTTPConnection("localhost")
        try:
            connection.sock = self.connect("api.sock")
            connection.request(method, path, json.dumps(body) if body is not None else None)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    def wait_prompt(self, count: int = 1) -> dict[str, Any]:
        """The newest open prompt, once there are this many."""
        found = until(
            lambda: len(now := self.prompts()) == count and now,
            what=f"{count} open prompts",
            show=self.waiting,
        )
        return max(found, key=lambda prompt: prompt["opened_at"])

    def wait_state(self, prompt_id: str, *states: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            shown = self.show(prompt_id)
            return shown if shown["state"] in states else None

        return until(look, what=f"{prompt_id} to be {states}", show=lambda: json.dumps(self.show(prompt_id)))
