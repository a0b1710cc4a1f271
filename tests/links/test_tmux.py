"""One real tmux server: looking and writing, and leaving no trace."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from kit.drawn import Drawn
from kit.poll import until
from kit.terminal import Ptys, Tmux
from yourcall.agents.kit.text import titled
from yourcall.links.screen.tmux import Failed, Gone, Look, distrusted, run
from yourcall.links.screen.tmux import Tmux as Link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = "".join(map(chr, range(0x20, 0x7F))) + "é日本😀\t\n~ $HOME #{pane_id} `x` \\ \\n \"'; %end 1 2 3\n"


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    assert shutil.which("tmux"), "install the package `tmux`"
    with Tmux() as server:
        yield server


def linked(tmux: Tmux) -> Link:
    return Link(str(tmux.socket))


def after_title(screen: str) -> str:
    return screen.partition("\x07")[2]


def test_what_is_written_arrives_byte_by_byte(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"a": "hé  \n\x1b[2mdim\x1b[0m"}, {})
    pane = drawn.start(tmux)
    long = "0123456789é\n" * 10_000

    async def act() -> None:
        link = linked(tmux)
        try:
            look = await link.look(pane.id)
            assert isinstance(look, Look)
            assert (look.pid, look.dead) == (pane.pid, False)
            assert titled(look.screen) == pane.variable("pane_title") != ""
            assert after_title(look.screen).split("\n") == ["hé", "\x1b[2mdim", *[""] * 38]
            assert await link.write(pane.id, EVERYTHING) is None
            assert await link.write(pane.id, "x\n", bracketed=True) is None
            assert await link.write(pane.id, long) is None
            assert tmux.run("list-buffers") == ""
        finally:
            await link.close()

    uvloop.run(act())
    meant = (EVERYTHING + "\x1b[200~x\n\x1b[201~" + long).encode()
    until(lambda: len(drawn.typed) >= len(meant))
    assert drawn.typed == meant


def test_neither_copy_mode_nor_synchronised_panes_divert_what_is_written(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"a": "here"}, {})
    pane = drawn.start(tmux)
    (tmp_path / "b").mkdir()
    beside = Drawn(tmp_path / "b", {"b": "there"}, {})
    tmux.run("split-window", "-t", pane.id, *beside.command)
    beside.wait()
    tmux.run("set-option", "-w", "-t", pane.id, "synchronize-panes", "on")
    tmux.run("copy-mode", "-t", pane.id)

    async def act() -> None:
        link = linked(tmux)
        try:
            assert await link.write(pane.id, "1") is None
        finally:
            await link.close()

    uvloop.run(act())
    until(lambda: drawn.typed)
    assert (drawn.typed, beside.typed) == (b"1", b"")
    assert pane.variable("pane_in_mode") == "1"


def test_the_persons_clients_notice_nothing(tmux: Tmux, tmp_path: Path) -> None:
    pane = Drawn(tmp_path, {"a": "here"}, {}).start(tmux)
    tmux.run("set-environment", "-t", "t0", "DISPLAY", "theirs")
    command = ["tmux", "-u", "-S", str(tmux.socket), "attach", "-t", "t0"]
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8", "DISPLAY": "theirs"}

    def seen() -> list[str]:
        size = pane.variable("window_width") + "x" + pane.variable("window_height")
        return [size, tmux.run("show-environment", "-t", "t0", "DISPLAY").strip()]

    with Ptys() as ptys:
        ptys.start(command, cwd=tmp_path, env=env, cols=90, rows=30)
        until(lambda: pane.variable("session_attached") == "1")
        ptys.start(command, cwd=tmp_path, env=env, cols=140, rows=50)
        until(lambda: pane.variable("session_attached") == "2")
        until(lambda: seen()[0] == "140x49")
        before = seen()

        async def act() -> None:
            link = linked(tmux)
            try:
                assert isinstance(await link.look(pane.id), Look)
                assert pane.variable("session_attached") == "2"
                assert seen() == before
            finally:
                await link.close()

        uvloop.run(act())
        until(lambda: pane.variable("session_attached") == "2")
        assert seen() == before


def test_who_types_into_a_pane_is_told_from_who_types_elsewhere(tmux: Tmux, tmp_path: Path) -> None:
    drawn = Drawn(tmp_path, {"a": "here"}, {})
    pane = drawn.start(tmux)
    (tmp_path / "b").mkdir()
    other = Drawn(tmp_path / "b", {"b": "there"}, {}).start(tmux)
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}
    with Ptys() as ptys:
        began = int(time.time())
        desk = ptys.start(["tmux", "-u", "-S", str(tmux.socket), "attach", "-t", "t0"], cwd=tmp_path, env=env)
        until(lambda: pane.variable("session_attached") == "1")
        desk.key("x")
        until(lambda: drawn.typed == b"x")

        async def act() -> None:
            link = linked(tmux)
            try:
                at = await link.last_typed(pane.id)
                assert isinstance(at, int)
                assert at >= began
                assert await link.last_typed(other.id) == 0
            finally:
                await link.close()

        uvloop.run(act())


def test_an_end_of_the_server_is_survived(tmux: Tmux, tmp_path: Path) -> None:
    async def act() -> None:
        link = linked(tmux)
        try:
            assert isinstance(await link.look("%0"), Gone)
            for number in range(2):
                (tmp_path / str(number)).mkdir()
                pane = Drawn(tmp_path / str(number), {"a": f"number {number}"}, {}).start(tmux)
                look = await link.look(pane.id)
                assert isinstance(look, Look), look
                assert f"number {number}" in look.screen
                assert isinstance(await link.look("%77"), Gone)
                tmux.run("kill-server")
                assert isinstance(await link.look(pane.id), Gone)
                assert isinstance(await link.write(pane.id, "1"), Gone)
                assert isinstance(await link.panes(), Gone)
        finally:
            await link.close()

    uvloop.run(act())


def test_only_a_socket_of_ones_own_is_talked_to(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        assert distrusted(path) == ""
        folder.chmod(0o777)
        assert "belong" in distrusted(path)
    assert "gone" in distrusted(str(folder / "none"))
    (folder / "file").touch()
    assert distrusted(str(folder / "file"))
    assert distrusted("relative/path")


def test_a_pane_is_named_by_its_number_alone(tmux: Tmux) -> None:
    async def act() -> None:
        link = linked(tmux)
        for name in ("%0;kill-server", "t0:0.0", "", "%-1"):
            assert isinstance(await link.look(name), Gone)
            assert isinstance(await link.write(name, "x"), Gone)
        await link.close()

    uvloop.run(act())


def over(pid: int) -> None:
    """Until it has ended; the loop stands still meanwhile and knows nothing of it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_a_tmux_that_ends_before_it_reads_its_input_has_typed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same error, at the short-lived one: it went up to whoever wanted to type."""
    (tmp_path / "tmux").write_text("#!/bin/sh\necho no server running >&2\nexit 1\n")
    (tmp_path / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    start = asyncio.create_subprocess_exec

    async def act(turns: int) -> object:
        async def started(*words: str, **how: Any) -> asyncio.subprocess.Process:
            process = await start(*words, **how)
            over(process.pid)
            for _ in range(turns):
                await asyncio.sleep(0)
            return process

        monkeypatch.setattr(asyncio, "create_subprocess_exec", started)
        return await asyncio.gather(run("/nowhere", ["load-buffer", "-"], b"1"), return_exceptions=True)

    for turns in range(6):
        (said,) = uvloop.run(act(turns))
        assert type(said) is Failed, (turns, said)


def test_sessions_come_and_go_while_panes_are_looked_at(tmux: Tmux, tmp_path: Path) -> None:
    """A client in control mode that attached at such a moment crashed tmux 3.3a within two seconds."""
    pane = Drawn(tmp_path, {"a": "here"}, {}).start(tmux)
    server = tmux.run("display-message", "-p", "#{pid}")

    async def act() -> list[Look | Gone]:
        async def churn() -> None:
            for _ in range(40):
                await run(str(tmux.socket), ["new-session", "-d", "true"])

        async def look() -> list[Look | Gone]:
            return [await linked(tmux).look(pane.id) for _ in range(40)]

        looks, *_ = await asyncio.gather(look(), churn(), churn())
        return looks

    assert all(isinstance(look, Look) for look in uvloop.run(act()))
    assert tmux.run("display-message", "-p", "#{pid}") == server
