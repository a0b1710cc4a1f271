"""When an instruction is given, and when it is held: after each thing that can happen in a session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from orders_world import SESSION, Agent, Daemon

from kit.poll import PATIENCE_S
from yourcall.core import standing_orders as orders
from yourcall.model.events import PromptWithdrawn, SessionEnded, SessionSeen
from yourcall.model.orders import Order, OrderQueue
from yourcall.model.prompts import Prompt, PromptState, Refused
from yourcall.model.sessions import Session

Story = Callable[[Daemon], Coroutine[Any, Any, None]]


async def until(there: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < deadline, f"waited for {what}"
        await asyncio.sleep(0.002)


async def is_held(daemon: Daemon, why: str) -> None:
    await until(lambda: daemon.queue.held, "the queue to be held")
    assert why in daemon.queue.held


async def quiet(daemon: Daemon) -> None:
    """All that was on record has been looked at."""
    seq = daemon.store.last_seq
    await until(lambda: daemon.orders._seq >= seq and not daemon.orders._timers, "the queues to be looked at")  # pyright: ignore[reportPrivateUsage]
    await daemon.orders.tasks.wait()


@asynccontextmanager
async def daemon_at(path: Path) -> AsyncGenerator[Daemon]:
    async with Daemon(path / "yourcall.db", Agent(keeper=True)) as daemon:
        yield daemon


async def after_a_turn(daemon: Daemon) -> None:
    await daemon.add("first")
    await daemon.add("second")
    await quiet(daemon)
    assert daemon.agent.texts == []
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["first"], "the first")
    await quiet(daemon)
    assert daemon.agent.texts == ["first"]  # the turn that it began has not ended
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["first", "second"], "the second")
    await until(lambda: {each.state for each in daemon.queue.orders} == {"done"}, "both to be done")
    given = daemon.store.prompts(open_only=False, limit=10)
    assert {(p.answer.by, p.answer.via) for p in given if p.answer} == {("alice", "queue")}


async def at_once_where_it_rests(daemon: Daemon) -> None:
    await daemon.rests()
    await daemon.add("now")
    await until(lambda: daemon.agent.texts == ["now"], "it")


async def not_while_it_asks(daemon: Daemon) -> None:
    await daemon.add("next")
    await daemon.asks("p1")
    await daemon.rests()
    await quiet(daemon)
    assert daemon.agent.texts == []
    assert "it asks: Run tests" in daemon.orders.waits_for("s1")
    await daemon.answered("p1", "allow")
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["next"], "it")


async def held_after_a_no(daemon: Daemon) -> None:
    await daemon.add("next")
    await daemon.asks("p1")
    await daemon.answered("p1", "deny")
    await is_held(daemon, "somebody said no: Run tests")
    await daemon.rests()
    await quiet(daemon)
    assert daemon.agent.texts == []
    await daemon.orders.resume("s1")
    await until(lambda: daemon.agent.texts == ["next"], "it, once a person let it go on")
    await quiet(daemon)
    assert not daemon.queue.held


async def held_after_a_stop(daemon: Daemon) -> None:
    await daemon.add("next")
    daemon.settled_for = 0.0
    await daemon.rests(stopped=True)
    await is_held(daemon, "stopped")
    assert daemon.agent.texts == []


async def not_after_a_failure(daemon: Daemon) -> None:
    await daemon.add("next")
    failed = await daemon.rests("problem")
    await quiet(daemon)
    assert daemon.agent.texts == []
    assert "it stopped: Problem" in daemon.orders.waits_for("s1")
    await daemon.post(PromptWithdrawn(time.time(), failed, "asked anew"))
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["next"], "it, once a turn ended well")


async def held_when_the_desk_speaks(daemon: Daemon) -> None:
    pause = await daemon.rests()
    await daemon.add("later", trigger="time", at=time.time() + 60)
    await daemon.at_the_desk(pause)
    await is_held(daemon, orders.SPOKEN)
    await daemon.rests()
    await quiet(daemon)
    assert daemon.agent.texts == []


async def held_when_the_desk_speaks_while_it_works(daemon: Daemon) -> None:
    await daemon.add("next")
    await daemon.orders.told(SESSION, "from the phone")
    await daemon.orders.heard("s1", "from  the phone\n")
    assert not daemon.queue.held
    await daemon.orders.heard("s1", "typed at the desk")
    await is_held(daemon, orders.SPOKEN)


async def not_held_when_the_phone_speaks(daemon: Daemon) -> None:
    pause = await daemon.rests()
    await daemon.add("later", trigger="time", at=time.time() + 60)
    await daemon.orders.told(SESSION, "something else")
    await daemon.at_the_desk(pause)  # as it looks from the agent's side
    await quiet(daemon) if not daemon.queue.orders[0].at else None
    await until(lambda: daemon.orders._seq >= daemon.store.last_seq, "it to be looked at")  # pyright: ignore[reportPrivateUsage]
    assert not daemon.queue.held


async def at_its_time(daemon: Daemon) -> None:
    await daemon.rests()
    await daemon.add("later", trigger="time", at=time.time() + 0.3)
    assert daemon.orders.waits_for("s1") in ("at its time", "the turn has just ended")
    before = time.time()
    await until(lambda: daemon.agent.texts == ["later"], "its time")
    assert time.time() - before > 0.2


async def when_its_command_passes(daemon: Daemon) -> None:
    daemon.failing.add("make test")
    await daemon.add("refactor", trigger="command", command="make test")
    await quiet(daemon)
    assert daemon.checks == []  # not before the turn has ended
    await daemon.rests()
    await is_held(daemon, "`make test` failed")
    assert daemon.agent.texts == []
    daemon.failing.clear()
    await daemon.orders.resume("s1")
    await until(lambda: daemon.agent.texts == ["refactor"], "it")
    assert daemon.checks == ["make test", "make test"]


async def after_its_limit_has_reset(daemon: Daemon) -> None:
    refused = await daemon.orders.add(SESSION, "go on", "alice", "http", trigger="limit")
    assert isinstance(refused, Refused)
    await daemon.rests("problem", resets_at=time.time() - orders.GRACE_S + 0.3)
    await daemon.add("go on", trigger="limit")
    await daemon.add("then this")
    assert daemon.agent.texts == []
    await until(lambda: daemon.agent.texts == ["go on"], "the reset")
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["go on", "then this"], "the next")


async def not_after_the_agent_went_on_by_itself(daemon: Daemon) -> None:
    limit = await daemon.rests("problem", resets_at=time.time() + 60)
    await daemon.add("go on", trigger="limit")
    await daemon.add("then this")
    await daemon.post(PromptWithdrawn(time.time(), limit, "the session went on"))
    await until(lambda: daemon.order("go on") is not None and daemon.order("go on").state == "dropped", "no need")  # type: ignore[union-attr]
    await daemon.rests()
    await until(lambda: daemon.agent.texts == ["then this"], "the next")


async def nothing_in_a_session_that_ended(daemon: Daemon) -> None:
    await daemon.add("next")
    await daemon.post(SessionEnded(time.time(), "s1", "its process is gone"))
    await is_held(daemon, orders.ENDED)


async def with_the_run_to_its_new_id(daemon: Daemon) -> None:
    await daemon.add("next")
    new = Session("s2", "claude", "/home/user/project", "idle", seen_at=2.0)
    await daemon.post(SessionSeen(time.time(), new))
    await daemon.post(SessionEnded(time.time(), "s1", "it goes on as s2", "s2"))
    await until(lambda: daemon.orders.queue("s2").orders, "the queue to follow")
    assert [each.text for each in daemon.orders.queue("s2").orders] == ["next"]
    assert not daemon.orders.queue("s1").orders
    assert not daemon.orders.queue("s2").held  # it only learnt its own id


async def held_when_the_conversation_is_another_one(daemon: Daemon) -> None:
    await daemon.post(SessionSeen(time.time(), replace(SESSION, transcript="/home/user/t.jsonl")))
    await daemon.add("next")
    await daemon.post(SessionEnded(time.time(), "s1", "cleared", "s2"))
    await until(lambda: daemon.orders.queue("s2").held, "the queue to be held")
    assert daemon.orders.queue("s2").held == orders.ANOTHER


async def the_person_arranges_it(daemon: Daemon) -> None:
    for text in ("a", "b", "c"):
        await daemon.add(text)
    a, b, c = daemon.queue.orders
    assert isinstance(await daemon.orders.move("s1", c.id, 1), OrderQueue)
    assert isinstance(await daemon.orders.edit("s1", b.id, "B"), OrderQueue)
    assert isinstance(await daemon.orders.remove("s1", a.id), OrderQueue)
    assert [each.text for each in daemon.queue.orders] == ["c", "B"]
    before = daemon.queue
    for wrong in (
        await daemon.orders.move("s1", c.id, 3),
        await daemon.orders.move("s1", "nothing", 1),
        await daemon.orders.edit("s1", b.id, " "),
        await daemon.orders.edit("s1", b.id, "x" * 200_000),
        await daemon.orders.remove("s1", a.id),
        await daemon.orders.add(SESSION, "", "alice", "http"),
        await daemon.orders.add(SESSION, "x", "alice", "http", trigger="time", at=9e12),
        await daemon.orders.add(SESSION, "x", "alice", "http", trigger="command"),
        await daemon.orders.add(SESSION, "\ud800", "alice", "http"),
    ):
        assert isinstance(wrong, Refused), wrong
    assert daemon.queue == before
    for number in range(orders.MOST_WAITING - 2):
        await daemon.add(f"more {number}")
    assert isinstance(await daemon.orders.add(SESSION, "one too many", "alice", "http"), Refused)


async def held_by_a_person(daemon: Daemon) -> None:
    assert isinstance(await daemon.orders.hold("s1", "alice"), Refused)
    await daemon.add("next")
    await daemon.orders.hold("s1", "alice")
    await daemon.rests()
    await quiet(daemon)
    assert daemon.agent.texts == []
    assert daemon.orders.waits_for("s1") == "held: by alice"


async def held_while_yourcall_is_locked(daemon: Daemon) -> None:
    daemon.orders.barred = lambda: Refused("yourcall is locked.")
    await daemon.add("next", trigger="command", command="make test")
    await daemon.rests()
    await is_held(daemon, "yourcall is locked.")
    daemon.orders.barred = lambda: None
    await quiet(daemon)
    assert daemon.agent.texts == daemon.checks == []  # whoever locked it decides what goes on


async def held_when_its_device_is_revoked(daemon: Daemon) -> None:
    device = await daemon.store.add_device("phone", "hash")
    await daemon.add("next", device=device.id)
    await daemon.store.revoke_device(device.id)
    await daemon.rests()
    await is_held(daemon, "revoked")
    assert daemon.agent.texts == []


async def not_before_the_sessions_were_looked_at(daemon: Daemon) -> None:
    looked = False
    daemon.orders.settled = lambda: looked
    await daemon.rests()
    await daemon.add("next")
    await asyncio.sleep(0.05)  # nothing tells that nothing happens
    assert daemon.agent.texts == []
    looked = True
    await until(lambda: daemon.agent.texts == ["next"], "it")


STORIES: tuple[Story, ...] = (
    after_a_turn,
    at_once_where_it_rests,
    not_while_it_asks,
    held_after_a_no,
    held_after_a_stop,
    not_after_a_failure,
    held_when_the_desk_speaks,
    held_when_the_desk_speaks_while_it_works,
    not_held_when_the_phone_speaks,
    at_its_time,
    when_its_command_passes,
    after_its_limit_has_reset,
    not_after_the_agent_went_on_by_itself,
    nothing_in_a_session_that_ended,
    with_the_run_to_its_new_id,
    held_when_the_conversation_is_another_one,
    the_person_arranges_it,
    held_by_a_person,
    held_while_yourcall_is_locked,
    held_when_its_device_is_revoked,
    not_before_the_sessions_were_looked_at,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_standing_orders(tmp_path: Path, story: Story) -> None:
    async def tell() -> None:
        async with daemon_at(tmp_path) as daemon:
            await story(daemon)

    asyncio.run(tell())


def test_a_queue_outlives_its_daemon(tmp_path: Path) -> None:
    async def tell() -> None:
        agent = Agent(keeper=True)
        async with Daemon(tmp_path / "yourcall.db", agent) as first:
            await first.add("next")
            await first.add("check", trigger="command", command="make test")
            await first.orders.hold("s1", "alice")
        async with Daemon(tmp_path / "yourcall.db", agent) as second:
            assert [each.text for each in second.queue.orders] == ["next", "check"]
            assert second.queue.held == "by alice"

    asyncio.run(tell())


def test_a_command_that_ran_when_we_were_stopped_is_not_run_again(tmp_path: Path) -> None:
    order = Order("o1", "next", "alice", "http", 1.0, "command", 0.0, "make deploy", state="checking")
    queue = orders.recovered(OrderQueue("s1", (order,)), None, order, 2.0)
    assert queue.held == orders.INTERRUPTED
    assert queue.orders[0].state == "waiting"


def test_what_may_have_arrived_does_not_wait_again() -> None:
    order = Order("o1", "next", "alice", "http", 1.0, state="given", prompt_id="p", answer_id="a")
    queue = orders.recovered(OrderQueue("s1", (order,)), None, order, 2.0)
    assert queue.orders[0].state == "unsure"


@pytest.mark.parametrize("state", ["unsure", "confirmed"])
def test_an_idle_session_that_may_not_have_got_the_last_one_is_not_said_to_work(state: PromptState) -> None:
    """Killed while it typed: no turn will end, so `after this turn` would be waited for in vain."""
    queue = OrderQueue("s1", (Order("o2", "next", "alice", "http", 1.0),))
    pause = Prompt("p", "ready", "claude", "s1", "/p", "Ready", 1.0, state=state)
    wait = orders.due(queue, SESSION, [pause], 2.0)
    assert wait == orders.Wait(orders.LOST if state == "unsure" else "after this turn")


def test_only_the_latest_that_are_over_are_kept() -> None:
    queue = OrderQueue("s1")
    for number in range(40):
        queue = orders._with(queue, (*queue.orders, Order(str(number), "t", "a", "h", 1.0, state="done")))  # pyright: ignore[reportPrivateUsage]
    assert len(queue.orders) == orders.MOST_SETTLED
    assert queue.orders[-1].id == "39"
