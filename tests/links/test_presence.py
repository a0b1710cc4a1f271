"""The last sign of a person: a key that was typed, and nothing that an agent or yourcall does."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Tmux
from yourcall.links import processes
from yourcall.links.presence import Presence, last_read
from yourcall.links.screen.servers import Servers
from yourcall.model.sessions import Link, Session

# Reads a line at a time from its terminal, and says so; prints without being asked.
READER = "import sys\nprint('there', flush=True)\nfor line in sys.stdin: print('got', line.strip(), flush=True)"

LONG_AGO = 1_000_000_000


class Program:
    """A program on a pseudo-terminal whose last key was long ago."""

    def __init__(self) -> None:
        self.keyboard, terminal = pty.openpty()
        self.path = os.ttyname(terminal)
        self.process = subprocess.Popen(
            [sys.executable, "-c", READER],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        self._seen = b""
        self.waits_for(b"there")
        os.utime(self.path, (LONG_AGO, LONG_AGO))

    def waits_for(self, words: bytes) -> None:
        while words not in self._seen:
            self._seen += os.read(self.keyboard, 4096)

    def session(self) -> Session:
        pid = self.process.pid
        return Session("s1", "claude", "/x", pid=pid, pid_started=processes.started(pid))

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        os.close(self.keyboard)


@pytest.fixture
def program() -> Iterator[Program]:
    one = Program()
    yield one
    one.close()


def person_at(*sessions: Session) -> float:
    return uvloop.run(Presence(lambda: sessions, Servers()).person_at())


def test_a_key_is_a_sign_and_output_is_none(program: Program) -> None:
    assert last_read(program.process.pid) == LONG_AGO
    assert person_at(program.session()) == LONG_AGO, "it printed, and nobody is there"
    os.write(program.keyboard, b"hello\n")
    program.waits_for(b"got hello")
    # The kernel writes it down with up to eight seconds of patience.
    at = until(lambda: (at := person_at(program.session())) > LONG_AGO and at, what="the sign")
    assert time.time() - 30 < at <= time.time()


def test_another_process_under_the_same_number_is_nobody(program: Program) -> None:
    session = program.session()
    stale = Session("s1", "claude", "/x", pid=session.pid, pid_started="before")
    assert person_at(stale) == 0.0
    assert person_at(Session("s2", "claude", "/x")) == 0.0
    assert person_at() == 0.0


def test_a_program_without_a_terminal_has_no_keys() -> None:
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as sleeper:
        assert last_read(sleeper.pid) == 0.0
        sleeper.kill()
    assert last_read(0) == 0.0
    assert last_read(2**22 + 1) == 0.0


def test_a_clock_that_was_set_back_keeps_nobody_at_the_desk(program: Program) -> None:
    ahead = time.time() + 100_000
    os.utime(program.path, (ahead, ahead))
    assert last_read(program.process.pid) <= time.time()


def test_the_app_in_front_is_a_sign(program: Program) -> None:
    async def go() -> tuple[float, float]:
        presence = Presence(lambda: [program.session()], Servers())
        before = await presence.person_at()
        presence.in_front()
        return before, await presence.person_at()

    before, after = uvloop.run(go())
    assert before == LONG_AGO
    assert after > time.time() - 30


def test_a_tmux_that_is_stopped_hides_no_sign_elsewhere(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is to be told of a prompt waits for this look: it took three seconds for each session there."""
    monkeypatch.setattr("yourcall.links.presence.LOOK_S", 0.5)
    with Tmux() as tmux:
        pane = Drawn(tmp_path, {"a": "nothing"}, {}).start(tmux)
        link = Link("tmux", pane.id, str(tmux.socket))
        there = [Session(f"t{n}", "claude", "/x", links=(link,), seen_at=n) for n in range(1, 11)]
        server = int(tmux.run("display-message", "-p", "#{pid}"))

        async def look() -> float:
            servers = Servers()
            try:
                async with asyncio.timeout(15):
                    return await Presence(lambda: [*there, program.session()], servers).person_at()
            finally:
                await servers.close()

        os.kill(server, signal.SIGSTOP)
        try:
            assert uvloop.run(look()) == LONG_AGO
        finally:
            os.kill(server, signal.SIGCONT)
