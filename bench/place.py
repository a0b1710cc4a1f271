"""Where everything runs: a temporary folder, and children that cannot outlive us.

The rule it keeps: however the bench ends, kill -9 included, no process stays; a folder that a killed run left is
swept by the next one.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
COMMAND = Path(sys.executable).with_name("yourcall")
PREFIX = "yc-bench-"
PATIENCE = 60.0

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Run in a child before its program: the kernel ends it when its parent is gone, however that went."""
    if _libc is not None:
        _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


@contextlib.contextmanager
def folder() -> Generator[Path]:
    root = Path(tempfile.gettempdir())
    for left in root.glob(f"{PREFIX}*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if left.owner() == Path.home().owner() and owner.isdecimal() and not _lives(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def clean(home: Path, **more: str) -> dict[str, str]:
    """An environment that knows nothing of the person's own."""
    known = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    return {**known, "YOURCALL_DISCOVERY": "off", **more}


def until(probe: Callable[[], Any], what: str, every: float = 0.001) -> None:
    end = time.monotonic() + PATIENCE
    while not probe():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {PATIENCE:g} s: {what}")
        time.sleep(every)


class Served:
    """A program of ours or of the other side that runs until the `with` ends; `file` appears once it listens."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], file: Path) -> None:
        self._command, self._env, self._file = [*command], dict(env), file
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self._file.read_text())

    def start(self) -> float:
        """Seconds from the start of the program until it listens."""
        self._file.unlink(missing_ok=True)
        began = time.perf_counter()
        self._process = process = subprocess.Popen(
            self._command,
            env=self._env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )

        def listens() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{self._command} ended with {process.returncode}")
            return self._file.exists()

        until(listens, f"{self._command} listens")
        return time.perf_counter() - began

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._process = None


class Yourcall(Served):
    """yourcall in a home of its own, as installed."""

    def __init__(self, at: Path, user: Path | None = None) -> None:
        self.home = at / "yourcall"
        self.env = clean(user or at, YOURCALL_HOME=str(self.home))
        super().__init__([str(COMMAND), "up", "--port", "0"], self.env, self.home / "daemon.json")
        self._token = ""

    @property
    def launcher(self) -> Path:
        return self.home / "hook"

    @property
    def hook_socket(self) -> Path:
        return self.home / "hook.sock"

    @property
    def port(self) -> int:
        return self.told["port"]

    @property
    def token(self) -> str:
        """The key of a paired device; made once."""
        if not self._token:
            self._token = json.loads(self.run("devices", "add", "bench", "--json"))["token"]
        return self._token

    def run(self, *words: str) -> bytes:
        done = subprocess.run(
            [str(COMMAND), *words],
            env=self.env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"yourcall {words}: {done.stderr.decode()}")
        return done.stdout


class Bare(Served):
    """The least that could do the same: one Starlette app on the same server stack (see bare_app.py)."""

    token = ""

    def __init__(self, at: Path) -> None:
        self.home = at / "bare"
        self.home.mkdir(parents=True, exist_ok=True)
        command = [PYTHON, str(ROOT / "bench" / "bare_app.py"), str(self.home)]
        super().__init__(command, clean(at), self.home / "listening.json")

    @property
    def hook_socket(self) -> Path:
        return self.home / "hook.sock"

    @property
    def port(self) -> int:
        return self.told["port"]
