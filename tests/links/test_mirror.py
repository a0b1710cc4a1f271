"""A session's pane, looked at from afar: a real tmux, its colours, its changes, and nobody else's screen."""

from __future__ import annotations

import asyncio
import shutil
import time
from typing import TYPE_CHECKING

import pytest
import uvloop

from kit.drawn import Drawn
from kit.terminal import Tmux
from yourcall.links.screen.mirror import Frame, Mirror
from yourcall.links.screen.servers import Servers
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Link, Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


def session(tmux: Tmux, pane: str, pid: int = 0) -> Session:
    return Session("s1", "claude", "/p", links=(Link("tmux", pane, str(tmux.socket)),), pid=pid)


def test_a_screen_comes_with_its_colours_and_again_when_it_has_changed(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"a": "one \x1b[31mred\x1b[0m", "b": "two"}, {("a", "x"): ["b"]})
    pane = drawn.start(tmux)

    async def act() -> None:
        servers = Servers()
        mirror, seen = Mirror(servers), session(tmux, pane.id, pane.pid)
        try:
            first = await mirror.frame(seen, "", 0)
            assert isinstance(first, Frame)
            assert first.screen.split("\n")[0] == "one \x1b[31mred"
            assert (first.columns, first.rows) == (
                int(pane.variable("pane_width")),
                int(pane.variable("pane_height")),
            )
            began = time.monotonic()
            same = await mirror.frame(seen, first.tag, 0.5)
            assert isinstance(same, Frame)
            assert same.tag == first.tag
            assert time.monotonic() - began >= 0.5
            waiting = asyncio.create_task(mirror.frame(seen, first.tag, 20))
            pane.text("x")
            after = await waiting
            assert isinstance(after, Frame)
            while "two" not in after.screen:
                after = await mirror.frame(seen, after.tag, 20)
                assert isinstance(after, Frame)
        finally:
            await servers.close()

    uvloop.run(act())


def test_nothing_is_shown_of_another_program_or_of_no_pane(tmux: Tmux, tmp_path: Path) -> None:
    pane = Drawn(tmp_path, {"a": "secret"}, {}).start(tmux)

    async def act() -> list[Frame | Refused]:
        servers = Servers()
        mirror = Mirror(servers)
        stranger = session(tmux, pane.id, 1)  # pid 1 is surely not in that pane
        nowhere = Session("s2", "claude", "/p")
        try:
            return [await mirror.frame(each, "", 0) for each in (stranger, session(tmux, "%99"), nowhere)]
        finally:
            await servers.close()

    for said in uvloop.run(act()):
        assert isinstance(said, Refused), said
