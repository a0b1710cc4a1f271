"""Runs a command that a person gave for a session: in its folder, as one of the session's own processes.

Rule: what it runs may have been written by the agent (a test, a build file, a hook of git's). So it carries the
agent's mark before its first instruction, and can answer, allow and change nothing here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from msgspec import Struct

from yourcall.links.agent_processes.ties import Ties
from yourcall.model.sessions import Session

# The end of what it printed is what says why it failed.
MOST_KEPT = 64 << 10
# It does not begin before it is known as the agent's: it waits for a line of ours.
_GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@"', "sh")


class Ran(Struct, frozen=True):
    """`code`: as the shell knows it; None: it was ended, because it took too long. `output`: its end."""

    code: int | None
    output: bytes


async def run_as(
    ties: Ties,
    session: Session,
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    seconds: float,
) -> Ran:
    """An OSError if it can't be started. If we are stopped meanwhile, it is ended."""
    process = await asyncio.create_subprocess_exec(
        *_GATE,
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    kept = bytearray()
    code: int | None = None
    try:
        ties.adopt(session.id, process.pid)
        with contextlib.suppress(ConnectionError):
            process.stdin.write(b"\n")
            await process.stdin.drain()
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while part := await process.stdout.read(1 << 16):
                    kept += part
                    del kept[:-MOST_KEPT]
                code = await process.wait()
    finally:
        # All that it started, too; what has left its group is marked all the same.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            await process.wait()
    return Ran(code, bytes(kept))


def last_line(output: bytes) -> str:
    """What it said last, as one short line."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
