"""Tells people of what waits on other machines: by the hub that holds the lease, with receipts that all hubs
share.

A machine that has channels of its own tells of its own prompts, with or without a fleet. For the others the
leading hub does: with its channels, by the same ladder and the same runner. The receipts lie on the bus,
sealed for the hubs, so whoever leads next goes on where the last one was.

Rule: a notice of another machine's prompt leads to the app and has no button: what is done there takes a
signature."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec
from msgspec import Struct

from yourcall.channels.context import ChannelContext
from yourcall.channels.runner import Runner
from yourcall.core.lifecycle import CLOSED
from yourcall.daemon.fleet.others import OtherHosts
from yourcall.fleet.bus import Away, Message, Unanswered
from yourcall.fleet.copies import Changed, Copy
from yourcall.fleet.envelopes import Unread
from yourcall.fleet.lease import ChannelLease, HubBox
from yourcall.fleet.node import Node
from yourcall.fleet.sealing import Unsealed
from yourcall.model.prompts import Answer, Moment, Prompt, Receipt, Tap, Tool, Verdict
from yourcall.model.sessions import Session

log = logging.getLogger(__name__)

LOOK_S = 0.3
QUEUE = 1_000
# What was told is forgotten by NATS a while after it is over.
OVER_S = 3_600
LOAD_S = 5.0


class Telling(Protocol):
    """This machine's own channels."""

    @property
    def generation(self) -> int: ...
    def tells(self) -> bool: ...
    def runner_for(self, loop: Any, ledger: Any, /) -> Runner: ...
    @property
    def desk(self) -> ChannelContext: ...


class Seen(Struct, frozen=True):
    """One change, as the runner wants it."""

    prompt: Prompt | None
    session: Session | None = None


class SharedLedger:
    """Receipts as all hubs know them; each write is with NATS when it returns. Buttons there are none."""

    def __init__(self, node: Node, box: HubBox) -> None:
        self._node, self._box = node, box
        self._rows: dict[str, Receipt] = {}

    async def begin(self) -> None:
        await self._node.bus.subscribe(f"{self._node.subjects.root}.told.*", self._hear)
        await self._load()

    async def _hear(self, message: Message) -> None:
        self._take(message.subject, message.data)

    def _take(self, subject: str, data: bytes) -> None:
        try:
            row = msgspec.msgpack.decode(self._box.open(subject, data), type=Receipt)
        except (Unread, Unsealed, ValueError) as error:
            log.warning("a receipt was not read: %s", error)
            return
        key = _key(row)
        if self._node.subjects.told(key) != subject:
            return
        if row.state == "over":
            self._rows.pop(key, None)
        else:
            self._rows[key] = row

    async def _load(self) -> None:
        self._rows.clear()
        await self._node.hub.load(
            self._node.subjects.control_stream,
            f"{self._node.subjects.root}.told.*",
            lambda s, d, _: self._take(s, d),
        )

    def receipts(self) -> Sequence[Receipt]:
        return list(self._rows.values())

    async def put_receipts(self, rows: Sequence[Receipt]) -> None:
        for row in rows:
            await self._put(row, OVER_S if row.state == "over" else 0)

    async def drop_receipts(self, keys: Sequence[tuple[str, str, str]]) -> None:
        for notice, channel, target in keys:
            await self._put(Receipt(notice, channel, target, (), "over"), OVER_S)

    async def _put(self, row: Receipt, ttl: int) -> None:
        subject = self._node.subjects.told(_key(row))
        data = self._box.seal(subject, msgspec.msgpack.encode(row))
        ack = await self._node.bus.request(subject, data, 5, ttl=ttl)
        if "error" in json.loads(ack.data):
            raise Unanswered("NATS did not keep a receipt")
        self._take(subject, data)

    async def put_taps(self, taps: Sequence[tuple[str, Tap]]) -> None:
        return

    async def drop_taps(self, prompt_id: str) -> None:
        return


def _key(row: Receipt) -> str:
    return f"{row.notice}\n{row.channel}\n{row.target}"


