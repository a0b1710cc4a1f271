"""A yourcall of the demo's own: a daemon in a temporary home, for as long as the demo is there.

Rule: it leaves nothing behind. The folder belongs to a keeper, a child of ours whose input we hold open; when the
demo is gone, however that ended, the keeper reads the end of its input, stops the daemon and removes the folder.
Not sooner: somebody may well try `yourcall down` and `up` in the middle of the play.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from yourcall.cli.commands.daemon import STOP_PATIENCE, stop
from yourcall.cli.instance import Problem

YOURCALL = [sys.executable, "-P", "-m", "yourcall.cli.main"]


@contextmanager
def lodging() -> Generator[Path]:
    """The home of a private daemon that listens."""
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "yourcall.demo.lodging"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C at the desk is not for it
        cwd="/",
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    with keeper.stdout:
        try:
            home = keeper.stdout.readline().rstrip(b"\n")
            if not home:
                raise Problem("The demo's private yourcall did not start. Start one, then try again: yourcall up")
            yield Path(os.fsdecode(home))
        finally:
            keeper.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(STOP_PATIENCE + 10)


def keep() -> None:
    """What the keeper does."""
    home = Path(tempfile.mkdtemp(prefix="yc-demo-"))
    try:
        # The person's own sessions are no part of the play.
        (home / "config.toml").write_text('[discovery]\nmode = "off"\n')
        up = [*YOURCALL, "--home", str(home), "up", "--detach", "--port", "0", "--json"]
        if subprocess.run(up, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            sys.stdout.buffer.write(os.fsencode(home) + b"\n")
            sys.stdout.flush()
            sys.stdin.buffer.read()
        with suppress(Problem):
            stop(home, force=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    keep()
