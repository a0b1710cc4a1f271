"""Uvicorn, tamed: our sockets, no signal handlers of its own, no access log (it would hold tokens and prompts).

Rule: a listener serves one app on sockets that were bound before; whoever started it also stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Generator, Sequence
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.extensions import Extension
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.frames import Frame

from yourcall.server.auth import KNOWN, PEER
from yourcall.system.connections import BACKLOG, Crowd, peer_of, share
from yourcall.system.peer import Peer

LARGEST_HEAD = 64 * 1024  # a browser with a thousand cookies sends less
HEAD_S = 20.0  # a phone on a bad line has sent a request's head by then; whoever has not is let go
BODY_S = 20.0  # and a small body too; a larger one has a second more for each SLOWEST bytes that came
SLOWEST = 1024  # bytes a second
UNREAD_S = 45.0  # whoever takes nothing of what we send for so long will not; a feed says farewell before that
MOST_AT_ONCE = 500  # connections; a person has a dozen devices with a few each, and each is an open file of ours
LEAVING_S = 1.0  # for replies that are on their way
LARGEST_COMPRESSED = 256 * 1024  # of one message that we send
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

    def connection(self) -> asyncio.Protocol:
        """For a connection that comes another way than by a socket of its own, once it listens."""
        kind: Any = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

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
    """HTTP with an end to everything that a stranger may begin: the head, the body, and the taking of a reply."""

    _head = 0  # bytes since the last whole request
    _body = 0  # those of them that are its body
    _in_head = True
    _begun = 0.0
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, crowd: Crowd, **named: Any) -> None:
        super().__init__(*args, **named)
        self._crowd = crowd

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        # Each request of this connection, and the WebSocket it may become, finds there who is at its other end.
        peer = Peer(transport.get_extra_info("socket"), self.server, self.client)
        self.app_state = {**self.app_state, PEER: peer}
        self._late = self.loop.call_later(HEAD_S, transport.close)
        self._guest = self._crowd.enter(peer_of(transport.get_extra_info("socket")), transport.abort)
        known = partial(self._crowd.know, self._guest)
        self.app = _telling(self.app, known)
        # Once it is a WebSocket we are not told of its end any more.
        self.ws_protocol_class = partial(Feed, gone=partial(self._crowd.leave, self._guest), known=known)  # pyright: ignore[reportAttributeAccessIssue]

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.leave(self._guest)
        self._in_time()
        self._unread = _stopped(self._unread)
        super().connection_lost(exc)

    def _in_time(self) -> None:
        self._late = _stopped(self._late)

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._late is None:  # the next request on a connection that was kept
            self._late = self.loop.call_later(HEAD_S, self.transport.close)
        self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        # Beside a body there are the lengths of its pieces and what follows the last: a few bytes for each piece.
        beside = self._head - self._body
        if beside > LARGEST_HEAD and (self._in_head or beside > 2 * LARGEST_HEAD + 16 * self._body):
            self.send_400_response("The head of this request is too long.")

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._in_time()
        self._begun, self._body = self.loop.time(), 0
        self._late = self.loop.call_later(BODY_S, self._look_at_body)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

    def _look_at_body(self) -> None:
        """Is it too slow? It is not, as long as it is we who do not read on."""
        left = self._begun + BODY_S + self._body / SLOWEST - self.loop.time()
        if left > 0 or self.flow.read_paused:
            self._late = self.loop.call_later(max(left, 1.0), self._look_at_body)
        else:
            self.transport.abort()

    def on_message_complete(self) -> None:
        self._in_time()
        self._head, self._body, self._in_head = 0, 0, True
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._in_time()
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        self._unread = self._unread or self.loop.call_later(UNREAD_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread = _stopped(self._unread)
        super().resume_writing()


class _Deflate(PerMessageDeflate):
    """Compression of what is not large: five megabytes would take a tenth of a second on the event loop. A message
    that is not compressed needs nobody's consent."""

    def encode(self, frame: Frame) -> Frame:
        return frame if len(frame.data) > LARGEST_COMPRESSED else super().encode(frame)


class _DeflateFactory(ServerPerMessageDeflateFactory):
    def process_request_params(
        self, params: Sequence[tuple[str, str | None]], accepted_extensions: Sequence[Extension]
    ) -> tuple[list[tuple[str, str | None]], PerMessageDeflate]:
        told, extension = super().process_request_params(params, accepted_extensions)
        extension.__class__ = _Deflate
        return told, extension


class Feed(WebSocketsSansIOProtocol):
    """A WebSocket, with an end to waiting for whoever does not read."""

    _unread: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, gone: Callable[[], None], known: Callable[[str], None], **named: Any) -> None:
        super().__init__(*args, **named)
        self.conn.available_extensions = [
            _DeflateFactory(
                server_max_window_bits=12, client_max_window_bits=12, compress_settings={"memLevel": 5}
            )
        ]
        self._gone = gone
        self.app = _telling(self.app, known)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()
        self._unread = _stopped(self._unread)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._unread = self._unread or self.loop.call_later(UNREAD_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread = _stopped(self._unread)
        super().resume_writing()


def _stopped(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _telling(app: Any, known: Callable[[str], None]) -> Any:
    """The app, which is told with each request how to say that its sender is known."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        scope[KNOWN] = known
        await app(scope, receive, send)

    return run


class _OnlyOurFaults(logging.Filter):
    """What strangers do wrong is not logged: it would hold their words, tokens too, and push our own lines out.
    A WebSocket that we refuse is our decision, not an error of the app."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR and "without completing handshake" not in record.getMessage()


def listener(app: Any, tls: ssl.SSLContext | None = None) -> Listener:
    logging.getLogger("uvicorn.error").addFilter(_ONLY_OUR_FAULTS)
    config = uvicorn.Config(
        app,
        loop="none",
        http=partial(Http, crowd=Crowd(share(MOST_AT_ONCE, 8))),  # pyright: ignore[reportArgumentType]
        ws=Feed,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws_max_size=LARGEST_WS_MESSAGE,
        ws_ping_interval=20,
        ws_ping_timeout=20,
    )
    config.load()
    config.ssl = tls  # uvicorn itself takes files, and could not be given a renewed certificate
    return Listener(config)


_ONLY_OUR_FAULTS = _OnlyOurFaults()


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
        sock.listen(BACKLOG)
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
    names = {name, f"{name}.local"}
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family == socket.AF_INET:
                names.add(each.address)
            elif each.family == socket.AF_INET6:
                names.add(f"[{each.address.partition('%')[0]}]")
    return names