class OthersLoop:
    """The prompts of other machines, as the runner of notices wants them."""

    def __init__(self, node: Node, others: OtherHosts) -> None:
        self._node, self._others = node, others

    @property
    def store(self) -> OthersLoop:
        return self

    def live(self) -> tuple[list[Prompt], list[Session]]:
        found = [self.made(copy) for copy in self._node.copies.all("p") if self.is_ours(copy.host)]
        return [each for each in found if each is not None], []

    def is_ours(self, host: str) -> bool:
        known = self._node.copies.hosts.get(host)
        return known is not None and not known.tells

    def prompt(self, id: str) -> Prompt | None:
        found = [copy for copy in self._node.copies.find("p", id) if copy.id == id]
        return self.made(found[0]) if found else None

    def session(self, id: str) -> Session | None:
        return None

    def ended(self, limit: int) -> list[Session]:
        return []

    def body(self, id: str) -> bytes | None:
        """What the tool gets, so that a notice can say how risky it is."""
        found = next((copy for copy in self._node.copies.find("p", id) if copy.id == id), None)
        view = self._others.view(found) if found is not None else None
        tool = view.get("tool") if view is not None else None
        return msgspec.json.encode({"tool_input": tool.get("input")}) if tool else None

    async def answer(self, prompt_id: str, answer: Answer, wait: float) -> tuple[Verdict, Prompt | None]:
        why = "This is another machine's, which does only what a device has signed. Answer it in the app."
        return Verdict("refused", why), self.prompt(prompt_id)

    def subscribe(self, after: int | None) -> OthersFeed:
        return OthersFeed(self)

    def listen(self, feed: OthersFeed) -> None:
        self._node.copies.listeners.append(feed.heard)

    def leave(self, feed: OthersFeed) -> None:
        self._node.copies.listeners.remove(feed.heard)

    def made(self, copy: Copy, *, gone: bool = False) -> Prompt | None:
        """The row as a prompt: what is asked in words, and nothing that could be pressed."""
        view, host = self._others.view(copy), self._node.copies.hosts.get(copy.host)
        if view is None or host is None:
            return None
        project = str(view["cwd"]).rstrip("/").rpartition("/")[2] or "/"
        offers = [option["label"] for question in view["questions"] for option in question["options"]]
        listed = f"{view['body']}\n{' · '.join(offers)}" if view["kind"] == "question" and offers else view["body"]
        state = "ended" if gone and view["state"] not in CLOSED else view["state"]
        moments = [Moment(m["at"], m["state"], m["by"], m["detail"]) for m in view["history"]]
        by = view["answered_by"] or ""
        return Prompt(
            id=copy.id,
            kind=view["kind"],
            agent=view["agent"],
            session_id=view["session_id"],
            cwd=f"{project} on {host.member.name}".replace("/", ""),
            title=view["title"],
            opened_at=view["opened_at"],
            state=state,
            body=listed,
            tool=Tool(view["tool"]["name"]) if view["tool"] else None,
            request=copy.id,
            link="fleet",
            answerable=True,
            answer=Answer("fleet", by, "fleet") if by and state not in ("open", "desk", "ended") else None,
            outcome=None if view["outcome"] == "unknown" else view["outcome"],
            closed_at=view["closed_at"],
            history=tuple(moments),
        )


class OthersFeed:
    """Their changes, for one reader; it ends when the reader was too slow."""

    def __init__(self, loop: OthersLoop) -> None:
        self._loop = loop
        self._waiting: deque[Seen] = deque()
        self._wake = asyncio.Event()
        self._lagged = False

    async def __aenter__(self) -> Self:
        self._loop.listen(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.leave(self)

    def heard(self, changed: Changed) -> None:
        copy = changed.copy
        if copy is None or copy.kind != "p" or not self._loop.is_ours(changed.host):
            return
        prompt = self._loop.made(copy, gone=changed.gone and not copy.over)
        if prompt is not None:
            self._lagged = self._lagged or len(self._waiting) >= QUEUE
            self._waiting.append(Seen(prompt))
            self._wake.set()

    async def __aiter__(self) -> AsyncIterator[Seen]:
        while not self._lagged:
            while self._waiting:
                yield self._waiting.popleft()
            self._wake.clear()
            if not self._waiting:
                await self._wake.wait()


class FleetNotices:
    def __init__(self, node: Node, others: OtherHosts, telling: Telling) -> None:
        self._node, self._telling = node, telling
        box = HubBox(node.keys, node.membership.fleet, lambda: node.roster)
        self.lease = ChannelLease(node.bus, node.subjects, node.keys, box, telling.tells)
        self._ledger = SharedLedger(node, box)
        self._loop = OthersLoop(node, others)
        node.extras += [self._ledger.begin, self.lease.begin]

    async def run(self) -> None:
        """Until cancelled: while this hub leads, its channels tell of the other machines' prompts."""
        leading = asyncio.create_task(self.lease.run())
        running: asyncio.Task[None] | None = None
        generation = -1
        try:
            while True:
                lead = self.lease.held
                if running is not None and (not lead or generation != self._telling.generation or running.done()):
                    await _stopped(running)
                    running = None
                if lead and running is None:
                    generation = self._telling.generation
                    runner = self._telling.runner_for(self._loop, self._ledger)
                    running = asyncio.create_task(runner.run(self._telling.desk, listen=False))
                    log.info("this hub tells people of the other machines' prompts")
                await asyncio.sleep(LOOK_S)
        finally:
            leading.cancel()
            if running is not None:
                await _stopped(running)

    async def close(self) -> None:
        try:
            async with asyncio.timeout(2):
                await self.lease.release()
        except (Away, Unanswered, TimeoutError):
            pass


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    done = (await asyncio.gather(task, return_exceptions=True))[0]
    if isinstance(done, Exception):
        log.error("telling of other machines failed", exc_info=done)
