"""A house for the channels' tests: a real store, the real loop, the real runner, and time that a test can move.

Everything runs on the test's own event loop; nothing sleeps to wait.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvloop
from msgspec.structs import replace

from kit.poll import PATIENCE_S
from yourcall.channels.channel import Abilities, Carried, Channel, Notice, Sent, World
from yourcall.channels.context import ChannelContext
from yourcall.channels.runner import Runner
from yourcall.core.notify_policy import Notify
from yourcall.daemon.authority import Authority
from yourcall.daemon.loop import Loop
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    DialogClosed,
    PromptRaised,
    SessionSeen,
)
from yourcall.model.people import AnswerPolicy
from yourcall.model.prompts import Answer, Option, Prompt, Question, Tool
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Store

T = TypeVar("T")

ALLOW = Option("allow", "Allow", "allow_once")
DENY = Option("deny", "Deny", "deny")
ALWAYS = Option("always", "Always", "allow_always")
QUESTION = Question("decision", "May it?", (ALLOW, ALWAYS, DENY))


class Keep:
    def __init__(self) -> None:
        self.facts: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        return self.facts.get(key)

    def all(self) -> Mapping[str, bytes]:
        return dict(self.facts)

    async def put(self, key: str, value: bytes | None, /) -> None:
        if value is None:
            self.facts.pop(key, None)
        else:
            self.facts[key] = value


class Board:
    """A channel that is a list: what is shown where, and what happens to the next deeds (a value, or a pause)."""

    def __init__(self, name: str = "board", *, targets: Sequence[str] = ("",), **able: Any) -> None:
        self.name = name
        self.abilities = Abilities(**{"rung": "push", **able})
        self.places = list(targets)
        self.shown: dict[str, Notice] = {}
        self.deeds: list[tuple[str, str, str]] = []
        self.next: list[Carried | asyncio.Event] = []
        self._count = 0

    def targets(self) -> Sequence[str]:
        return self.places

    def rendered(self, notice: Notice) -> str:
        return "\n".join([notice.title, notice.text, *(button.label for button in notice.buttons)])

    async def _done(self, deed: str, target: str, notice: Notice) -> Carried | None:
        self.deeds.append((deed, target, notice.standing))
        result = self.next.pop(0) if self.next else None
        if isinstance(result, asyncio.Event):
            await result.wait()
            return None
        return result

    async def send(self, target: str, notice: Notice) -> Carried:
        wrong = await self._done("send", target, notice)
        if wrong is not None:
            return wrong
        self._count += 1
        receipt = notice.id if self.abilities.replaces else f"m{self._count}"
        self.shown[f"{target}{receipt}"] = notice
        return Sent(receipt)

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        wrong = await self._done("update", target, notice)
        if wrong is None:
            assert f"{target}{receipt}" in self.shown, "edited what was never sent"
            self.shown[f"{target}{receipt}"] = notice
        return wrong or Sent(receipt)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        wrong = await self._done("withdraw", target, notice)
        if wrong is None:
            self.shown.pop(f"{target}{receipt}", None)
        return wrong or Sent()

    @property
    def sends(self) -> int:
        return sum(1 for deed, _, _ in self.deeds if deed == "send")


class House:
    """`async with House(folder) as house`: one life of the daemon after another, over the same disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ahead = 0.0
        self.person = 0.0
        self.naps = 0
        self.http = httpx.AsyncClient(trust_env=False, timeout=5)
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> House:
        self.store = Store.open(self.folder / "yourcall.db")
        self.loop = Loop(self.store, lambda _: None)
        # What a prompt would do matters to a quorum, which nobody has asked for here.
        self.authority = Authority(self.store, AnswerPolicy, lambda _: None)
        self.loop.authority = self.authority.judge
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self.http.aclose()
        self.store.close()

    def clock(self) -> float:
        return time.time() + self.ahead

    def world(self, secrets: Mapping[str, str] | None = None, devices: Sequence[str] = (), url: str = "") -> World:
        return World(
            secrets=secrets or {}, keep=Keep(), http=lambda: self.http, clock=self.clock, sleep=self.nap,
            home=self.folder, devices=lambda: devices, url=url,
        )  # fmt: skip

    async def nap(self, _seconds: float) -> None:
        """Pauses between tries are short here; that they are asked for is what counts."""
        self.naps += 1
        await asyncio.sleep(0.01)

    async def person_at(self) -> float:
        return self.person

    def start(
        self,
        *channels: Channel,
        notify: Notify | None = None,
        url: str = "http://desk.example.net",
        desk: ChannelContext | None = None,
    ) -> Runner:
        self.runner = Runner(
            self.loop, self.store, channels, notify or Notify(), url=url, person_at=self.person_at,
            clock=self.clock, sleep=self.nap, passkey=self.authority.passkey_options,
        )  # fmt: skip
        desk = desk or ChannelContext(self.loop, None, None)  # type: ignore[arg-type]
        self._running = asyncio.create_task(self.runner.run(desk))
        return self.runner

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    def later(self, seconds: float) -> None:
        self.ahead += seconds
        self.runner.wake()

    # -- what happens in the world

    async def post(self, event: AnyEvent) -> None:
        await self.loop.post(event)

    async def ask(self, id: str = "p1", **more: Any) -> Prompt:
        now = self.clock() - 1  # the ladder lets a second pass before it disturbs anybody
        await self.post(
            SessionSeen(
                now, Session(more.get("session_id", "s1"), "claude", "/home/me/shop", started_at=now, seen_at=now)
            )
        )
        prompt = Prompt(
            id=id, kind="permission", agent="claude", session_id="s1", cwd="/home/me/shop", title="npm test",
            opened_at=now, questions=(QUESTION,), answerable=True, tool=Tool("Bash"),
        )  # fmt: skip
        command = more.pop("command", None)
        for name, value in more.items():
            prompt = type(prompt)(**{**{f: getattr(prompt, f) for f in prompt.__struct_fields__}, name: value})
        asked = json.dumps({"tool_input": {"command": command or prompt.title}}).encode()
        prompt = replace(prompt, request=sha256(asked).hexdigest())
        await self.loop.post(PromptRaised(now, prompt), {prompt.request: asked})
        return prompt

    async def answer(self, id: str = "p1", option: str = "allow") -> None:
        answer = Answer(f"a-{id}", "cli", "socket", {"decision": (option,)})
        await self.post(AnswerGiven(self.clock(), id, answer))

    async def bounce(self, id: str = "p1") -> None:
        await self.post(AnswerNotWritten(self.clock(), id, f"a-{id}", "the hook has left"))

    async def confirm(self, id: str = "p1") -> None:
        await self.post(AnswerWritten(self.clock(), id, f"a-{id}"))
        await self.post(DialogClosed(self.clock(), id, "busy"))
        await self.post(CallSettled(self.clock(), id, "allowed", "held"))

    async def at_the_desk(self, id: str = "p1") -> None:
        await self.post(DialogClosed(self.clock(), id, "busy"))

    async def until(self, probe: Callable[[], T], patience: float = PATIENCE_S, what: str = "") -> T:
        end = time.monotonic() + patience
        while not (value := probe()):
            assert time.monotonic() < end, f"not within {patience} s: {what}"
            await asyncio.sleep(0.005)
        return value

    async def settled(self) -> None:
        """Nothing is under way any more."""
        await self.until(lambda: not self.runner._tasks, what="rest")


Lives = Callable[[Callable[[House], Awaitable[None]]], None]


def in_house(test: Callable[[House], Awaitable[None]], folder: Path) -> None:
    async def go() -> None:
        async with House(folder) as house:
            await test(house)

    uvloop.run(go())
