"""A device's token does not help an agent's process on this machine, however it holds the connection."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kit.agent_world import REFUSED, TAKEN, World, tell
from kit.poll import until
from kit.yourcall import Yourcall

# Asks for a change with a token, from the given source address and by the given trick; writes down the status.
CLIENT = """
import ctypes, os, socket, sys, time
host, port, token, source, trick, out = sys.argv[1:7]
if trick == "unreadable":
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: nobody but root may look into its /proc
talk = socket.socket()
talk.bind((source, 0))
talk.connect((host, int(port)))
head = f"POST /api/pause HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nAuthorization: Bearer {token}\\r\\n"
head = f"{head}Content-Length: 0\\r\\nConnection: close\\r\\n".encode()
talk.sendall(head)
if trick == "in flight":
    # In a message that nobody has read yet, the connection is in no process's table of files.
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [talk.fileno()])
    talk.sendall(b"\\r\\n")
    talk.close()
    time.sleep(1)  # what the trick needs: it stays there while the daemon looks
    _, (number,), _, _ = socket.recv_fds(there, 1, 1)
    talk = socket.socket(fileno=number)
else:
    talk.sendall(b"\\r\\n")
reply = talk.makefile("rb").readline()
with open(out + ".new", "wb") as file:
    file.write(reply)
os.rename(out + ".new", out)
"""

OWN = [
    each.address
    for addresses in psutil.net_if_addrs().values()
    for each in addresses
    if each.family == socket.AF_INET and not each.address.startswith("127.")
]
SOURCES = ["127.0.0.1", "127.0.0.9", *OWN[:2]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Yourcall(tmp_path) as yc:
        world = World(tmp_path, yc)
        (tmp_path / "client.py").write_text(CLIENT)
        try:
            yield world
        finally:
            world.close()


def pauses(world: World, line: str, source: str, trick: str, name: str) -> int:
    """The status of what this process's child asks for."""
    token = world.yc.http("POST", "/api/devices", {"name": name, "scopes": ["read", "rules"]})[1]["token"]
    host, _, port = world.yc.url.removeprefix("http://").partition(":")
    out = world.folder / f"{uuid.uuid4().hex}.reply"
    runner = world.runner()
    if line == "agent":
        tell(runner, world.greeting(runner.pid, name))
        world.heard(name)
    tell(runner, f"{world.script('client')} {host} {port} {token} {source} '{trick}' {out}")
    until(out.exists, what="a reply")
    return int(out.read_text().split()[1])


@pytest.mark.parametrize("trick", ["", "in flight", "unreadable"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_stolen_token_opens_nothing_to_an_agent(world: World, source: str, trick: str) -> None:
    assert pauses(world, "agent", source, trick, "thief") == REFUSED
    assert not world.yc.http("GET", "/api/status")[1]["paused"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_persons_program_with_a_token_is_let_in(world: World, source: str) -> None:
    assert pauses(world, "person", source, "", "script") == TAKEN
    assert world.yc.http("GET", "/api/status")[1]["paused"]
