"""Whatever a stranger or a device begins on a connection has an end: a head, a body, the taking of a reply."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from server_house import House

from kit.poll import PATIENCE_S, until
from yourcall.server import listen, live

pytestmark = pytest.mark.long


@contextmanager
def dripping(talk: socket.socket, drop: bytes, every: float = 0.05) -> Iterator[None]:
    """Send this again and again while we look, until somebody hangs up."""
    done = threading.Event()

    def drip() -> None:
        try:
            while not done.wait(every):
                talk.sendall(drop)
        except OSError:
            pass

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def is_hung_up_on(talk: socket.socket) -> bool:
    talk.settimeout(PATIENCE_S)
    try:
        while talk.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


def head(house: House, more: str, path: str = "/api/tap") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: {house.host}\r\n{more}\r\n\r\n".encode()


def test_a_head_that_comes_byte_by_byte_has_an_end(shared: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "HEAD_S", 0.5)
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(b"GET / HTTP/1.1\r\nX-More: ")
        with dripping(talk, b"x"):
            assert is_hung_up_on(talk)


BODIES = {
    "silent": ("Content-Length: 1000", b""),
    "byte by byte": ("Content-Length: 1000", b"x"),
    "in pieces": ("Transfer-Encoding: chunked", b"1\r\nx\r\n"),
    "an endless length": ("Transfer-Encoding: chunked", b"0"),
}


@pytest.mark.parametrize("path", ["/api/tap", "/api/pair", "/api/prompts/p1/answer"])
@pytest.mark.parametrize("kind", BODIES)
def test_a_body_that_comes_too_slowly_has_an_end(
    shared: House, monkeypatch: pytest.MonkeyPatch, kind: str, path: str
) -> None:
    monkeypatch.setattr(listen, "BODY_S", 0.5)
    says, drop = BODIES[kind]
    key = f"\r\nAuthorization: Bearer {shared.token()}" if path.endswith("answer") else ""
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(head(shared, says + key, path))
        with dripping(talk, drop):
            assert is_hung_up_on(talk)


def test_a_body_that_goes_on_coming_is_waited_for(shared: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture from a phone on a bad line: slow, but not too slow."""
    monkeypatch.setattr(listen, "BODY_S", 0.3)
    monkeypatch.setattr(listen, "SLOWEST", 100)
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(head(shared, "Content-Length: 4000\r\nConnection: close"))
        for _ in range(40):
            talk.sendall(b" " * 100)
            time.sleep(0.05)  # the line is as slow as that
        talk.settimeout(PATIENCE_S)
        assert talk.recv(100).startswith(b"HTTP/1.1 400")  # read to its end: it is no JSON


def test_what_follows_a_body_has_an_end_too(shared: House) -> None:
    """After the last piece there may be more headers; they were collected without a limit."""
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(head(shared, "Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n")
        with pytest.raises(OSError):
            talk.sendall(b"X-More: and more\r\n" * 1_000_000)


def test_a_body_in_very_small_pieces_is_read(shared: House) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        pieces = b"".join(b"1\r\n%c\r\n" % letter for letter in b'{"a": "' + b"x" * 50_000 + b'"}')
        talk.sendall(head(shared, "Transfer-Encoding: chunked\r\nConnection: close") + pieces + b"0\r\n\r\n")
        talk.settimeout(PATIENCE_S)
        assert b"not as expected" in talk.recv(1000) + talk.recv(1000)


LIVE = "GET /api/live HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
LIVE += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
LIST = "GET /api/prompts HTTP/1.1\r\n"


@pytest.mark.parametrize("asks", [LIST, LIVE], ids=["a list", "a feed"])
def test_whoever_reads_nothing_of_what_is_sent_is_given_up(
    house: House, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    monkeypatch.setattr(listen, "UNREAD_S", 1.0)
    monkeypatch.setattr(live, "PATIENCE", 0.3)
    monkeypatch.setattr(live, "FAREWELL", 0.1)
    key = house.token()
    with socket.socket() as talk:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        talk.connect(("127.0.0.1", house.port))
        line = f"{asks}Host: {house.host}\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        if asks is LIVE:
            talk.sendall(line)
            until(lambda: b"hello" in talk.recv(1000, socket.MSG_PEEK))
        for number in range(100):
            house.ask(f"p{number}", json.dumps({"tool_input": {"command": "x" * 100_000}}).encode())
        if asks is LIST:
            talk.sendall(line * 20)
        until(lambda: house.port not in served(), what="the end of the connection")


def served() -> set[int]:
    """The ports of which some program here serves a connection, as the system has it."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(words[1].split(":")[1], 16) for words in lines if words[3] == "01"}
