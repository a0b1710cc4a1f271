"""JSON-RPC 2.0 over a WebSocket: requests in, results and events out, on one connection.

Rule: as the specification has it, batches and notifications included; whatever comes in, the connection answers
with an error and goes on. Who may connect is the gate's matter, what may be done the methods'.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from yourcall.agents import jsonrpc
from yourcall.agents.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND
from yourcall.model.prompts import Refused
from yourcall.server import scopes
from yourcall.server.auth import CALLER
from yourcall.server.contracts.rpc.connection import Connection, Tools
from yourcall.server.contracts.rpc.method import BAD_PARAMS, REFUSED, Method, Wrong
from yourcall.server.contracts.rpc.methods import METHODS
from yourcall.server.devices import Devices
from yourcall.server.docs.openrpc import openrpc
from yourcall.server.live import FAREWELL, PATIENCE, RESYNC, REVOKED, why_cut
from yourcall.server.peers import author_of

log = logging.getLogger(__name__)

PARSE, OUR_FAULT = -32700, -32603
BUSY = -32005
# One starts a session, which takes a minute at worst; more than this at once is not a person.
MOST_AT_ONCE = 32
MOST_IN_BATCH = 50

# Methods that change nothing: an agent's processes may call these, too.
READING = frozenset(
    {"session/state", "session/list", "workspace/list", "workspace/session/watch", "workspace/session/unwatch"}
)

_encode = msgspec.json.Encoder().encode
_methods = {method.name: method for method in METHODS}

_Reply = dict[str, object]


def rpc(tools: Tools, devices: Devices) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint of `/api/rpc`."""

    async def endpoint(socket: WebSocket) -> None:
        caller = socket.scope[CALLER]
        line = Connection(tools, caller)
        with devices.present(caller.device_id) as cut:
            try:
                with suppress(WebSocketDisconnect):
                    await socket.accept()
                    code, why = await _serve(socket, line, cut)
                    if cut.is_set():
                        code, why = why_cut(devices, caller.device_id)
                    if code:
                        async with asyncio.timeout(FAREWELL):
                            await socket.close(code, why)
            except TimeoutError:
                pass
            finally:
                line.close()

    return endpoint


async def _serve(socket: WebSocket, line: Connection, cut: asyncio.Event) -> tuple[int, str]:
    """Until somebody leaves; the code and the reason to close with, if it is ours to close."""
    work: dict[asyncio.Future[Any], tuple[int, str]] = {
        asyncio.ensure_future(_write(socket, line)): (RESYNC, "resync"),
        asyncio.ensure_future(_changes(line)): (RESYNC, "resync"),
        asyncio.ensure_future(line.lagged.wait()): (RESYNC, "resync"),
        asyncio.ensure_future(cut.wait()): (REVOKED, "revoked"),
        asyncio.ensure_future(_read(socket, line)): (0, ""),
    }
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        first = done.pop()
        if (error := first.exception()) and not isinstance(error, TimeoutError | WebSocketDisconnect):
            raise error
        return work[first]
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


async def _write(socket: WebSocket, line: Connection) -> None:
    while True:
        message = await line.out.get()
        async with asyncio.timeout(PATIENCE):
            await socket.send({"type": "websocket.send", "text": _encode(message).decode()})


async def _changes(line: Connection) -> None:
    async with line.tools.desk.subscribe(None) as feed:
        async for change in feed:
            line.changed(change.prompt, change.session)


async def _read(socket: WebSocket, line: Connection) -> None:
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("text") or message.get("bytes") or ""
            if len(running) >= MOST_AT_ONCE:
                if (payload := _busy(data)) is not None:
                    line.send(payload)
                continue
            task = asyncio.ensure_future(_take(line, data))
            running.add(task)
            task.add_done_callback(running.discard)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _busy(data: str | bytes) -> object | None:
    """The no to a message that is not looked at: to each request of it, or its sender would wait for ever."""
    why = f"{MOST_AT_ONCE} requests are under way; wait for one of them."
    try:
        told: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return _error(None, BUSY, why)
    if isinstance(told, list):
        said = [_busy_one(each, why) for each in cast("list[Any]", told)[:MOST_IN_BATCH]]
        return [each for each in said if each is not None] or None
    return _busy_one(told, why)


