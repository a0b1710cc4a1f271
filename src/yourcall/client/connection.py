"""The way to the daemon: its Unix socket, or an address and a token.

Rule: a request is sent once; whether it may have been carried out is told by the kind of error.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from yourcall.client.messages import Interrupted, NotRunning, Refused
from yourcall.system.sockets import reach_unix

PATIENCE = 10.0  # a daemon that needs longer for a plain question is hung
NO_FEED = "yourcall does not offer its live feed; is it running?"
UNKNOWN = "this may or may not have been done."
LONGEST_SOCKET = 100  # a Unix socket's path has room for some 104 bytes


class Wire:
    """A daemon: the one in `home` (`$YOURCALL_HOME`, or `~/.yourcall`), or at `url` with a device's `token`."""

    def __init__(self, home: str | Path | None = None, *, url: str = "", token: str = "") -> None:
        told = home or os.environ.get("YOURCALL_HOME") or Path.home() / ".yourcall"
        self.home = Path(told).expanduser().absolute()
        self.url, self._token = url.rstrip("/"), token

    def call(self, method: str, path: str, body: object = None, timeout: float = PATIENCE) -> Any:
        """One request; its JSON. A reply that says no is `Refused`, unless it tells what became of an answer."""
        connection = self._connection(timeout)
        try:
            try:
                connection.connect()
            except OSError as error:
                where = self.url or self.home
                raise NotRunning(f"yourcall is not running ({where}). Start it with: yourcall up") from error
            headers = {"Content-Type": "application/json"} if body is not None else {}
            headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
            try:
                connection.request(method, path, None if body is None else msgspec.json.encode(body), headers)
                reply = connection.getresponse()
                line = reply.read()
            except (OSError, http.client.HTTPException) as error:
                raise Interrupted(f"The connection to yourcall broke ({error}); {UNKNOWN}") from error
        finally:
            connection.close()
        if reply.status >= 500:  # an error of its own, not a no; what it says is no JSON if it was just ending
            raise Interrupted(f"yourcall hit an internal error (HTTP {reply.status}); {UNKNOWN}")
        try:
            data: Any = json.loads(line or b"null")
        except ValueError as error:
            raise Interrupted(f"This is not how yourcall replies (HTTP {reply.status}); {UNKNOWN}") from error
        payload: dict[str, Any] = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        if reply.status >= 400 and "result" not in payload:
            raise Refused(str(payload.get("error") or f"HTTP {reply.status}"), reply.status)
        return cast(Any, data)

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if not self.url:
            return _Local(self.home, timeout)
        where = urlsplit(self.url)
        kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        return kind(where.netloc, timeout=timeout)

    def feed(self, after: int | None) -> Iterator[dict[str, Any]]:
        """The live feed until it breaks; `NotRunning` if it cannot be had."""
        from websockets.exceptions import ConnectionClosed, WebSocketException
        from websockets.sync.client import ClientConnection, connect

        try:
            with cast("ClientConnection", connect(**self.feed_at(after))) as feed:
                for message in feed:
                    yield json.loads(message)
        except ConnectionClosed:
            return
        except (OSError, WebSocketException) as error:
            raise NotRunning(NO_FEED) from error

    def feed_at(self, after: int | None) -> dict[str, Any]:
        """What a WebSocket library is told to open the live feed; on our own socket it is connected already."""
        base = self.url.replace("http", "ws", 1) if self.url else "ws://localhost"
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        payload: dict[str, Any] = {"additional_headers": headers, "proxy": None, "max_size": None}
        payload["uri"] = f"{base}/api/live" + ("" if after is None else f"?after={after}")
        return payload if self.url else {**payload, "sock": _reach(self.home, PATIENCE)}


class _Local(http.client.HTTPConnection):
    def __init__(self, home: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._home = home

    def connect(self) -> None:
        self.sock = _reach(self._home, float(self.timeout or PATIENCE))


def _reach(home: Path, timeout: float) -> socket.socket:
    """Connected, if possible without a change of folder: other threads of the program open files."""
    path = home / "api.sock"
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        return reach_unix(home, "api.sock", timeout)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    return connection
