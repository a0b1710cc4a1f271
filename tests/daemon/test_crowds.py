"""The daemon's sockets against whoever only wants to sit there: everybody else is served as before."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect as websocket

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall

# Most that is kept of one kind of connection, and then some.
MANY = 520


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Yourcall(tmp_path) as running:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            yield running
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))


def place(yc: Yourcall) -> tuple[str, int]:
    where = urlsplit(yc.url)
    assert where.hostname
    assert where.port
    return where.hostname, where.port


def token(yc: Yourcall) -> str:
    said = yc.run("devices", "add", "phone", "--json")
    assert said.code == 0, said
    return said.json["token"]


def asked(yc: Yourcall, key: str) -> int:
    """One request of a device over TCP, on a connection of its own."""
    connection = HTTPConnection(*place(yc), timeout=60)
    try:
        connection.request("GET", "/api/prompts", headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    finally:
        connection.close()


def within_a_second(ask: Callable[[], int]) -> None:
    """The best of a few: a machine that is busy with something else is not what is looked at."""
    took: list[float] = []
    for _ in range(5):
        before = time.monotonic()
        assert ask() == 200
        took.append(time.monotonic() - before)
        if min(took) < 1:
            return
    raise AssertionError(f"it took {took} seconds")


def tap(yc: Yourcall) -> bytes:
    host, port = place(yc)
    return f"POST /api/tap HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000\r\n\r\n{{".encode()


def silence(_yc: Yourcall) -> bytes:
    return b""


def half_a_head(_yc: Yourcall) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: x\r\nX-More:"


@pytest.mark.parametrize("start", [tap, silence, half_a_head])
def test_strangers_who_take_their_time_keep_no_device_waiting(
    yc: Yourcall, start: Callable[[Yourcall], bytes]
) -> None:
    key = token(yc)
    with ExitStack() as opened:
        strangers = [opened.enter_context(socket.create_connection(place(yc), 60)) for _ in range(MANY)]
        for each in strangers:
            with suppress(OSError):  # it may have had to make room
                each.sendall(start(yc))
        within_a_second(lambda: asked(yc, key))
        within_a_second(lambda: yc.http("GET", "/api/status")[0])


def test_a_device_with_very_many_connections_keeps_no_other_one_out(yc: Yourcall) -> None:
    """And a feed that is followed is not cut off for it."""
    greedy, other = token(yc), token(yc)
    host, port = place(yc)
    head = f"GET /api/prompts HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {greedy}\r\n\r\n".encode()
    feed = websocket(
        f"ws://{host}:{port}/api/live", additional_headers={"Authorization": f"Bearer {other}"}, open_timeout=60
    )
    with feed, ExitStack() as opened:
        assert json.loads(feed.recv(60))["type"] == "hello"
        slow = f"POST /api/pair HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 9\r\n\r\n".encode()
        for number in range(MANY):
            each = opened.enter_context(socket.create_connection((host, port), 60))
            each.sendall(head + slow)  # answered, and then kept open
            if number < MANY - 20:
                assert each.recv(100).startswith(b"HTTP/1.1 200")
        within_a_second(lambda: asked(yc, other))
        assert yc.run("pause").code == 0
        until(lambda: "pause" in str(feed.recv(60)))


def test_processes_that_sit_on_our_own_socket_keep_no_command_waiting(yc: Yourcall) -> None:
    with ExitStack() as opened:
        for _ in range(MANY):
            opened.enter_context(yc.connect("api.sock")).sendall(b"GET /api/status HTTP/1.1\r\n")
        within_a_second(lambda: yc.http("GET", "/api/status")[0])


def test_heads_without_an_end_and_huge_ones_are_cut_off(yc: Yourcall) -> None:
    for line in (b"X-More: and more\r\n" * 1000, b"x" * 20_000, b"\r\n" * 5000):
        with socket.create_connection(place(yc), 60) as rude:
            rude.sendall(b"" if line.startswith(b"\r") else b"GET / HTTP/1.1\r\nHost: x\r\n")
            with pytest.raises(OSError):  # whichever it is: it is hung up on
                rude.sendall(line * 1000)
    assert yc.http("GET", "/api/status")[0] == 200


def test_the_daemon_may_open_more_files_than_it_was_started_with(tmp_path: Path) -> None:
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        with Yourcall(tmp_path) as running:
            limits = Path(f"/proc/{running.pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
    (line,) = [each for each in limits.splitlines() if each.startswith("Max open files")]
    assert int(line.split()[3]) == min(8192, most)


FEW_FILES = "ulimit -n 256 && exec %s up --port 0"


def test_with_few_files_and_no_more_to_be_had_there_is_room_all_the_same(tmp_path: Path) -> None:
    """The hard limit, too, is low: all sockets together leave files for the rest."""
    running = Yourcall(tmp_path)
    process = subprocess.Popen(["/bin/sh", "-c", FEW_FILES % COMMAND], env=running.env, stdout=subprocess.DEVNULL)
    try:
        until((running.home / "daemon.json").exists)
        with ExitStack() as opened:
            for _ in range(300):
                opened.enter_context(socket.create_connection(place(running), 60))
                for name in ("api.sock", "hook.sock"):
                    opened.enter_context(until(lambda name=name: connected(running, name)))
            within_a_second(lambda: running.http("GET", "/api/status")[0])
            (running.home / "rules.toml").write_text('[no]\ndo = "deny"\ncommand = "rm"\n')
            assert running.run("rules").code == 0
    finally:
        process.terminate()
        process.wait(60)


def connected(yc: Yourcall, name: str) -> socket.socket | None:
    try:
        return yc.connect(name)
    except BlockingIOError:  # more wait to be let in than the system lets wait
        return None
