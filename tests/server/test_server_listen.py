"""The listener: what a stranger may send before anybody knows who it is."""

from __future__ import annotations

import socket

import pytest
from server_house import House

from yourcall.server import listen
from yourcall.server.listen import LARGEST_HEAD

START = b"GET / HTTP/1.1\r\nHost: desk\r\n"


@pytest.mark.parametrize("endless", [b"X-More: and more\r\n" * 1000, b"x" * 16_000], ids=["headers", "one header"])
def test_a_head_without_an_end_is_cut_off(shared: House, endless: bytes) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(START + b"X-First: ")
        sent = 0
        try:
            while sent < 100 * LARGEST_HEAD:
                talk.sendall(endless)
                sent += len(endless)
        except OSError:
            pass  # hung up on, as it should be
        # What lies in the buffers of the two ends was sent before the other side had looked.
        assert sent < 100 * LARGEST_HEAD


def test_a_head_of_a_usual_size_and_many_requests_on_one_connection_are_served(shared: House) -> None:
    with shared.http() as stranger:
        for _ in range(2 * LARGEST_HEAD // 30_000 + 1):
            assert stranger.get("/", headers={"X-More": "x" * 30_000}).status_code == 200


def test_whoever_says_nothing_is_let_go(shared: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open connections are few: one that never asks for anything must not keep its place."""
    monkeypatch.setattr(listen, "HEAD_S", 0.3)
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        assert talk.recv(1) == b""
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(START)
        assert talk.recv(1) == b""


def test_a_request_that_takes_its_time_is_not_cut_off(shared: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for the head alone: a connection that was kept, and a feed that stays open, outlive it."""
    monkeypatch.setattr(listen, "HEAD_S", 0.2)
    with shared.http() as stranger, socket.create_connection(("127.0.0.1", shared.port), 10) as silent:
        assert stranger.get("/").status_code == 200
        assert silent.recv(1) == b""  # by now the limit is over, for whoever it concerns
        port = stranger.get("/").extensions["network_stream"].get_extra_info("client_addr")[1]
        assert stranger.get("/").extensions["network_stream"].get_extra_info("client_addr")[1] == port
