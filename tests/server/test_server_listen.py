"""The listener: what a stranger may send before anybody knows who it is."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import pytest
import uvloop
from server_house import House, heard
from websockets.exceptions import InvalidState, InvalidStatus
from websockets.sync.client import connect as websocket

from yourcall.server import listen
from yourcall.server.listen import LARGEST_HEAD, bind_tcp, listener

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


def test_nothing_that_a_stranger_sends_is_logged(shared: House, caplog: pytest.LogCaptureFixture) -> None:
    """An address may hold a token, however it is spelled; and whoever can write lines can push others out."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(InvalidStatus), websocket(f"ws://127.0.0.1:{shared.port}/api/live?t=yc%5fsecretsecret"):
        pass
    with shared.feed(token=shared.token()) as feed:
        heard(feed)
    with socket.create_connection(("127.0.0.1", shared.port), 10) as talk:
        talk.sendall(b"\x00 what is this\r\n\r\n")
        assert b"400" in talk.recv(100)
    assert [line.getMessage() for line in caplog.records if line.name.startswith("uvicorn")] == []


def test_a_head_of_a_usual_size_and_many_requests_on_one_connection_are_served(shared: House) -> None:
    with shared.http(shared.token()) as phone:
        for _ in range(2 * LARGEST_HEAD // 30_000 + 1):
            assert phone.get("/api/status", headers={"X-More": "x" * 30_000}).status_code == 200


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
    with shared.http(shared.token()) as phone, socket.create_connection(("127.0.0.1", shared.port), 10) as silent:
        assert phone.get("/api/status").status_code == 200
        assert silent.recv(1) == b""  # by now the limit is over, for whoever it concerns
        port = phone.get("/api/status").extensions["network_stream"].get_extra_info("client_addr")[1]
        assert phone.get("/api/status").extensions["network_stream"].get_extra_info("client_addr")[1] == port


async def asked_while_leaving(*, replies: bool) -> tuple[bytes, bool]:
    """What a client gets who is being served when the listener is told to leave, and if the app was cut off."""
    asked, reply, cut = asyncio.Event(), asyncio.Event(), False

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        nonlocal cut
        asked.set()
        try:
            await reply.wait()
        except asyncio.CancelledError:
            cut = True
            raise
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"done"})

    server, door = listener(app), bind_tcp("127.0.0.1", 0)
    serving = asyncio.ensure_future(server.serve([door]))
    await server.listening.wait()
    reader, writer = await asyncio.open_connection(*door.getsockname())
    writer.write(START + b"\r\n")
    await asked.wait()
    server.leave()
    while server.servers[0].is_serving():  # noqa: ASYNC110 - asyncio has no event for it
        await asyncio.sleep(0)
    if replies:
        for _ in range(50):  # it is late, but not too late
            await asyncio.sleep(0)
        reply.set()
    got = await reader.read()
    await serving
    writer.close()
    return got, cut


def test_a_reply_on_its_way_goes_out_before_we_leave() -> None:
    got, cut = uvloop.run(asked_while_leaving(replies=True))
    assert got.endswith(b"done")
    assert not cut


def test_nobody_can_keep_us_from_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "LEAVING_S", 0.05)
    got, cut = uvloop.run(asked_while_leaving(replies=False))
    assert cut
    assert b"200" not in got


def test_a_feed_that_is_being_closed_does_not_keep_us_from_leaving() -> None:
    """Between its other end's farewell and the end of its connection, uvicorn's own farewell raises this."""

    async def left() -> None:
        server, door = listener(lambda *_: None), bind_tcp("127.0.0.1", 0)

        class Closing:
            def shutdown(self) -> None:
                server.server_state.connections.discard(self)  # type: ignore[arg-type]
                raise InvalidState("connection is closing")

        serving = asyncio.ensure_future(server.serve([door]))
        await server.listening.wait()
        server.server_state.connections.add(Closing())  # type: ignore[arg-type]
        server.leave()
        await serving

    uvloop.run(left())
