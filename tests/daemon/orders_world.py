"""A world for standing orders: the real store, loop and queues, and an agent that outlives every daemon.

A daemon is killed by leaving it where it is and taking the database as it lies on the disk at that moment. The
agent remembers each text that reached it, and asks, works and rests as the test says.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import Self

from yourcall.core import standing_orders as orders
from yourcall.core.identity import unsettled
from yourcall.daemon.loop import Loop
from yourcall.daemon.standing_orders import StandingOrders
from yourcall.model.events import (
    AnswerWritten,
    AnyCommand,
    AnyEvent,
    CallSettled,
    Deliver,
    DialogClosed,
    HolderConnected,
    PromptRaised,
    SessionSeen,
    TraceLost,
)
from yourcall.model.orders import Order, OrderQueue
from yourcall.model.prompts import Answer, Kind, Option, Prompt, Question
from yourcall.model.sessions import Link, Session
from yourcall.store.sqlite import Store

ALLOW, DENY = Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")
NEXT = Question("next", "What next?", free_text=True)
PERMISSION = Question("permission", "Run it?", (ALLOW, DENY), free_text=True)
SESSION = Session("s1", "claude", "/home/user/project", "idle", links=(Link("stdio"),), seen_at=1.0)


class Agent:
    """What the agent's process knows: the texts it was given, and the answers it has read. `keeper`: it can be
    asked after a crash which answers it has; typed text can't be asked for."""

    def __init__(self, *, keeper: bool) -> None:
        self.keeper = keeper
        self.texts: list[str] = []
        self.read: set[str] = set()
        self.turns = count(1)


class Daemon:
    """One daemon over one database, from its start to its kill."""

    def __init__(self, path: Path, agent: Agent) -> None:
        self.path, self.agent = path, agent
        self.store = Store.open(path)
        self.dead = False
        self.tasks: set[asyncio.Task[object]] = set()
        self.loop = Loop(self.store, self._perform)
        self.settled_for = orders.SETTLES_S  # nothing that is taken back comes in this world
        self.checks: list[str] = []
        self.failing: set[str] = set()
        self.orders = StandingOrders(self.loop, self.store, self._check)

    async def __aenter__(self) -> Self:
        await self.post(SessionSeen(time.time(), SESSION))
        await self._recover()
        self._spawn(self.orders.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        self.dead = True
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.orders.close()
        await asyncio.sleep(0)
        self.store.close()

    def killed(self, image: Path) -> None:
        """The database as it lies there now, between two transactions. Nothing done from here on counts."""
        self.dead = True
        for task in self.tasks:
            task.cancel()
        with self.store._writer._working:  # pyright: ignore[reportPrivateUsage]
            for end in ("", "-wal"):
                if (file := Path(f"{self.path}{end}")).exists():
                    shutil.copy(file, f"{image}{end}")

    def _spawn(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def post(self, event: AnyEvent) -> None:
        await self.loop.post(event)

    # --- the agent's side -------------------------------------------------------------------------------------

    def _perform(self, command: AnyCommand) -> None:
        if isinstance(command, Deliver) and not self.dead:
            self._spawn(self._carry(command.prompt_id, command.answer))

    async def _carry(self, prompt_id: str, answer: Answer) -> None:
        prompt = self.loop.prompt(prompt_id)
        assert prompt is not None
        await asyncio.sleep(0)
        if self.dead:
            return
        if prompt.kind in ("ready", "problem"):
            self.agent.texts += answer.texts.values()
        self.agent.read.add(answer.id)
        await asyncio.sleep(0)
        await self.post(AnswerWritten(time.time(), prompt_id, answer.id))
        await self.post(CallSettled(time.time(), prompt_id, "allowed", "held"))

    async def _recover(self) -> None:
        """As the links do it: whoever holds the pipe tells what was written; of typed text nobody knows."""
        for prompt in list(self.loop.state.prompts.values()):
            answer = prompt.answer
            if answer is None or not unsettled(prompt):
                continue
            now = time.time()
            if self.agent.keeper:
                await self.post(HolderConnected(now, prompt.id, answer.id if answer.id in self.agent.read else ""))
                if answer.id in self.agent.read:
                    await self.post(CallSettled(now, prompt.id, "allowed", "held"))
            elif prompt.state == "answering":
                await self.post(TraceLost(now, prompt.id, "yourcall was stopped"))
            elif prompt.state == "sent":
                await self.post(CallSettled(now, prompt.id, "allowed", "held"))

    async def rests(
        self, kind: Kind = "ready", *, id: str = "", resets_at: float = 0.0, stopped: bool = False
    ) -> str:
        """The turn ends: `kind` is what the session says now."""
        name = id or f"{kind}{next(self.agent.turns)}"
        prompt = Prompt(
            id=name, kind=kind, agent="claude", session_id="s1", cwd="/", title=kind.title(), fingerprint=name,
            opened_at=time.time() - self.settled_for, questions=(NEXT,), answerable=True, resets_at=resets_at,
            link="stdio" if self.agent.keeper else "speech", stopped=stopped,
        )  # fmt: skip
        await self.post(PromptRaised(time.time(), prompt))
        return name

    async def asks(self, name: str) -> None:
        prompt = Prompt(
            id=name, kind="permission", agent="claude", session_id="s1", cwd="/", title="Run tests",
            opened_at=time.time(), questions=(PERMISSION,), fingerprint=name, answerable=True,
        )  # fmt: skip
        await self.post(PromptRaised(time.time(), prompt))

    async def answered(self, name: str, option: str) -> None:
        answer = Answer(f"{name}-{option}", "alice", "http", {"permission": (option,)})
        await self.loop.answer(name, answer, 0.0)

    async def at_the_desk(self, pause: str) -> None:
        """Somebody types into the agent's own terminal."""
        await self.post(CallSettled(time.time(), pause, "allowed", "desk"))

    async def stops_waiting(self, name: str) -> None:
        await self.post(DialogClosed(time.time(), name, "busy"))

    # --- the person's side ------------------------------------------------------------------------------------

    async def _check(self, _session: Session, command: str) -> str:
        self.checks.append(command)
        return f"`{command}` failed (exit 1)" if command in self.failing else ""

    @property
    def queue(self) -> OrderQueue:
        return self.orders.queue("s1")

    def order(self, text: str) -> Order | None:
        return next((each for each in self.queue.orders if each.text == text), None)

    async def add(self, text: str, **more: object) -> None:
        done = await self.orders.add(SESSION, text, "alice", "http", **more)  # type: ignore[arg-type]
        assert isinstance(done, OrderQueue), done