def _busy_one(told: Any, why: str) -> _Reply | None:
    request = cast("dict[str, Any]", told) if isinstance(told, dict) else {"id": None}
    id: Any = request.get("id")
    return _error(id if _whole(id) else None, BUSY, why) if "id" in request else None


async def _take(line: Connection, data: str | bytes) -> None:
    """One message: a request, or a batch of them, served in its order."""
    try:
        told: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        line.send(_error(None, PARSE, "This is not JSON."))
        return
    if not isinstance(told, list):
        if (reply := await _one(line, told)) is not None:
            line.send(reply)
        return
    batch = cast("list[Any]", told)
    if not 0 < len(batch) <= MOST_IN_BATCH:
        line.send(_error(None, INVALID_REQUEST, f"A batch holds 1 to {MOST_IN_BATCH} requests."))
        return
    replies = [reply for each in batch if (reply := await _one(line, each)) is not None]
    if replies:
        line.send(replies)


async def _one(line: Connection, told: Any) -> _Reply | None:
    """The reply to one request; None for a notification, whatever becomes of it."""
    request = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    id: Any = request.get("id")
    name: Any = request.get("method")
    whole = _whole(id)
    if request.get("jsonrpc") != "2.0" or not isinstance(name, str) or not whole:
        return _error(
            id if whole else None, INVALID_REQUEST, 'A request is {"jsonrpc": "2.0", "method": …, "id": …}.'
        )
    done = await _run(line, name, request.get("params"))
    if "id" not in request:
        return None
    if isinstance(done, Wrong):
        return _error(id, done.code, done.message, done.result)
    return jsonrpc.stamped(jsonrpc.reply(id, done))


def _whole(id: Any) -> bool:
    return isinstance(id, str | int | float | None) and not isinstance(id, bool)


async def _run(line: Connection, name: str, given: Any) -> object | Wrong:
    if name == "rpc.discover":
        return openrpc()
    method = _methods.get(name)
    if method is None:
        return Wrong(METHOD_NOT_FOUND, f"There is no method {name[:80]!r}. What there is: rpc.discover")
    if not line.caller.may(method.scope):
        return Wrong(REFUSED, scopes.refusal(line.caller.by, line.caller.scopes, method.scope), "refused")
    params = _params(method, given)
    if isinstance(params, Wrong):
        return params
    if name not in READING:
        author = await author_of(line.tools.ties, line.caller, "answer, start, steer or stop sessions")
        if isinstance(author, Refused) or author.supervisor:
            why = (
                author.reason
                if isinstance(author, Refused)
                else "A supervisor agent answers with: yourcall answer"
            )
            return Wrong(REFUSED, why, "refused")
        line.certainty = author.certainty
    try:
        return await method.run(line, params)
    except Exception:  # ours: the client learns that it was, the log says why
        log.exception("%s failed", method.name)
        return Wrong(OUR_FAULT, "yourcall could not do this; its log says why (yourcall doctor shows where).")


def _params(method: Method, given: Any) -> Struct | Wrong:
    """By name, or by place in the order in which the document lists them."""
    if isinstance(given, list):
        places = cast("list[Any]", given)
        names = method.takes.__struct_fields__
        if len(places) > len(names):
            return Wrong(BAD_PARAMS, f"{method.name} takes at most {len(names)} parameters.")
        given = dict(zip(names, places, strict=False))
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return Wrong(BAD_PARAMS, "params must be an object or an array.")
    # What is null was not said.
    payload = {name: value for name, value in cast("dict[str, Any]", given).items() if value is not None}
    try:
        return msgspec.convert(payload, method.takes)
    except msgspec.ValidationError as error:
        return Wrong(BAD_PARAMS, f"The parameters are not as expected: {error}.")


def _error(id: Any, code: int, message: str, result: str = "") -> _Reply:
    data = {"result": result} if result else None
    return jsonrpc.stamped(jsonrpc.refusal(id, message, code, data))
