"""A run in somebody's terminal is greeted while it begins: its program is there before its screen can be read."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from yourcall.config import Config
from yourcall.links.door import About, Answer, Ask, Door
from yourcall.links.shadow import Shadow
from yourcall.sockets import short_folder
from yourcall.store.sqlite import Store
from yourcall.switchboard import Switchboard


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """Of a run whose program has begun, and whose shadow has not."""
    folder = short_folder(tmp_path, "pty")
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    about = About("one", "claude", "/p", time.time(), os.getpid(), seen=True)

    def asked(ask: Ask, answer: Answer) -> None:
        answer(replace(about, typed_at=0.0))

    door, over = Door(folder / "one.pty", asked), threading.Event()

    def serve() -> None:
        while not over.is_set():
            ready = select.poll()
            for fd, wanted in door.watched():
                ready.register(fd, wanted)
            for fd, _ in ready.poll(20):
                door.happened(fd)

    serving = threading.Thread(target=serve)
    serving.start()
    yield door
    over.set()
    serving.join()
    door.close()
    shutil.rmtree(folder)


def test_a_run_whose_screen_comes_late_is_looked_at_all_the_same(tmp_path: Path, door: Door) -> None:
    assert shutil.which("tmux"), "install the package `tmux`"
    assert door.watched()

    async def act(daemon: Switchboard) -> list[tuple[str, str]]:
        folder = short_folder(tmp_path, "pty")
        await daemon.runs.look(folder)
        assert daemon.state.sessions == {}, "nothing can be seen of it yet"
        shadow = Shadow(folder, "one", 80, 24)
        try:
            async with asyncio.timeout(15):
                while not daemon.state.sessions:
                    await daemon.runs.look(folder)
                    await asyncio.sleep(0.1)
            return [(link.kind, link.target) for s in daemon.state.sessions.values() for link in s.links]
        finally:
            await daemon.tmux.close()
            shadow.close()

    store = Store.open(tmp_path / "yourcall.db")
    try:
        daemon = Switchboard(store, Config(), lambda: None, tmp_path)
        assert asyncio.run(act(daemon)) == [("pty", "one")]
    finally:
        store.close()
