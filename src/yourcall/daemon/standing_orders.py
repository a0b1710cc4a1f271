"""Gives each session its next instruction when its turn has ended well, and keeps its queue true to what happens.

Rules
  * What is decided stands in `core/standing_orders.py`. Here it is recorded first and performed then, one step of
    one queue at a time.
  * An order becomes the answer to a pause of its session, and goes the way of any other answer. Nothing else here
    speaks to an agent.
  * A change of the log is looked at once it is on disk. After a start we go on where the queues stand, and nothing
    is given before the sessions were looked at.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from yourcall.core import standing_orders as orders
from yourcall.core.state import State
from yourcall.core.step import PAUSES
from yourcall.daemon.loop import Subscription, to_its_end
from yourcall.model.orders import Order, OrderQueue, Trigger
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.store.devices import Device
from yourcall.store.sqlite import Change
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

# A clock that counts while the machine sleeps is not to be had everywhere: times are looked at so often at least.
LOOK_S = 20.0
# After a start, or a suspend, until every session was looked at.
AGAIN_S = 0.5
# So many changes are read at a time of what we missed.
PAGE = 250
# So many changes of sessions that concern no queue, and how far we are is written down.
NOTED_EVERY = 2_000

# A message that was sent while a turn ran may be read long after.
MOST_SAID = 8

UNREACHED = (
    "This session can't be told anything from here: it runs neither in tmux nor by `yourcall run`, and was not "
    "started by yourcall."
)

# Runs a command of a person's for a session: '' if it passed, else how it ended, in words.
RunCommand = Callable[[Session, str], Awaitable[str]]


class Loop(Protocol):
    @property
    def state(self) -> State: ...
    def prompt(self, prompt_id: str, /) -> Prompt | None: ...
    async def answer(self, prompt_id: str, answer: Answer, wait: float, /) -> tuple[Verdict, Prompt | None]: ...
    def subscribe(self, after: int | None, /) -> Subscription: ...


class QueueRows(Protocol):
    @property
    def last_seq(self) -> int: ...
    def queues(self) -> list[OrderQueue]: ...
    async def put_queues(self, queues: Sequence[OrderQueue], /) -> None: ...
    def session(self, session_id: str, /) -> Session | None: ...
    def changes_after(self, seq: int, limit: int, /) -> list[Change]: ...
    def devices(self) -> list[Device]: ...


class StandingOrders:
    """`settled`: were the sessions looked at since we were away? `listeners` hear of each queue that changed."""

    def __init__(
        self, loop: Loop, rows: QueueRows, run_command: RunCommand, settled: Callable[[], bool] = lambda: True
    ) -> None:
        self._loop, self._rows, self._run_command = loop, rows, run_command
        self.settled = settled
        self.barred: Callable[[], Refused | None] = lambda: None  # why nothing may be done through us now
        self.reaches: Callable[[Session], bool] = lambda _: True  # can it be told anything?
        self._queues = {queue.session_id: queue for queue in rows.queues()}
        self._one = asyncio.Lock()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._seq = rows.last_seq
        self._unnoted = 0
        self._noticed: set[str] = set()  # open pauses that the log has told of
        self._said: dict[str, deque[str]] = {}  # what was said through us to sessions with a queue, the latest
        self.tasks = Tasks()
        self.listeners: set[Callable[[OrderQueue], None]] = set()

    # --- what a person does -----------------------------------------------------------------------------------

    def all(self) -> list[OrderQueue]:
        return list(self._queues.values())

    def queue(self, session_id: str) -> OrderQueue:
        return self._queues.get(session_id) or OrderQueue(session_id)

    def waits_for(self, session_id: str) -> str:
        """Why the first of this queue is not given now, in words."""
        now = orders.due(self.queue(session_id), *self._scene(session_id), time.time())
        return now.why if isinstance(now, orders.Wait) else ""

    async def add(
        self,
        session: Session,
        text: str,
        by: str,
        via: str,
        *,
        trigger: Trigger = "turn",
        at: float = 0.0,
        command: str = "",
        device: str = "",
        certainty: str = "",
    ) -> OrderQueue | Refused:
        if not self.reaches(session):
            return Refused(UNREACHED)
        if trigger == "limit" and not self._limit_of(session.id):
            return Refused("No usage limit that says when it resets holds this session now.")
        order = Order(
            secrets.token_hex(4), text, by, via, time.time(), trigger, at, command,
            device=device, author_certainty=certainty,
        )  # fmt: skip
        return await self._change(session.id, lambda queue: orders.added(queue, order))

    async def edit(self, session_id: str, order_id: str, text: str) -> OrderQueue | Refused:
        return await self._change(session_id, lambda queue: orders.edited(queue, order_id, text))

    async def move(self, session_id: str, order_id: str, place: int) -> OrderQueue | Refused:
        return await self._change(session_id, lambda queue: orders.moved(queue, order_id, place))

    async def remove(self, session_id: str, order_id: str) -> OrderQueue | Refused:
        return await self._change(session_id, lambda queue: orders.removed(queue, order_id))

    async def hold(self, session_id: str, by: str) -> OrderQueue | Refused:
        if not self.queue(session_id).orders:
            return Refused("Nothing waits in this queue.")
        return await self._change(session_id, lambda queue: orders.hold(queue, f"by {by}", time.time()))

    async def resume(self, session_id: str) -> OrderQueue | Refused:
        return await self._change(session_id, lambda queue: orders.resumed(queue, time.time()))

    async def told(self, session: Session, text: str) -> None:
        """Somebody speaks to this session through yourcall: the end of its pause is not the desk's doing."""
        queue = self._queues.get(session.id)
        if queue is None:
            return
        self._said.setdefault(session.id, deque(maxlen=MOST_SAID)).append(text)
        pauses = [p for p in self._loop.state.of_session(session.id) if p.kind in PAUSES and p.state == "open"]
        if pauses and queue.own != pauses[-1].id:
            await self._change(session.id, lambda queue: replace(queue, own=pauses[-1].id))

    async def heard(self, session_id: str, wording: str) -> None:
        """A session's own hook tells what it was told while no pause of it was open."""
        queue = self._queues.get(session_id)
        if queue is None or not wording.strip():
            return
        if any(p.kind in PAUSES and p.state in ("open", "answering", "sent") for p in self._scene(session_id)[1]):
            return  # how that pause ends tells who spoke
        given = (order.text for order in queue.orders if order.state != "waiting")
        ours = any(_same(text, wording) for text in (*given, *self._said.get(session_id, ())))
        if not ours and any(order.state == "waiting" for order in queue.orders):
            await self._change(session_id, lambda queue: orders.hold(queue, orders.SPOKEN, time.time()))

    async def _change(
        self, session_id: str, change: Callable[[OrderQueue], OrderQueue | Refused]
    ) -> OrderQueue | Refused:
        return await to_its_end(self._changed(session_id, change))

    async def _changed(
        self, session_id: str, change: Callable[[OrderQueue], OrderQueue | Refused]
    ) -> OrderQueue | Refused:
        async with self._one:
            after = change(self.queue(session_id))
            if not isinstance(after, Refused):
                await self._put(after)
        self._look_soon(session_id)
        return after

    # --- what happens -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the log from where the queues stand."""
        await self._recover()
        self._seq = min((queue.seq for queue in self._queues.values()), default=self._seq)
        while missed := self._rows.changes_after(self._seq, PAGE):
            for change in missed:
                await self._seen(change)
            await asyncio.sleep(0)
        self._noticed.update(self._loop.state.prompts)
        after = self._seq
        while True:
            try:
                async with self._loop.subscribe(after) as changes:
                    for session_id in list(self._queues):
                        self._look_soon(session_id)
                    async for change in changes:
                        await self._seen(change)
                        after = change.seq
            except Exception:
                log.exception("the queues could not follow what happened; looking again")
                await asyncio.sleep(LOOK_S)

    async def _recover(self) -> None:
        now = time.time()
        async with self._one:
            for queue in list(self._queues.values()):
                for order in queue.orders:
                    if order.state in orders.UNDER_WAY:
                        prompt = self._loop.prompt(order.prompt_id) if order.prompt_id else None
                        queue = orders.recovered(queue, prompt, order, now)
                await self._put(queue)

    async def _seen(self, change: Change) -> None:
        self._seq = change.seq
        self._unnoted += 1
        if (prompt := change.prompt) is not None and prompt.kind in PAUSES:
            (self._noticed.add if prompt.state == "open" else self._noticed.discard)(prompt.id)
        if not self._queues:
            return
        row = change.prompt or change.session
        session_id = change.prompt.session_id if change.prompt else change.session.id if change.session else ""
        if row is None or session_id not in self._queues:
            if self._unnoted >= NOTED_EVERY:
                await self._note()
            return
        async with self._one:
            queue = self.queue(session_id)
            if change.prompt is not None:
                after = orders.seen(queue, change.prompt, change.at)
            elif change.session is not None and change.session.goes_on_as:
                await self._carry_over(queue, change.session, change.at)
                return
            else:
                assert change.session is not None
                after = orders.session_seen(queue, change.session, change.at)
            if after != queue:
                await self._put(after)
        self._look_soon(session_id)

    async def _carry_over(self, queue: OrderQueue, session: Session, at: float) -> None:
        new = session.goes_on_as
        joined = orders.carried_over(queue, self._queues.get(new), session, at)
        await self._put(joined, OrderQueue(session.id))
        self._look_soon(new)

    async def _note(self) -> None:
        """How far we are: a start from here looks at nothing twice that was long ago."""
        async with self._one:
            await self._put(*self._queues.values())

    # --- what is done -----------------------------------------------------------------------------------------

    def _look_soon(self, session_id: str) -> None:
        self._timer(session_id, 0.0)

    def _timer(self, session_id: str, seconds: float) -> None:
        if (before := self._timers.pop(session_id, None)) is not None:
            before.cancel()
        if session_id in self._queues:
            loop = asyncio.get_running_loop()
            self._timers[session_id] = loop.call_later(seconds, self._spawn, session_id)

    def _spawn(self, session_id: str) -> None:
        self._timers.pop(session_id, None)
        self.tasks.spawn(self._safely(session_id))

    async def _safely(self, session_id: str) -> None:
        try:
            await self._look(session_id)
        except Exception:
            log.exception("the queue of %s could not be looked at", session_id)
            self._timer(session_id, LOOK_S)

    def _scene(self, session_id: str) -> tuple[Session | None, list[Prompt]]:
        return self._loop.state.sessions.get(session_id), self._loop.state.of_session(session_id)

    async def _look(self, session_id: str) -> None:
        if not self.settled():
            self._timer(session_id, AGAIN_S)
            return
        async with self._one:
            now = time.time()
            queue = self._checked_anew(self.queue(session_id), now)
            if queue != self.queue(session_id):
                await self._put(queue)
            match orders.due(queue, *self._scene(session_id), now):
                case orders.Give(prompt=prompt) if prompt.id not in self._noticed:
                    pass  # what was done before it began is not known here yet; we hear of it
                case orders.Give() as give:
                    await to_its_end(self._give(queue, give, now))
                case orders.Check(order=order):
                    await self._put(orders.checking(queue, order.id, now))
                    self.tasks.spawn(self._checked(session_id, order))
                case orders.Drop(order=order, why=why):
                    await self._put(orders.dropped(queue, order.id, why, now))
                    self._look_soon(session_id)
                case orders.Wait(until=until) if until:
                    self._timer(session_id, min(max(until - now, 0.0), LOOK_S))
                case orders.Wait():
                    pass

    def _checked_anew(self, queue: OrderQueue, now: float) -> OrderQueue:
        """Held if nothing may be done now, or if whoever wrote what comes next may do nothing any more."""
        first = next((order for order in queue.orders if order.state == "waiting"), None)
        if first is None or queue.held:
            return queue
        if (barred := self.barred()) is not None:
            return orders.hold(queue, barred.reason, now)
        devices = {each.id for each in self._rows.devices() if each.revoked_at is None} if first.device else ()
        if first.device and first.device not in devices:
            return orders.hold(queue, "the device that wrote the first one was revoked", now)
        return queue

    async def _give(self, queue: OrderQueue, give: orders.Give, now: float) -> None:
        """On record as the answer that it will be, then given."""
        queue = orders.giving(queue, give, secrets.token_hex(12), now)
        await self._put(queue)
        order = next(each for each in queue.orders if each.id == give.order.id)
        verdict, prompt = await self._loop.answer(give.prompt.id, orders.answer(order, give.prompt), 0.0)
        if verdict.result == "taken" and prompt is not None:
            await self._put(orders.seen(queue, prompt, time.time()))
        else:
            await self._put(orders.not_taken(queue, order.id, verdict.detail or verdict.result, time.time()))

    async def _checked(self, session_id: str, order: Order) -> None:
        session = self._rows.session(session_id)
        try:
            failed = "the session is gone" if session is None else await self._run_command(session, order.command)
        except Exception as error:
            log.exception("the command of an order could not be run")
            failed = f"its command could not be run: {error}"
        # The session may have gone on under another id meanwhile; the order went with it.
        where = next(
            (q.session_id for q in self._queues.values() if order.id in {o.id for o in q.orders}), session_id
        )
        await self._change(where, lambda queue: orders.checked(queue, order.id, failed, time.time()))

    def _limit_of(self, session_id: str) -> float:
        prompts = (p for p in self._loop.state.of_session(session_id) if p.kind == "problem" and p.state == "open")
        return max((p.resets_at for p in prompts), default=0.0)

    async def _put(self, *queues: OrderQueue) -> None:
        """On disk, then here, then told."""
        self._unnoted = 0
        noted = [replace(queue, seq=max(queue.seq, self._seq)) for queue in queues]
        await self._rows.put_queues(noted)
        for queue in noted:
            if queue.orders:
                self._queues[queue.session_id] = queue
            else:
                self._queues.pop(queue.session_id, None)
                self._said.pop(queue.session_id, None)
            for listener in tuple(self.listeners):
                listener(queue)

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        await self.tasks.close()


def _same(text: str, wording: str) -> bool:
    """Blanks and line ends may not arrive as they were written."""
    return "".join(text.split()) == "".join(wording.split())
