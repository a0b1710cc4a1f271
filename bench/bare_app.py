"""The floor: one Starlette app on our server stack that relays a request to a client and an answer to a hook.

The rule it keeps: it does the least that any program in our place must do, and nothing more. `disk` in a request
asks it to put what it got on disk first; nobody is checked, nothing is read, nothing is remembered.

    python bare_app.py FOLDER
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sqlite3
import sys
from pathlib import Path

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

home = Path(sys.argv[1])
held: dict[str, asyncio.StreamWriter] = {}
listeners: set[WebSocket] = set()
db = sqlite3.connect(home / "bare.db", isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = FULL")
db.execute("CREATE TABLE IF NOT EXISTS kept (data BLOB)")


def keep(data: bytes) -> None:
    """One row in one table; when this returns, it is on disk."""
    db.execute("INSERT INTO kept VALUES (?)", (data,))


async def hooked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """`ID SIZE\\n` and a payload: told to all clients, and held until it is answered."""
    name, size = (await reader.readline()).decode().split()
    payload = await reader.readexactly(int(size))
    keep(payload)
    held[name] = writer
    for each in listeners:
        await each.send_text(json.dumps({"id": name, "payload": payload.decode()}))


async def answer(request: Request) -> Response:
    body = await request.body()
    if "disk" in request.query_params:
        keep(body)
    writer = held.pop(request.path_params["name"])
    writer.write(body)
    writer.close()
    return Response()


async def ignore(request: Request) -> Response:
    await request.body()
    return Response("{}", media_type="application/json")


async def live(socket: WebSocket) -> None:
    await socket.accept()
    listeners.add(socket)
    with contextlib.suppress(WebSocketDisconnect):
        await socket.receive_text()
    listeners.discard(socket)


class Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets
        new = home / "listening.new"
        new.write_text(json.dumps({"port": sockets[0].getsockname()[1]}))
        new.rename(home / "listening.json")


async def main() -> None:
    routes = [
        Route("/answer/{name}", answer, methods=["POST"]),
        Route("/hook", ignore, methods=["POST"]),
        WebSocketRoute("/live", live),
    ]
    os.chdir(home)
    hooks = await asyncio.start_unix_server(hooked, "hook.sock")
    tcp = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=routes), loop="none", http="httptools", ws="websockets-sansio", lifespan="off",
        access_log=False, log_config=None, timeout_graceful_shutdown=1,
    )  # fmt: skip
    await Server(config).serve([tcp])
    hooks.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
