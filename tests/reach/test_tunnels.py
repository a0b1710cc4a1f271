"""Tunnels: kept up by the daemon, ended with it however it ends, and led to where it really listens."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.poll import until
from kit.terminal import alive
from kit.yourcall import Yourcall
from yourcall.reach import way

if TYPE_CHECKING:
    from collections.abc import Iterator

# A tunnel that stays when its daemon is killed, as one does where the kernel can't be asked to end it.
STUBBORN = """#!{python}
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, 0)
with open({notes!r}, "a") as notes:
    notes.write(str(os.getpid()) + " " + " ".join(sys.argv[1:]) + chr(10))
signal.pause()
"""
PLAIN = """#!/bin/sh
echo $$ "$@" >> {notes!r}
exec sleep 600
"""


class Tunnel:
    """A stand-in for the program of a tunnel, which notes its process and its arguments at each start."""

    def __init__(self, folder: Path, script: str) -> None:
        self.notes = folder / "starts"
        self.program = folder / "tunnel"
        self.program.write_text(script.format(notes=str(self.notes), python=sys.executable))
        self.program.chmod(0o755)

    def starts(self) -> list[list[str]]:
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [line.split() for line in lines]

    def started(self, count: int) -> list[int]:
        """The processes, once there were this many."""
        return until(lambda: len(s := self.starts()) >= count and [int(words[0]) for words in s], what="a tunnel")

    def way(self, *arguments: str) -> way.Way:
        return way.Way("ssh", "https://call.example.net", keep_up=(str(self.program), *arguments))


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    made = Yourcall(tmp_path)
    made.home.mkdir(mode=0o700)
    yield made
    made.run("down", "--force")


def test_a_tunnel_ends_with_a_daemon_that_is_killed(yc: Yourcall, tmp_path: Path) -> None:
    tunnel = Tunnel(tmp_path, PLAIN)
    way.write(yc.home, tunnel.way())
    yc.start()
    (first,) = tunnel.started(1)
    yc.kill()
    until(lambda: not alive(first), what="the tunnel ends")


def test_a_tunnel_that_outlived_its_daemon_is_ended_by_the_next_start(yc: Yourcall, tmp_path: Path) -> None:
    tunnel = Tunnel(tmp_path, STUBBORN)
    way.write(yc.home, tunnel.way())
    yc.start()
    (first,) = tunnel.started(1)
    until(lambda: (yc.home / "reach.pid").exists())
    assert stat.S_IMODE((yc.home / "reach.pid").stat().st_mode) == 0o600
    yc.kill()
    assert alive(first)
    yc.start()
    second = tunnel.started(2)[1]
    assert not alive(first)
    yc.stop()
    until(lambda: not alive(second))
    assert not (yc.home / "reach.pid").exists()


def test_undo_ends_the_tunnel_of_a_daemon_that_was_killed(yc: Yourcall, tmp_path: Path) -> None:
    tunnel = Tunnel(tmp_path, STUBBORN)
    way.write(yc.home, tunnel.way())
    yc.start()
    (first,) = tunnel.started(1)
    until(lambda: (yc.home / "reach.pid").exists())
    yc.kill()
    done = yc.run("--port", "0", "reach", "--undo", "--yes")
    assert (done.code, alive(first)) == (0, False), done
    assert "Only this machine reaches yourcall now." in done.out


def test_another_process_with_the_noted_id_is_left_alone(yc: Yourcall, tmp_path: Path) -> None:
    """The id of a tunnel that ended may be somebody else's by now; the moment of its start tells them apart."""
    tunnel = Tunnel(tmp_path, STUBBORN)
    way.write(yc.home, tunnel.way())
    (yc.home / "reach.pid").write_text(f'{{"pid":{os.getpid()},"started":"1"}}')
    yc.start()
    tunnel.started(1)
    yc.stop()


def test_a_tunnel_leads_to_the_port_that_the_daemon_has(yc: Yourcall, tmp_path: Path) -> None:
    """The wished port is somebody else's, so the daemon takes the next one; the tunnel must not lead to them."""
    tunnel = Tunnel(tmp_path, PLAIN)
    way.write(yc.home, tunnel.way("-R", "127.0.0.1:17717:127.0.0.1:{port}"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        wished = other.getsockname()[1]
        assert yc.run("up", "--detach", "--port", str(wished)).code == 0
        port = yc.run("status", "--json").json["port"]
        assert port != wished
        tunnel.started(1)
        assert tunnel.starts()[0][1:] == ["-R", f"127.0.0.1:17717:127.0.0.1:{port}"]
        os.kill(yc.run("status", "--json").json["pid"], signal.SIGTERM)


def test_a_port_that_others_were_told_is_kept_or_said_to_be_lost(yc: Yourcall) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    way.write(yc.home, way.Way("proxy", "https://desk.example.net", port=port))
    assert yc.run("up", "--detach").code == 0
    assert yc.run("status", "--json").json["port"] == port  # without being asked for it
    yc.run("down")
    refused = yc.run("up", "--detach", "--port", str(port + 1))
    assert refused.code == 1
    assert f"leads to port {port}" in refused.err
    with socket.create_server(("127.0.0.1", port)):
        assert yc.run("up", "--detach").code == 0  # prompts are still answered here
        (step,) = yc.run("reach", "--status", "--json").json["steps"]
        assert not step["ok"]
        assert f"leads to port {port}, which another program has" in step["detail"]
