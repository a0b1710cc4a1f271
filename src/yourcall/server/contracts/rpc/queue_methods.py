"""The methods for standing orders: what waits for a session, to add to it, to change it, to hold it.

Rule: the same as over HTTP; an order is meant by its id, never by its place.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.server.api.conversation import find_run
from yourcall.server.api.queue import queue_view
from yourcall.server.auth import Refusal
from yourcall.server.contracts.rpc.connection import Connection
from yourcall.server.contracts.rpc.method import BAD_PARAMS, NOT_FOUND, REFUSED, Method, Wrong
from yourcall.server.contracts.rpc.wire import HoldParams, OrderParams, QueueAddParams, SessionParams
from yourcall.server.ports import Orders
from yourcall.server.wire import QueueView

_NONE = Wrong(NOT_FOUND, "There are no queues here.")


async def show(line: Connection, params: SessionParams) -> QueueView | Wrong:
    match = _found(line, params.session_id)
    return match if isinstance(match, Wrong) else _view(line, match[0], match[0].queue(match[1].id))


async def add(line: Connection, params: QueueAddParams) -> QueueView | Wrong:
    match = _found(line, params.session_id)
    if isinstance(match, Wrong):
        return match
    orders, session = match
    if session.state == "ended":
        return Wrong(NOT_FOUND, "This session is over.")
    caller = line.caller
    done = await orders.add(
        session, params.prompt, caller.by, caller.via, trigger=params.trigger, at=params.at,
        device=caller.device_id, certainty=line.certainty,
    )  # fmt: skip
    return _view(line, orders, done)


async def change(line: Connection, params: OrderParams) -> QueueView | Wrong:
    match = _found(line, params.session_id)
    if isinstance(match, Wrong):
        return match
    orders, session = match
    if params.remove + bool(params.prompt) + bool(params.place) != 1:
        return Wrong(BAD_PARAMS, "Give one of `prompt`, `place` and `remove`.")
    if params.remove:
        return _view(line, orders, await orders.remove(session.id, params.order_id))
    if params.prompt:
        return _view(line, orders, await orders.edit(session.id, params.order_id, params.prompt))
    return _view(line, orders, await orders.move(session.id, params.order_id, params.place))


async def hold(line: Connection, params: HoldParams) -> QueueView | Wrong:
    match = _found(line, params.session_id)
    if isinstance(match, Wrong):
        return match
    orders, session = match
    if params.held:
        return _view(line, orders, await orders.hold(session.id, line.caller.by))
    return _view(line, orders, await orders.resume(session.id))


def _found(line: Connection, session_id: str) -> tuple[Orders, Session] | Wrong:
    session = find_run(line.tools.desk.store, line.id_of(session_id))
    if isinstance(session, Refusal):
        return Wrong(NOT_FOUND, session.reason)
    return _NONE if line.tools.orders is None else (line.tools.orders, session)


def _view(line: Connection, orders: Orders, done: OrderQueue | Refused) -> QueueView | Wrong:
    if isinstance(done, Refused):
        return Wrong(REFUSED, done.reason, "refused")
    return replace(queue_view(orders, done), session_id=line.name_of(done.session_id))


QUEUE_METHODS: tuple[Method, ...] = (
    Method("session/queue", show, SessionParams, QueueView, "The instructions that wait for a session.", "read"),
    Method(
        "session/queue/add",
        add,
        QueueAddParams,
        QueueView,
        "Add an instruction: it is given, once, when a turn has ended well.",
        "steer",
    ),
    Method(
        "session/queue/change",
        change,
        OrderParams,
        QueueView,
        "Give an instruction that waits another text or place, or remove it.",
        "steer",
    ),
    Method(
        "session/queue/hold",
        hold,
        HoldParams,
        QueueView,
        "Hold the queue of a session, or let it go on.",
        "steer",
    ),
)
