"""When the machine is short of something: what cannot be looked at is not called gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from kit.drawn import Drawn
from kit.terminal import Tmux
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links import processes
from yourcall.links.reconcile import Reconcile
from yourcall.links.screen import tmux as tmux_link
from yourcall.model.events import PromptRaised, SessionSeen
from yourcall.model.prompts import Option, Prompt, Question
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

BASH = (Path(__file__).parents[1] / "corpus/claude/bash-120x40/screen.txt").read_text()
ASKED = Question("decision", "May it?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


@contextlib.contextmanager
def no_file_can_be_opened() -> Generator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = os.dup(0)
    opened = [highest]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest + 200, before[0]), before[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.dup(0))
        yield
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_without_a_file_to_spare_no_session_is_called_gone(tmp_path: Path) -> None:
    me = Session("s1", "claude", "/p", pid=os.getpid(), pid_started=processes.started(os.getpid()))
    watched = Prompt(
        "p1", "permission", "claude", "s1", "/p", "x", time.time(), questions=(ASKED,), answerable=True
    )

    async def act(daemon: Daemon) -> tuple[list[str], list[str]]:
        await daemon.events.post(SessionSeen(time.time(), me))
        await daemon.events.post(SessionSeen(time.time(), replace(me, id="s2", agent="codex")))
        await daemon.events.post(PromptRaised(time.time(), watched))
        with no_file_can_be_opened():
            anew = Reconcile(
                daemon.events, {}.get, daemon.watches.watching, daemon.speaker.reaches, daemon.screens.shown,
                store.asked_at,
            )  # fmt: skip
            await anew.end_the_gone()
            end = time.monotonic() + 1.0
            while time.monotonic() < end:  # its watch looks twice before it says so
                await daemon.watches.last_look("s1")
                await asyncio.sleep(0.05)
        return sorted(daemon.loop.state.sessions), sorted(daemon.loop.state.prompts)

    store = Store.open(tmp_path / "yourcall.db")
    try:
        assert uvloop.run(act(Daemon(store, Config(), lambda: None))) == (["s1", "s2"], ["p1"])
    finally:
        store.close()


def test_who_is_gone_is_told_from_who_cannot_be_looked_at() -> None:
    me, began = os.getpid(), processes.started(os.getpid())
    assert not processes.gone(me, began)
    assert processes.gone(me, "another time")
    with no_file_can_be_opened():
        assert not processes.gone(me, began)
    over = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, over.pid, os.WEXITED | os.WNOWAIT)
    assert processes.gone(over.pid, began), "a process that has ended and was not fetched yet"
    over.wait()
    assert processes.gone(over.pid, began)


def test_a_tmux_that_is_silent_for_a_while_ends_no_session(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that only a screen told of was ended at the first silence, and nobody ever looked there again."""
    monkeypatch.setattr(tmux_link, "PATIENCE_S", 0.3)
    pane = Drawn(tmp_path, {"ask": BASH}, {}).start(tmux)
    server = int(tmux.run("display-message", "-p", "#{pid}").strip())

    async def act(daemon: Daemon) -> tuple[bool, list[str]]:
        seen = await daemon.speaker.watch(str(pane.tmux.socket), pane.id)
        assert isinstance(seen, Session)

        async def look_until(wanted: Callable[[], bool]) -> None:
            async with asyncio.timeout(60):
                while not wanted():
                    await daemon.screens.look_around()
                    await asyncio.sleep(0.02)

        def states() -> list[str]:
            return [prompt.state for prompt in daemon.loop.state.prompts.values()]

        try:
            await look_until(lambda: states() == ["open"])
            os.kill(server, signal.SIGSTOP)
            try:
                await look_until(lambda: states() != ["open"])
            finally:
                os.kill(server, signal.SIGCONT)
            await look_until(lambda: states() in (["open"], []))
            return list(daemon.loop.state.sessions) == [seen.id], states()
        finally:
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        assert uvloop.run(act(Daemon(store, Config(), lambda: None))) == (True, ["open"])
    finally:
        store.close()


def test_a_tmux_that_is_stopped_costs_no_file_for_each_question(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client hands its output to the server. While that one stood still, our end of it stayed open as well."""
    monkeypatch.setattr(tmux_link, "PATIENCE_S", 0.1)
    Drawn(tmp_path, {"a": "nothing"}, {}).start(tmux)
    server = int(tmux.run("display-message", "-p", "#{pid}"))

    def open_files() -> int:
        return len(os.listdir("/dev/fd"))

    async def ask(times: int) -> int:
        for _ in range(times):
            with pytest.raises(tmux_link.Silent):
                await tmux_link.run(str(tmux.socket), ["list-sessions"])
        return open_files()

    # On the daemon's loop: the other one would not even come back.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        os.kill(server, signal.SIGSTOP)
        try:
            first, last = runner.run(ask(1)), runner.run(ask(3))
        finally:
            os.kill(server, signal.SIGCONT)
    assert last <= first + 1


def test_a_tmux_that_is_stopped_keeps_no_dialog_elsewhere_waiting(
    tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, asks = tmp_path / "stopped", tmp_path / "asks"
    stopped.mkdir()
    asks.mkdir()
    quiet = Drawn(stopped, {"a": "nothing"}, {}).start(tmux)
    server = int(tmux.run("display-message", "-p", "#{pid}"))

    async def act(daemon: Daemon, other: Tmux) -> list[str]:
        try:
            assert isinstance(await daemon.speaker.watch(str(tmux.socket), quiet.id), Session)
            pane = Drawn(asks, {"ask": BASH}, {}).start(other)
            assert isinstance(await daemon.speaker.watch(str(other.socket), pane.id), Session)
            monkeypatch.setattr(tmux_link, "PATIENCE_S", 600.0)
            os.kill(server, signal.SIGSTOP)
            async with asyncio.timeout(60):
                while not daemon.loop.state.prompts:
                    await daemon.screens.look_around()
                    await asyncio.sleep(0.02)
            return [prompt.state for prompt in daemon.loop.state.prompts.values()]
        finally:
            os.kill(server, signal.SIGCONT)
            await daemon.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        with Tmux() as other:
            assert uvloop.run(act(Daemon(store, Config(), lambda: None), other)) == ["open"]
    finally:
        store.close()
