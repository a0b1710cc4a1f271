"""Standing orders over HTTP: what waits for a session, in its order; to add, change, move, remove and hold.

Rule: passes on what was asked, and by whom. A command that an order waits for is given at the machine itself only:
it runs as the person.
"""

from __future__ import annotations

from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session
from yourcall.server.api.conversation import find_run
from yourcall.server.auth import Refusal
from yourcall.server.peers import author_of
from yourcall.server.ports import Orders
from yourcall.server.route import Call, Reply, body
from yourcall.server.wire import HoldRequest, NewOrder, OrderChange, OrderView, QueueView

_NONE = Refusal(404, "There are no queues here.")
_AT_THE_MACHINE = "A command to wait for is given at the machine itself: yourcall queue SESSION add --when-passes."


async def list_queues(call: Call) -> Reply | Refusal:
    if call.orders is None:
        return _NONE
    return Reply([queue_view(call.orders, queue) for queue in call.orders.all()])


async def show_queue(call: Call) -> Reply | Refusal:
    match = _queue(call)
    if isinstance(match, Refusal):
        return match
    orders, session = match
    return Reply(queue_view(orders, orders.queue(session.id)))


async def add_order(call: Call) -> Reply | Refusal:
    asked = await body(call.request, NewOrder)
    if isinstance(asked, Refusal):
        return asked
    match = _queue(call)
    if isinstance(match, Refusal):
        return match
    orders, session = match
    if session.state == "ended":
        return Refusal(422, "This session has ended. To see the ones that are running: yourcall sessions")
    if asked.command and (call.caller.device_id or call.caller.via != "socket"):
        return Refusal(422, _AT_THE_MACHINE)
    author = await author_of(call.ties, call.caller, "steer sessions")
    if isinstance(author, Refused):
        return Refusal(403, author.reason)
    done = await orders.add(
        session,
        asked.text,
        call.caller.by,
        call.caller.via,
        trigger=asked.trigger,
        at=asked.at,
        command=asked.command,
        device=call.caller.device_id,
        certainty=author.certainty,
    )
    return _said(orders, done, 201)


async def change_order(call: Call) -> Reply | Refusal:
    asked = await body(call.request, OrderChange)
    if isinstance(asked, Refusal):
        return asked
    match = _queue(call)
    if isinstance(match, Refusal):
        return match
    orders, session = match
    if (asked.text is None) == (asked.place is None):
        return Refusal(400, "Give `text` or `place`, one of them.")
    if asked.text is not None:
        return _said(orders, await orders.edit(session.id, call.part("order"), asked.text))
    return _said(orders, await orders.move(session.id, call.part("order"), asked.place or 0))


async def remove_order(call: Call) -> Reply | Refusal:
    match = _queue(call)
    if isinstance(match, Refusal):
        return match
    orders, session = match
    return _said(orders, await orders.remove(session.id, call.part("order")))


async def hold_queue(call: Call) -> Reply | Refusal:
    asked = await body(call.request, HoldRequest)
    if isinstance(asked, Refusal):
        return asked
    match = _queue(call)
    if isinstance(match, Refusal):
        return match
    orders, session = match
    if asked.held:
        return _said(orders, await orders.hold(session.id, call.caller.by))
    return _said(orders, await orders.resume(session.id))


def _queue(call: Call) -> tuple[Orders, Session] | Refusal:
    session = find_run(call.desk.store, call.part("id"))
    if isinstance(session, Refusal):
        return session
    return _NONE if call.orders is None else (call.orders, session)


def _said(orders: Orders, done: OrderQueue | Refused, status: int = 200) -> Reply | Refusal:
    return Refusal(422, done.reason) if isinstance(done, Refused) else Reply(queue_view(orders, done), status)


def queue_view(orders: Orders, queue: OrderQueue) -> QueueView:
    return QueueView(
        queue.session_id,
        tuple(
            OrderView(
                each.id, each.text, each.by, each.via, each.added_at, each.trigger, each.at, each.command,
                each.state, each.changed_at, each.detail,
            )
            for each in queue.orders
        ),
        queue.held,
        orders.waits_for(queue.session_id),
    )  # fmt: skip
