"""Whether a program has read what was written to it, with real processes and terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import uvloop

from kit.poll import until
from kit.terminal import Ptys, Tmux
from yourcall.agents.generic.agent import GENERIC_SCREEN
from yourcall.links.screen import typing
from yourcall.links.screen.ownership import SeenDialog
from yourcall.links.screen.tmux import Look
from yourcall.links.screen.tmux import Tmux as Link
from yourcall.links.terminals import in_front, stopped, unread_answer, unread_keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kit.terminal import Pty

RAW = "import tty, sys, os; tty.setraw(0); print('ready', flush=True); "
READS_WHEN_TOLD = RAW + "import signal; signal.sigwait({signal.SIGUSR1}); print(os.read(0, 9)); signal.pause()"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Pty]:
    """A program that reads one key when it gets SIGUSR1."""
    with Ptys() as ptys:
        code = "import signal; signal.pthread_sigmask(0, {signal.SIGUSR1}); " + READS_WHEN_TOLD
        program = ptys.start([sys.executable, "-c", code], cwd=tmp_path, env={"PATH": os.defpath})
        until(lambda: program.shows("ready"), what="the program")
        yield program


def test_a_key_is_unread_until_the_program_takes_it(slow: Pty) -> None:
    assert not unread_keys(slow.pid, slow.pid)
    slow.key("1")
    until(lambda: unread_keys(slow.pid, slow.pid), what="the key to arrive")
    assert unread_keys(slow.pid, slow.pid), "looking takes no key away"
    os.kill(slow.pid, signal.SIGUSR1)
    until(lambda: slow.shows("b'1'"), what="the program to read its key")
    assert not unread_keys(slow.pid, slow.pid)


def test_a_stopped_program_reads_nothing(slow: Pty) -> None:
    os.kill(slow.pid, signal.SIGSTOP)
    until(lambda: stopped(slow.pid), what="the stop")
    assert unread_keys(slow.pid, slow.pid)
    assert unread_keys(slow.pid), "without the agent's pid, the program in front counts"
    assert unread_answer(slow.pid)
    os.kill(slow.pid, signal.SIGCONT)
    until(lambda: not unread_keys(slow.pid, slow.pid), what="the end of the stop")


def test_a_hook_that_ended_is_unread_until_its_agent_notices() -> None:
    code = (
        "import subprocess, sys; child = subprocess.Popen(['true']); print(child.pid, flush=True); "
        "sys.stdin.readline(); child.wait(); print('noticed', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdout.readline()
        until(lambda: unread_answer(agent.pid), what="the end of the child")
        agent.stdin.write("\n")
        agent.stdin.flush()
        assert agent.stdout.readline() == "noticed\n"
        assert not unread_answer(agent.pid)
        agent.stdin.write("\n")
        agent.stdin.flush()


def test_what_cannot_be_known_counts_as_read() -> None:
    assert not unread_keys(0, 0)
    assert not unread_answer(0)


@pytest.mark.parametrize("reads", [False, True], ids=["unread", "ignored"])
def test_a_dialog_that_stands_after_a_key_was_ignored_only_if_the_key_was_read(
    tmp_path: Path, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program leaves its screen as it is, whether it reads the key or not."""
    monkeypatch.setattr(typing, "PATIENCE_S", 0.3)
    monkeypatch.setattr(typing, "UNREAD_S", 1.5)
    take = "os.read(0, 9); " if reads else ""
    with Tmux() as tmux:
        code = RAW + take + "import signal; signal.pause()"
        pane = tmux.start([sys.executable, "-c", code], cwd=tmp_path, env={"PATH": os.defpath})
        pane.wait_until(lambda screen: "ready" in screen)

        async def act() -> bool | None:
            server = Link(str(tmux.socket))
            try:
                look = await server.look(pane.id)
                assert isinstance(look, Look)
                before = GENERIC_SCREEN.read(look.screen)
                basis = SeenDialog(str(tmux.socket), pane.id, in_front(look.pid), before.reading, before.text)
                assert await server.write(pane.id, "1") is None
                return await typing.dialog_gone(server, basis, GENERIC_SCREEN, before, pane.pid)
            finally:
                await server.close()

        assert uvloop.run(act()) is (False if reads else None)
