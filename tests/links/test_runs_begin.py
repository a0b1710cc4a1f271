"""A run in somebody's terminal is greeted while it begins: its program is there before its screen can be read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import socket
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import uvloop

from yourcall.daemon.config import Config
from yourcall.daemon.wiring import Daemon
from yourcall.links.pty.control_socket import About, Answer, Ask, ControlSocket, Written
from yourcall.links.pty.pane import Pty
from yourcall.links.pty.screen_copy import ScreenCopy
from yourcall.links.screen.tmux import Gone
from yourcall.store.sqlite import Store
from yourcall.system.sockets import short_folder


@contextlib.contextmanager
def served(home: Path, answers: Callable[[Ask, Answer], None]) -> Generator[Path]:
    """The door of a run called `one`."""
    folder = short_folder(home, "pty")
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    door, over = ControlSocket(folder / "one.pty", answers), threading.Event()

    def serve() -> None:
        while not over.is_set():
            ready = select.poll()
            for fd, wanted in door.watched():
                ready.register(fd, wanted)
            for fd, _ in ready.poll(20):
                door.happened(fd)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield folder / "one.pty"
    finally:
        over.set()
        serving.join()
        door.close()
        shutil.rmtree(folder)


def test_a_run_whose_screen_comes_late_is_looked_at_all_the_same(tmp_path: Path) -> None:
    assert shutil.which("tmux"), "install the package `tmux`"

    def answers(ask: Ask, answer: Answer) -> None:
        answer(About("one", "claude", "/p", 1.0, os.getpid(), seen=True))

    async def act(daemon: Daemon) -> list[tuple[str, str]]:
        folder = short_folder(tmp_path, "pty")
        await daemon.runs.look(folder)
        assert daemon.loop.state.sessions == {}, "nothing can be seen of it yet"
        shadow = ScreenCopy(folder, "one", 80, 24)
        try:
            async with asyncio.timeout(15):
                while not daemon.loop.state.sessions:
                    await daemon.runs.look(folder)
                    await asyncio.sleep(0.1)
            return [(link.kind, link.target) for s in daemon.loop.state.sessions.values() for link in s.links]
        finally:
            await daemon.close()
            shadow.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        with served(tmp_path, answers):  # its program has begun, and its shadow has not
            assert uvloop.run(act(Daemon(store, Config(), lambda: None, tmp_path))) == [("pty", "one")]
    finally:
        store.close()


def test_the_answer_to_one_who_left_is_not_taken_for_the_next_ones(tmp_path: Path) -> None:
    """It was: a key that the terminal had refused was told as pressed."""
    asked, left = threading.Event(), threading.Event()

    def answers(ask: Ask, answer: Answer) -> None:
        if ask.do == "about":
            asked.set()
            assert left.wait(10)
            answer(About("one", "claude", "/p", 1.0, os.getpid()))
        else:
            answer(Written("somebody is typing there this very moment"))

    async def act(path: Path) -> Gone | None:
        pty = Pty(str(path))
        asking = asyncio.create_task(pty.about())
        assert await asyncio.to_thread(asked.wait, 10)
        asking.cancel()
        await asyncio.wait([asking])
        left.set()
        try:
            return await pty.write("one", "y")
        finally:
            await pty.close()

    with served(tmp_path, answers) as door:
        assert uvloop.run(act(door)) == Gone("somebody is typing there this very moment")


def test_a_door_that_is_just_being_made_is_not_taken_away(tmp_path: Path) -> None:
    """Between its making and its opening a busy machine may look away; the run could never be reached then."""
    folder = short_folder(tmp_path, "pty")
    folder.mkdir(parents=True, mode=0o700)
    door = folder / "one.pty"
    begins = socket.socket(socket.AF_UNIX)
    begins.bind(str(door))  # and does not listen yet
    store = Store.open(tmp_path / "yourcall.db")
    try:
        daemon = Daemon(store, Config(), lambda: None, tmp_path)
        uvloop.run(daemon.runs.look(folder))
        assert door.exists()
        long_ago = time.time() - 60
        os.utime(door, (long_ago, long_ago))  # one that was killed, and leaves it behind
        uvloop.run(daemon.runs.look(folder))
        assert not door.exists()
    finally:
        begins.close()
        store.close()
        shutil.rmtree(folder)
