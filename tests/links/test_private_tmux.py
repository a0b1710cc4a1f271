"""What is started in a private tmux gets its words as they were given."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import uvloop
from msgspec.structs import replace

from kit.poll import until
from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.session_spec import StartOptions
from yourcall.agents.spec import Agent
from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links import processes
from yourcall.links.private_tmux import server as private_tmux
from yourcall.links.private_tmux.server import PrivateSession
from yourcall.links.private_tmux.sessions import PrivateSessions
from yourcall.links.stdio.sessions import RUNS_ALREADY
from yourcall.model.prompts import Verdict
from yourcall.model.sessions import Link, Session
from yourcall.store.sqlite import Store
from yourcall.system.sockets import short_folder

TELLS = "import json, os, sys, time; p = sys.argv[1]; open(p + '.new', 'w').write(json.dumps(sys.argv[2:]));"
TELLS += "os.rename(p + '.new', p); time.sleep(600)"


@pytest.mark.parametrize("last", ["call f();", "a\\;", ";", "kill-server"])
def test_a_word_that_ends_with_a_semicolon_is_a_word(tmp_path: Path, last: str) -> None:
    """For tmux it ends a command, and what follows is the next one."""
    told = tmp_path / "told"
    argv = [sys.executable, "-S", "-c", TELLS, str(told), "one;", "two", last]
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    private = private_tmux.start(tmp_path, argv, env, tmp_path)
    assert isinstance(private, PrivateSession), private
    try:
        until(told.exists, what="its words")
        assert json.loads(told.read_text()) == ["one;", "two", last]
    finally:
        private_tmux.end(private.socket)


@pytest.fixture
def sleeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """Claude, as a program that does nothing and stays."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/sh")
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    assert CLAUDE.headless is not None
    return replace(CLAUDE, headless=replace(CLAUDE.headless, program=str(program)))


def test_a_session_whose_starter_left_is_looked_after(tmp_path: Path, sleeper: Agent) -> None:
    """It runs, and what it asks at its start must reach somebody."""
    folder = short_folder(tmp_path, "tmux")

    async def act(daemon: Daemon) -> list[str]:
        sessions = PrivateSessions(
            daemon.events, daemon.screens, daemon.started, {"claude": sleeper}.get, tmp_path
        )
        starting = asyncio.create_task(
            sessions.start("claude", StartOptions(str(tmp_path), "hello"), remote=False)
        )
        async with asyncio.timeout(60):
            while not list(folder.glob("claude-*")):  # noqa: ASYNC110 - what another program has done
                await asyncio.sleep(0.01)
            starting.cancel()
            await asyncio.wait([starting])
            while not daemon.loop.state.sessions:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await daemon.close()
        return [link.kind for session in daemon.loop.state.sessions.values() for link in session.links]

    store = Store.open(tmp_path / "yourcall.db")
    try:
        assert uvloop.run(act(Daemon(store, Config(), lambda: None, tmp_path))) == ["tmux"]
    finally:
        for left in folder.glob("claude-*"):
            private_tmux.end(left)
        store.close()


def test_a_session_that_two_go_on_with_at_once_has_one_terminal(tmp_path: Path, sleeper: Agent) -> None:
    """Both would write to one conversation, and do what was said twice."""
    folder = short_folder(tmp_path, "tmux")
    wish = StartOptions(str(tmp_path), "hello", resume="0b4d9c1e")

    async def act(daemon: Daemon) -> list[object]:
        sessions = PrivateSessions(
            daemon.events, daemon.screens, daemon.started, {"claude": sleeper}.get, tmp_path
        )
        both = [asyncio.create_task(sessions.start("claude", wish, remote=False)) for _ in range(2)]
        async with asyncio.timeout(60):
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            while not daemon.loop.state.sessions:  # noqa: ASYNC110 - what another program has done
                await asyncio.sleep(0.01)
        for each in both:
            each.cancel()
        await daemon.close()
        return [each.result() for each in done]

    store = Store.open(tmp_path / "yourcall.db")
    try:
        assert uvloop.run(act(Daemon(store, Config(), lambda: None, tmp_path))) == [RUNS_ALREADY]
        assert len(list(folder.glob("claude-*"))) == 1
    finally:
        for left in folder.glob("claude-*"):
            private_tmux.end(left)
        store.close()


def test_to_look_for_a_session_makes_no_home() -> None:
    with tempfile.TemporaryDirectory(prefix="yc-") as short:  # or its sockets would be in a folder elsewhere
        assert private_tmux.named(Path(short, "home"), "claude-abcd") is None
        assert not Path(short, "home").exists()


ENV = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


def session_in(tmp_path: Path, script: str) -> tuple[PrivateSession, Session]:
    """A program in a private tmux, and the session that it is."""
    private = private_tmux.start(tmp_path, ["/bin/sh", "-c", script], {**ENV, "HOME": str(tmp_path)}, tmp_path)
    assert isinstance(private, PrivateSession), private
    pid = int(private_tmux.tmux(private.socket, "list-panes", "-a", "-F", "#{pane_pid}").stdout)
    link = Link("tmux", private.pane, str(private.socket))
    return private, Session("s1", "claude", "/p", links=(link,), pid=pid, pid_started=processes.started(pid))


def stopped(tmp_path: Path, session: Session) -> Verdict:
    """What is said to who wants this session to end."""

    async def act(daemon: Daemon) -> Verdict:
        async with asyncio.timeout(60):
            return await daemon.private_sessions.stop(session)

    store = Store.open(tmp_path / "yourcall.db")
    try:
        return uvloop.run(act(Daemon(store, Config(), lambda: None, tmp_path)))
    finally:
        store.close()


def test_a_tmux_that_is_stopped_is_not_said_to_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wanted it to end waited for ever, and so did yourcall itself when it was to leave."""
    monkeypatch.setattr(private_tmux, "ANSWERS_S", 0.5)
    private, session = session_in(tmp_path, "exec sleep 600")
    server = int(private_tmux.tmux(private.socket, "display-message", "-p", "#{pid}").stdout)
    os.kill(server, signal.SIGSTOP)
    try:
        said = stopped(tmp_path, session)
        assert (said.result, private.socket.is_socket()) == ("refused", True), said
        assert not processes.gone(session.pid, session.pid_started)
        assert private_tmux.named(tmp_path, private.name) == private.socket
    finally:
        os.kill(server, signal.SIGCONT)
        private_tmux.end(private.socket)


def test_what_does_not_hear_that_its_terminal_closed_is_ended_too(tmp_path: Path) -> None:
    """It was told as ended, and ran on with nobody to see it."""
    _, session = session_in(tmp_path, f"trap '' HUP; touch '{tmp_path}/ready'; while :; do sleep 1; done")
    until((tmp_path / "ready").exists)
    try:
        assert stopped(tmp_path, session).result == "confirmed"
        assert processes.gone(session.pid, session.pid_started)
    finally:
        if not processes.gone(session.pid, session.pid_started):
            os.kill(session.pid, signal.SIGKILL)
