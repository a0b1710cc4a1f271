"""What every scripted model on loopback has in common: scripts by name, pauses, and an end that waits for nobody.

The rule it keeps: what a model says follows from the conversation it is sent; a subclass knows how its API tells
that conversation. When the `with` block ends, every connection is closed and every thread is joined.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Generic, Self, TypeVar

from yourcall.live_check.waiting import PATIENCE_S

PICK = re.compile(r"\bDO ([a-z0-9_]+)\b")

S = TypeVar("S")
T = TypeVar("T")


class Scripted(Generic[S]):
    """`S` is one step of a turn. A person who says `DO name` starts the script of that name."""

    def __init__(self, exchange: type[Exchange], path: str = "") -> None:
        self.numbers = count(1)
        self._path = path
        self._scripts: dict[str, tuple[list[S], ...]] = {}
        self._released: set[str] = set()
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._closing = False
        self.spoke_at = 0.0  # when the last answer was whole
        self._http = _Http(("127.0.0.1", 0), exchange)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name=type(self).__name__)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            for connection in self._open:  # an idle keep-alive connection would hold its thread for ever
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}{self._path}"

    def script(self, name: str, *turns: list[S]) -> str:
        """Register a script; returns the words a person types to start it."""
        self._scripts[name] = turns
        return f"DO {name}"

    def release(self, name: str) -> None:
        """Let every answer that stands at `pause(name)` go on, now and later."""
        with self._changed:
            self._released.add(name)
            self._changed.notify_all()

    def wait_for(self, predicate: Callable[[Self], T], timeout: float = PATIENCE_S) -> T:
        """The first truthy value of `predicate(server)`, looked at after each request."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not (value := predicate(self)):
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() > deadline:
                    raise AssertionError(f"not within {timeout:g} s: {self.heard()}")
            return value

    def heard(self) -> object:
        """What a test that waits in vain shows."""
        return ""

    # What the connections' threads call.

    def took(self, requests: list[T], request: T) -> None:
        with self._changed:
            requests.append(request)
            self._changed.notify_all()

    def held_back(self, name: str | None) -> bool:
        """Wait a little at a pause (None: one without an end): True while the answer must still wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or name in self._released, timeout=0.5)
            if self._closing:
                raise ConnectionAbortedError
            return name not in self._released

    def keep(self, connection: socket.socket, is_open: bool) -> None:
        with self._changed:
            (self._open.add if is_open else self._open.discard)(connection)


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # `__exit__` ends every connection, so each thread is joined
    model: Any


class Exchange(BaseHTTPRequestHandler):
    """One connection; a subclass says what a POST means."""

    protocol_version = "HTTP/1.1"
    streamed = False
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self.server.model.keep(self.connection, True)

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the agent went away, or the test is over
            self.close_connection = True

    def finish(self) -> None:
        self.server.model.keep(self.connection, False)
        if self.streamed:
            self.server.model.spoke_at = time.time()
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None: ...

    def asked(self) -> dict[str, Any]:
        """The body of the request."""
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return json.loads(b"".join(parts) or b"{}")

    def reply(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin_stream(self) -> None:
        self.close_connection = self.streamed = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def data(self, value: object, event: str = "") -> None:
        named = f"event: {event}\n" if event else ""
        self.wfile.write(f"{named}data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()
