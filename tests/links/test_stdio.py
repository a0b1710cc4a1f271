"""Programs that we start and speak with over pipes: no deadlock, no half line, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop

from kit.poll import until
from kit.terminal import alive
from yourcall.links.stdio import process
from yourcall.links.stdio.process import PipedProcess

ENV = {"PATH": os.environ.get("PATH", os.defpath)}
MEGABYTE = b"x" * (1 << 20) + b"\n"


def on_loop(work: Callable[[], Awaitable[None]]) -> None:
    """On the loop that the daemon runs on."""

    async def limited() -> None:
        async with asyncio.timeout(60):
            await work()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(limited())


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def start(tmp_path: Path, argv: list[str]) -> PipedProcess:
    return PipedProcess.start(argv, ENV, tmp_path)


async def read(piped: PipedProcess, into: list[bytes]) -> None:
    async for line in piped.lines():
        into.append(line)


def test_two_full_pipes_do_not_stand_against_each_other(tmp_path: Path) -> None:
    """It writes 8 MB before it reads a byte, and we write 8 MB before we expect one."""
    talker = python(
        "import sys\n"
        "for _ in range(8): sys.stdout.write('y' * (1 << 20) + '\\n')\n"
        "sys.stdout.flush()\n"
        "for line in sys.stdin: print(len(line), flush=True)\n"
    )

    async def work() -> None:
        piped = start(tmp_path, talker)
        told: list[str] = []

        async def written(failure: str) -> None:
            told.append(failure)

        assert all(piped.send(MEGABYTE, written) for _ in range(8))
        lines = piped.lines()
        heard = [await anext(lines) for _ in range(16)]
        assert [len(line) for line in heard[:8]] == [1 << 20] * 8
        assert heard[8:] == [b"1048577"] * 8
        assert told == [""] * 8
        await piped.stop()
        assert [line async for line in lines] == []
        await piped.ended()

    on_loop(work)


def test_what_a_program_does_not_read_is_refused_in_time_and_told_as_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_QUEUED", 4 << 20)

    async def work() -> None:
        piped = start(tmp_path, ["sleep", "60"])
        told: list[str] = []

        async def written(failure: str) -> None:
            told.append(failure)

        taken = [piped.send(MEGABYTE, written) for _ in range(6)]
        assert taken == [True] * 3 + [False] * 3
        assert told == []
        await piped.stop()
        assert await piped.ended() == -signal.SIGTERM
        assert told == ["the session has ended"] * 3
        assert not piped.send(b"late\n", written)

    on_loop(work)


def test_a_line_beyond_all_measure_is_left_out_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LONGEST_LINE", 100_000)

    async def work() -> None:
        piped = start(tmp_path, ["sh", "-c", "echo one; head -c 300000 /dev/zero; echo; echo two; printf half"])
        heard: list[bytes] = []
        await read(piped, heard)
        assert await piped.ended() == 0
        assert heard == [b"one", b"two"]  # what has no end is no line

    on_loop(work)


def test_its_last_words_are_kept_and_never_block_it(tmp_path: Path) -> None:
    async def work() -> None:
        piped = start(tmp_path, ["sh", "-c", "head -c 3000000 /dev/zero >&2; echo 'so it ends' >&2; exit 3"])
        assert await piped.ended() == 3
        assert piped.last_words.endswith("so it ends")

    on_loop(work)


def test_a_program_that_leaves_something_behind_is_over_all_the_same(tmp_path: Path) -> None:
    """A child in its group is ended with it; one that left the group, and holds its output, is not waited for."""
    outside = (
        "setsid sh -c ': > left; exec sleep 600' & echo $! > outside; while ! [ -e left ]; do sleep 0.01; done"
    )
    code = f"{outside}; sleep 600 & echo $! > inside; echo said"

    async def work() -> None:
        piped = start(tmp_path, ["sh", "-c", code])
        heard: list[bytes] = []
        await read(piped, heard)
        assert await piped.ended() == 0
        assert heard == [b"said"]

    on_loop(work)
    inside, outside = (int((tmp_path / name).read_text()) for name in ("inside", "outside"))
    until(lambda: not alive(inside), what="the end of the child in its group")
    assert alive(outside)
    os.kill(outside, signal.SIGKILL)


def test_one_that_was_over_before_it_was_read_is_over_all_the_same(tmp_path: Path) -> None:
    """On a busy machine; what it left behind keeps its output open, and its session never ended."""
    leaves = python(
        "import os, subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(left.pid, flush=True)\n"
    )
    heard: list[bytes] = []

    def over(piped: PipedProcess) -> PipedProcess:
        os.waitid(os.P_PID, piped.pid, os.WEXITED | os.WNOWAIT)  # the loop stands still
        return piped

    async def work() -> None:
        piped = over(start(tmp_path, leaves))
        await read(piped, heard)
        await piped.ended()

    try:
        on_loop(work)
    finally:
        os.kill(int(heard[0]), signal.SIGKILL)


def test_stop_ends_even_what_does_not_want_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "ENDS_S", 0.3)

    async def work() -> None:
        piped = start(tmp_path, ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"])
        lines = piped.lines()
        assert await anext(lines) == b"deaf"
        await piped.stop()
        assert await piped.ended() == -signal.SIGKILL
        assert [line async for line in lines] == []

    on_loop(work)


HOLDER = """
import asyncio, os, sys, time
from pathlib import Path
from yourcall.links.stdio.process import PipedProcess

async def main():
    piped = PipedProcess.start(["sh", "-c", sys.argv[1]], dict(os.environ), Path.cwd())
    async for line in piped.lines():
        print(piped.pid, line.decode(), flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("deaf", [False, True])
def test_a_killed_daemon_leaves_no_orphan(tmp_path: Path, deaf: bool) -> None:
    """Killed with the program's input open, so nobody is left to end it: its watcher does."""
    ignore = "trap '' TERM; " if deaf else ""
    code = f"{ignore}sleep 600 & echo $!; while :; do sleep 1; done"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(alive, pids))
    finally:
        holder.kill()
        holder.wait(10)
        holder.communicate()
    until(lambda: not any(map(alive, pids)), what="the end of what the dead one had started")
