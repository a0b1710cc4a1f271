"""A yourcall of the demo's own: a daemon in a temporary home, for as long as somebody holds its input open.

Rule: it leaves nothing behind. The daemon is a child that owns the folder; when the demo is gone, however that
ended, the child sees its input closed, stops, and takes the folder with it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from yourcall.cli.place import Problem

START_S = 20.0  # half a second is usual
LEAVE_S = 10.0


@contextmanager
def lodging() -> Generator[Path]:
    """The home of a private daemon that listens."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "yourcall.demo.lodging"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    home: Path | None = None
    try:
        ready, _, _ = select.select([child.stdout], [], [], START_S)
        line = child.stdout.readline() if ready else b""
        if not line:
            child.kill()
            last = (child.stderr.read().decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise Problem(f"A private yourcall for the demo did not start: {last}")
        home = Path(os.fsdecode(line.rstrip(b"\n")))
        yield home
    finally:
        child.stdin.close()
        try:
            child.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
        child.stderr.close()
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """The child: stop when the input closes."""
    from yourcall.cli.launcher import install_launcher
    from yourcall.daemon import Listening, run

    def announce(_: Listening) -> None:
        sys.stdout.buffer.write(os.fsencode(home) + b"\n")
        sys.stdout.flush()
        threading.Thread(target=_stop_with_the_demo, daemon=True).start()

    home = Path(tempfile.mkdtemp(prefix="yourcall-demo-"))
    try:
        install_launcher(home)
        run(home, 0, announce=announce)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _stop_with_the_demo() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
