"""Talking to the daemon over the user's own Unix socket; standard library only.

Rule: whatever goes wrong here becomes a `Problem`, a sentence that says what to do. A request that may have
changed something is never sent twice.
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlencode

from yourcall.cli.instance import Instance, Problem
from yourcall.system.sockets import reach_unix

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

# A daemon that needs longer than this to answer a plain question is hung; say so instead of hanging with it.
PATIENCE = 10.0

# A brake does not wait for an engine that hangs.
MAY_S = 1.0


class NotRunning(Problem):
    """Nobody listens on the home's socket."""


class Interrupted(Problem):
    """The connection broke, or no answer came, after the request had been sent: it may have been carried out."""


class Reply(NamedTuple):
    status: int
    data: Any


def connect(home: Path, timeout: float | None = PATIENCE) -> socket.socket:
    """A connected socket, or the sentence that says why there is none."""
    try:
        return reach_unix(home, "api.sock", timeout)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
        raise NotRunning(f"yourcall is not running. Start it with: {Instance(home).command('up')}") from error
    except PermissionError as error:
        raise Problem(
            f"{home} belongs to another user. Run this as the user who started yourcall, or choose another"
            " home with --home."
        ) from error
    except (TimeoutError, BlockingIOError) as error:
        raise Problem(hung(home)) from error


NO_ROUTE = "There is nothing here."  # how the server begins when it has no such route
UPGRADED = "If yourcall was upgraded since it was started, restart it: yourcall down && yourcall up --detach"


def hung(home: Path) -> str:
    """The sentence for a daemon that takes connections and then says nothing."""
    place = Instance(home)
    return (
        "yourcall is running but does not answer. Restart it with:"
        f" {place.command('down --force')} && {place.command('up --detach')}"
    )


def peer_pid(connection: socket.socket) -> int:
    """The process at the other end of a Unix socket, from the kernel; 0 where it cannot tell."""
    with suppress(OSError, AttributeError):
        if sys.platform == "darwin":
            return struct.unpack("i", connection.getsockopt(0, 2, 4))[0]  # SOL_LOCAL, LOCAL_PEERPID
        return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return 0


class _Connection(http.client.HTTPConnection):
    def __init__(self, home: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._home = home

    def connect(self) -> None:
        self.sock = connect(self._home, self.timeout)


def call(
    home: Path,
    method: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: str | None = None,
    timeout: float = PATIENCE,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """One request to the daemon; its status and decoded JSON. Statuses are left to the caller."""
    target = path + ("?" + urlencode(query) if query else "")
    data = None if body is None else body.encode()
    connection = _Connection(home, timeout)
    try:
        connection.connect()
        kind = {"Content-Type": "application/json"} if data is not None else {}
        connection.request(method, target, data, {**kind, **(headers or {})})
        answer = connection.getresponse()
        raw = answer.read()
    except TimeoutError as error:
        raise Interrupted(hung(home)) from error
    except (OSError, http.client.HTTPException) as error:
        raise Interrupted("The connection to yourcall broke. See what it says: " + str(home / "log")) from error
    finally:
        connection.close()
    try:
        return Reply(answer.status, json.loads(raw) if raw else None)
    except ValueError as error:
        raise Interrupted(f"yourcall answered something that is not JSON (HTTP {answer.status}).") from error


def get(home: Path, path: str, *, query: Mapping[str, object] | None = None, timeout: float = PATIENCE) -> Any:
    """What a GET says; anything but a 200 becomes a Problem."""
    reply = call(home, "GET", path, query=query, timeout=timeout)
    if reply.status != 200:
        raise refusal(reply)
    return reply.data


def may(home: Path, what: str) -> None:
    """For commands that need no daemon: raises if one says that this process belongs to an agent. One that is not
    running, or hangs, says nothing."""
    try:
        reply = call(home, "POST", f"/api/may/{what}", timeout=MAY_S)
    except Problem:
        return
    if reply.status == 403:
        raise refusal(reply)


def refusal(reply: Reply) -> Problem:
    """The daemon's 'no' as a Problem; what a person typed wrong exits with 2, like any bad usage."""
    data: Any = reply.data
    text = str(cast("dict[str, Any]", data).get("error") or "") if isinstance(data, dict) else ""
    if text.startswith(NO_ROUTE):
        return Problem(f"There is nothing of this name. {UPGRADED}", 2)
    usage = reply.status in (400, 404, 413, 422)
    return Problem(text or f"yourcall refused this (HTTP {reply.status}).", 2 if usage else 1)


def live(home: Path, after: int | None, timeout: float = PATIENCE) -> ClientConnection:
    """The live feed, from just after a sequence number."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect as websocket

    url = "ws://localhost/api/live" + ("" if after is None else f"?after={after}")
    connection = connect(home, timeout)
    try:
        # No limit of our own on a message: it is the same user's daemon, and a prompt may hold a whole file.
        return websocket(url, sock=connection, proxy=None, open_timeout=timeout, max_size=None, compression=None)
    except (OSError, WebSocketException, TimeoutError) as error:
        connection.close()
        raise Problem("yourcall does not offer its live feed; is it shutting down?") from error
