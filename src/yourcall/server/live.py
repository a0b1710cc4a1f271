"""The live feed: every change, in order, to everybody who listens; and everything after N for who comes back.

Rule: a client that cannot keep up is told to come back (4008) with the last number it saw; our memory never
grows with its slowness. A revoked device hears nothing more (4001).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from yourcall.model.orders import OrderQueue
from yourcall.server.api.queue import queue_view
from yourcall.server.auth import CALLER, Caller, Refusal, refuse
from yourcall.server.devices import Devices
from yourcall.server.fleet.forward import seen_by
from yourcall.server.fleet.port import Fleet, FleetDoor
from yourcall.server.ports import Conversations, Feed, Orders, Prompts, RuleChanges, StoredRows
from yourcall.server.stream import Watched, stream
from yourcall.server.views import encoded, head_view, news
from yourcall.server.wire import Hello, PauseNews, QueueNews

REVOKED = 4001
RESYNC = 4008

# A message that was not taken for so long will not be: a phone in a tunnel, a stopped program.
PATIENCE = 30.0

# Sooner than a person looks from one screen to the other; one look is one `stat`.
BRAKE_S = 0.5

# What is left for a last word; after it the connection is dropped without one.
FAREWELL = 2.0

_encode = msgspec.json.Encoder().encode


def live(
    desk: Prompts,
    devices: Devices,
    conversations: Conversations | None = None,
    rules: RuleChanges | None = None,
    orders: Orders | None = None,
    fleet: FleetDoor | None = None,
) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint of `/api/live?after=SEQ`."""

    async def endpoint(socket: WebSocket) -> None:
        after = _after(socket)
        if isinstance(after, Refusal):
            await refuse(after, socket.scope, socket.receive, socket.send)
            return
        if after is not None and after > desk.store.last_seq:
            after = None  # a number from another time, before the database was replaced
        there = seen_by(fleet, devices, socket.scope[CALLER])
        if after is not None and there is not None and after < there.floor():
            after = None  # what other machines have said since then is not known one by one
        caller: Caller = socket.scope[CALLER]
        with devices.present(caller.device_id) as cut:
            async with desk.subscribe(after) as feed:
                paused = rules.paused if rules is not None else None
                hello = Hello(
                    desk.store.last_seq, after is None, paused, time.time(), head_view(desk.store.head())
                )
                with suppress(WebSocketDisconnect):
                    await socket.accept()
                    say, watched = _Subscriber(socket), Watched()
                    code, why = await _first(
                        _send(say, feed, hello, desk.store),
                        _left(socket, watched),
                        _cut(cut, devices, caller.device_id),
                        stream(say.patiently, watched, desk.store, conversations),
                        _brake(say, rules, paused),
                        _queues(say, orders),
                        _others(say, fleet, there, after),
                    )
                    if code:
                        with suppress(TimeoutError):  # who does not read does not hear why
                            async with asyncio.timeout(FAREWELL):
                                await socket.close(code, why)

    return endpoint


def _after(socket: WebSocket) -> int | Refusal | None:
    said = socket.query_params.get("after")
    if said is None:
        return None
    # SQLite counts to 2**63; eighteen digits stay below it.
    if said.isascii() and said.isdecimal() and len(said) <= 18:
        return int(said)
    return Refusal(400, "`after` must be the last `seq` you have seen.")


async def _send(say: _Subscriber, feed: Feed, hello: Hello, shelf: StoredRows) -> tuple[int, str]:
    too_slow = RESYNC, "resync"
    try:
        await say.patiently(hello)
        async for change in feed:
            shown = [change.prompt] if change.prompt is not None else []
            if shown or change.session is not None:
                await say.patiently(await encoded(partial(news, change, shelf), shown, shelf))
    except TimeoutError:
        return too_slow
    return too_slow  # a feed ends by itself only when it overflowed


async def _brake(say: _Subscriber, rules: RuleChanges | None, told: bool | None) -> tuple[int, str]:
    """It is a file, which works without us, too; so it is looked at."""
    try:
        while rules is not None:
            await asyncio.sleep(BRAKE_S)
            if rules.paused != told:
                told = not told
                await say.patiently(PauseNews(told))
    except TimeoutError:
        return RESYNC, "resync"
    return await asyncio.Future()


async def _queues(say: _Subscriber, orders: Orders | None) -> tuple[int, str]:
    """Each queue that changed, as it is when its turn comes: a slow reader gets the latest of each."""
    if orders is None:
        return await asyncio.Future()
    changed: dict[str, OrderQueue] = {}
    wake = asyncio.Event()

    def heard(queue: OrderQueue) -> None:
        changed[queue.session_id] = queue
        wake.set()

    orders.listeners.add(heard)
    try:
        while True:
            await wake.wait()
            wake.clear()
            while changed:
                _, queue = changed.popitem()
                await say.patiently(QueueNews(queue_view(orders, queue)))
    except TimeoutError:
        return RESYNC, "resync"
    finally:
        orders.listeners.discard(heard)


async def _others(
    say: _Subscriber, fleet: FleetDoor | None, there: Fleet | None, after: int | None
) -> tuple[int, str]:
    """What the other machines of the fleet say."""
    if fleet is None or (there is None and fleet.now is not None):
        return await asyncio.Future()
    if there is None:
        await fleet.changed()
        return RESYNC, "resync"
    try:
        async for message in there.news(after):
            await say.patiently(msgspec.Raw(message))
    except TimeoutError:
        pass
    return RESYNC, "resync"  # it ends by itself only when it overflowed, or the fleet was left


class _Subscriber:
    """One message at a time, whoever has something to say."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._one = asyncio.Lock()

    async def patiently(self, message: object) -> None:
        async with asyncio.timeout(PATIENCE), self._one:
            await self._socket.send({"type": "websocket.send", "text": _encode(message).decode()})


async def _left(socket: WebSocket, watched: Watched) -> tuple[int, str]:
    """What a client says is which conversation it looks at; anything else is not for us to hear."""
    while (said := await socket.receive())["type"] != "websocket.disconnect":
        watched.heard(said.get("text") or "")
    return 0, ""


async def _cut(event: asyncio.Event, devices: Devices, device_id: str) -> tuple[int, str]:
    await event.wait()
    return why_cut(devices, device_id)


def why_cut(devices: Devices, device_id: str) -> tuple[int, str]:
    """Revoked; or it may do something else now, and comes in again."""
    return (REVOKED, "revoked") if devices.revoked(device_id) else (RESYNC, "resync")


async def _first(*endings: Coroutine[Any, Any, tuple[int, str]]) -> tuple[int, str]:
    """Whichever ends first; the others are stopped before this returns."""
    tasks = [asyncio.ensure_future(ending) for ending in endings]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
