"""A program behind its keeper outlives whoever speaks with it: nothing is lost, nothing is said twice."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvloop

from kit.poll import PATIENCE_S, until
from kit.terminal import alive
from yourcall.links.stdio import keeper
from yourcall.links.stdio.keeper_client import KeptProcess, kept

ENV = {"PATH": os.environ.get("PATH", os.defpath)}
ECHO = [
    sys.executable, "-I", "-S", "-c",
    "import sys\nfor line in sys.stdin: print('heard', line.strip(), flush=True)",
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home whose daemon is this process."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    lock = os.open(place / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.pwrite(lock, b"%d" % os.getpid(), 0)
    yield place
    os.close(lock)
    shutil.rmtree(place, ignore_errors=True)


def on_loop(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(limited())


async def start(home: Path, argv: list[str]) -> KeptProcess:
    return await KeptProcess.start(home, home / "keepers", b"about it", argv, ENV, home.parent)


async def cut_off(piped: KeptProcess) -> None:
    """As the system does when the daemon is killed."""
    piped._writer.transport.abort()  # pyright: ignore[reportPrivateUsage]
    await piped.ended()


async def meet(home: Path) -> KeptProcess:
    (name,) = kept(home / "keepers")
    return await KeptProcess.meet(home / "keepers", name)


def gone(pid: int) -> None:
    until(lambda: not alive(pid), what=f"the end of {pid}")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def own_kilobytes(pid: int) -> int:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith(("Private_Dirty", "Private_Clean")))


def test_what_was_not_dealt_with_is_told_again_and_nothing_else(home: Path) -> None:
    async def work() -> None:
        first = await start(home, ECHO)
        for number in range(3):
            assert first.send(b"line %d\n" % number, tag=f"answer {number}", state=b"state %d" % number)
        lines = first.lines()
        assert await anext(lines) == b"heard line 0"
        first.dealt_with(b"after the first", news=True)
        assert [await anext(lines) for _ in range(2)] == [b"heard line 1", b"heard line 2"]
        first.send(b"still here?\n", state=b"after the first")
        assert await anext(lines) == b"heard still here?"
        await cut_off(first)
        second = await meet(home)
        assert (second.pid, second.about, second.state) == (first.pid, b"about it", b"after the first")
        assert {second.taken_over[f"answer {number}"] for number in range(3)} == {"w"}
        again = second.lines()
        assert [await anext(again) for _ in range(3)] == [b"heard line 1", b"heard line 2", b"heard still here?"]
        second.dealt_with(b"all of it", news=True)
        second.send(b"more\n")
        assert await anext(again) == b"heard more"
        await second.stop()
        assert await second.ended() == -signal.SIGTERM
        gone(second.pid)
        until(lambda: not kept(home / "keepers"), what="the end of the keeper")

    on_loop(work)


def test_what_it_said_while_nobody_listened_is_there(home: Path) -> None:
    async def work() -> None:
        first = await start(home, ["sh", "-c", "seq 200000; echo why >&2; exit 7"])
        await cut_off(first)
        second = await meet(home)
        heard = [line async for line in second.lines()]
        assert heard == [b"%d" % number for number in range(1, 200_001)]
        assert (await second.ended(), second.last_words) == (7, "why")

    on_loop(work)


def test_a_line_it_does_not_read_is_not_called_written_and_is_known_to_the_next(home: Path) -> None:
    async def work() -> None:
        deaf = "import os, signal, time; signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b'seen\\n'));"
        ready = "os.write(1, b'ready\\n')\nwhile True: time.sleep(0.05)"
        first = await start(home, [sys.executable, "-I", "-S", "-c", deaf + ready])
        lines = first.lines()
        assert await anext(lines) == b"ready"
        assert first.send(b"x" * (1 << 20) + b"\n", tag="big", state=b"s")
        first.send(b"after\n", tag="after")
        first._say(b"K", bytes([signal.SIGWINCH]))  # pyright: ignore[reportPrivateUsage]
        assert await anext(lines) == b"seen", "so the keeper has read all of it"
        await cut_off(first)
        second = await meet(home)
        assert (second.taken_over["big"], second.taken_over["after"]) == ("q", "q")
        told: list[str] = []

        async def written(failure: str) -> None:
            told.append(failure)

        second.await_written("big", written)
        await second.stop()
        await second.ended()
        assert told == ["the session has ended"]

    on_loop(work)


def test_the_program_ends_with_its_keeper_and_with_its_home(home: Path) -> None:
    async def killed() -> None:
        piped = await start(home, ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
        keeper_pid = parent(piped.pid)
        os.kill(keeper_pid, signal.SIGKILL)
        await piped.ended()
        gone(piped.pid)

    on_loop(killed)
    for name in kept(home / "keepers"):
        (home / "keepers" / name).unlink()

    async def homeless() -> None:
        piped = await start(home, ["sleep", "600"])
        await cut_off(piped)
        shutil.rmtree(home / "keepers")
        gone(piped.pid)

    on_loop(homeless)


@contextmanager
def another(code: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_nobody_but_the_daemon_may_speak_with_it(home: Path) -> None:
    async def work() -> None:
        piped = await start(home, ECHO)
        (name,) = kept(home / "keepers")
        path = home / "keepers" / name
        assert path.stat().st_mode & 0o777 == 0o600
        stranger = (
            "import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(60);"
            f"s.connect({str(path)!r}); print(len(s.recv(100)))"
        )
        with another(stranger) as process:
            said, _ = await asyncio.to_thread(process.communicate)
        assert said == "0\n", "it was hung up on"
        piped.send(b"and we are heard still\n")
        assert await anext(piped.lines()) == b"heard and we are heard still"
        await piped.stop()
        await piped.ended()

    on_loop(work)


def test_a_process_of_the_programs_is_not_the_daemon_even_if_it_holds_the_lock(home: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert keeper.is_daemon(ours, str(home), ())
        assert not keeper.is_daemon(ours, str(home), (os.getppid(),)), "its ancestor is the program"
        assert not keeper.is_daemon(ours, str(home.parent), ()), "there is no lock"


def test_a_frame_that_was_cut_off_has_not_happened(home: Path) -> None:
    async def work() -> None:
        first = await start(home, ECHO)
        first.send(b"whole\n", tag="whole", state=b"one")
        assert await anext(first.lines()) == b"heard whole"
        head = keeper.UPDATE.pack(0, 3, 0)
        frame = keeper.HEAD.pack(b"U", 1000) + head + b"two" + b"half a li"
        first._writer.write(frame)  # pyright: ignore[reportPrivateUsage]
        await first._writer.drain()  # pyright: ignore[reportPrivateUsage]
        first._writer.close()  # pyright: ignore[reportPrivateUsage]
        second = await meet(home)
        assert (second.state, set(second.taken_over)) == (b"one", {"whole"})
        second.send(b"next\n")
        lines = second.lines()
        assert [await anext(lines) for _ in range(2)] == [b"heard whole", b"heard next"]
        await second.stop()
        await second.ended()

    on_loop(work)


def test_it_is_small(home: Path) -> None:
    async def work() -> None:
        piped = await start(home, ["sh", "-c", "seq 400000; sleep 600"])
        lines = piped.lines()
        while await anext(lines) != b"400000":
            pass
        keeper_pid = parent(piped.pid)
        own = own_kilobytes(keeper_pid)
        assert own < 12_000, f"{own} kB of its own"
        await piped.stop()
        await piped.ended()

    on_loop(work)
