"""Uvicorn, tamed: our sockets, no signal handlers of its own, no access log (it would hold tokens and prompts).

Rule: a listener serves one app on sockets that were bound before; whoever started it also stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Generator
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.exceptions import InvalidState

LARGEST_HEAD = 64 * 1024  # a browser with a thousand cookies sends less
HEAD_S = 20.0  # a phone on a bad line has sent a request's head by then; whoever has not is let go
MOST_AT_ONCE = 500  # connections; a person has a dozen devices with a few each, and each is an open file of ours
LEAVING_S = 1.0  # for replies that are on their way
LARGEST_WS_MESSAGE = 64 * 1024  # clients send next to nothing on the live feed


class Listener(uvicorn.Server):
    """A uvicorn server as a task among others. It sleeps until it is told to leave, where uvicorn looks ten times
    a second whether it should, and leaves when the last reply is out, where uvicorn waits a tenth of one first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # the daemon owns the signals

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)  # sets the headers of every reply; none of them changes with time
        await self._leaving.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets  # are their servers'
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            with contextlib.suppress(InvalidState):  # a WebSocket that is being closed already
                connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(0.005)
        for task in state.tasks:
            task.cancel()

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    @cached_property
    def listening(self) -> asyncio.Event:
        return asyncio.Event()

    @cached_property
    def _leaving(self) -> asyncio.Event:
        return asyncio.Event()


class Http(HttpToolsProtocol):
    """HTTP with an end to what comes before a body: anybody may send that, and nobody else limits it."""

    _head = 0  # bytes since the last whole request
    _in_head = True
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_S, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._late is None:  # the next request on a connection that was kept
            self._late = self.loop.call_later(HEAD_S, self.transport.close)
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of this request is too long.")

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head, self._in_head = 0, True
        super().on_message_complete()


class _NoFalseAlarm(logging.Filter):
    """A WebSocket that we refuse is our decision, not an error of the app."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "without completing handshake" not in record.getMessage()


def listener(app: Any) -> Listener:
    logging.getLogger("uvicorn.error").addFilter(_NO_FALSE_ALARM)
    config = uvicorn.Config(
        app,
        loop="none",
        http=Http,
        ws="websockets-sansio",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_AT_ONCE,
        ws_max_size=LARGEST_WS_MESSAGE,
        ws_ping_interval=20,
        ws_ping_timeout=20,
    )
    return Listener(config)


_NO_FALSE_ALARM = _NoFalseAlarm()


def bind_tcp(host: str, port: int, tries: int = 20) -> socket.socket:
    """The wished-for port or, if it is taken, the next free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + tries - 1, 65535)
    for candidate in range(port, last + 1) if port else [0]:
        # The protocol is named so that asyncio, too, knows it for TCP and does not hold small replies back.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, candidate))
        except OSError as error:
            sock.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):  # the next port would not help
                raise OSError(f"it cannot listen on {host} ({error.strerror})") from error
            continue
        sock.listen(128)
        sock.setblocking(False)
        return sock
    raise OSError(f"no free port from {port} to {last} on {host}")


def hosts_for(bind: str, port: int, public_url: str) -> frozenset[str]:
    """The names under which a browser may ask for us; any other is somebody else's page (DNS rebinding)."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    if bind in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound: opened on purpose, by its own addresses
        names |= _own_addresses()
    else:
        names.add(f"[{bind}]" if ":" in bind else bind)
    hosts = {f"{name}:{port}" for name in names}
    if public_url:
        hosts.add(urlsplit(public_url).netloc.lower())
    return frozenset(hosts)


def _own_addresses() -> set[str]:
    """This machine's names and addresses, without asking anybody on the network."""
    import psutil

    name = socket.gethostname().lower()
    found = {name, f"{name}.local"}
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family == socket.AF_INET:
                found.add(each.address)
            elif each.family == socket.AF_INET6:
                found.add(f"[{each.address.partition('%')[0]}]")
    return found
