"""The other machines of a fleet as the server shows them: their rows with their machine's name, and what
changes.

Rule: what another machine says is shown as it said it, once it has the form that front ends rely on; of a
machine that is away, and of a row that is not whole, nothing can be answered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast
from urllib.parse import quote

import msgspec
from msgspec import Raw

from yourcall.fleet.bus import Away, Unanswered
from yourcall.fleet.copies import Changed, Copy, HostCopy
from yourcall.fleet.node import Node
from yourcall.server.fleet.port import Found, Kind, Listed
from yourcall.server.fleet.wire import GoneNews, HostNews, HostRef, HostView
from yourcall.server.wire import PromptStory, SessionView
from yourcall.store.sqlite import Store
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode

# What a front end that was away may catch up on; one that was away for longer fetches the lists.
MOST_NEWS = 4_000
QUEUE = 2_000

# Prompts that are too large for a row, fetched because somebody looks.
MOST_WHOLE = 500
LARGEST_WHOLE = 64 << 20
FETCHES = 8
FETCH_S = 5.0


class Whole(msgspec.Struct, frozen=True):
    number: int
    view: bytes


class OtherHosts:
    def __init__(self, node: Node, store: Store) -> None:
        self._node, self._store = node, store
        self._shown: dict[tuple[str, str, str], tuple[int, HostRef, Listed | None]] = {}
        self._whole: OrderedDict[tuple[str, str], Whole] = OrderedDict()
        self._whole_bytes = 0
        self._fetching: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(FETCHES)
        self._news: deque[tuple[int, bytes]] = deque(maxlen=MOST_NEWS)
        self._floor = store.last_seq + 1
        self._listening: set[asyncio.Queue[bytes | None]] = set()
        self._tasks = Tasks()
        node.copies.listeners.append(self._changed)

    # --- lists
    # -------------------------------------------------------------------------------------------------------

    async def listed(self, kind: Kind) -> Sequence[Listed]:
        copies = list(self._node.copies.all("p" if kind == "prompts" else "s"))
        if kind == "prompts":
            await self._fetch_all([each for each in copies if not each.whole])
        found = [self._listed(copy) for copy in copies]
        return [each for each in found if each is not None]

    def _listed(self, copy: Copy) -> Listed | None:
        host = self._node.copies.hosts.get(copy.host)
        if host is None:
            return None
        ref = ref_of(host)
        key = (copy.host, copy.kind, copy.id)
        known = self._shown.get(key)
        whole = self._whole.get((copy.host, copy.id)) if not copy.whole else None
        number = copy.number if whole is None or whole.number != copy.number else -copy.number
        if known is not None and known[0] == number and known[1] == ref:
            return known[2]
        made = self._made(copy, ref, whole.view if whole is not None and whole.number == copy.number else None)
        self._shown[key] = (number, ref, made)
        return made

    def _made(self, copy: Copy, ref: HostRef, whole: bytes | None) -> Listed | None:
        view = self.view(copy, whole)
        if view is None:
            return None
        # The name that the authority gave it: a machine may call itself anything.
        view["host"], view["machine"] = msgspec.to_builtins(ref), ref.name
        if copy.kind == "s":
            return Listed(copy.host, (0.0, -float(view["seen_at"]), copy.id), Raw(_encode(view)))
        if ref.state != "online" or (whole is None and not copy.whole):
            view["held"] = False
        return Listed(copy.host, (float(view["rank"]), float(view["opened_at"]), copy.id), Raw(_encode(view)))

    def view(self, copy: Copy, whole: bytes | None = None) -> dict[str, Any] | None:
        """The row as its host said it; None if it has not the form of one."""
        data = whole if whole is not None else copy.view
        try:
            value: object = msgspec.json.decode(data)
            checked = msgspec.json.decode(data, type=PromptStory if copy.kind == "p" else SessionView)
        except (ValueError, RecursionError) as error:
            log.warning("a row of %s is not understood: %s", copy.host, str(error)[:200])
            return None
        if not isinstance(value, dict) or checked.id != copy.id:
            return None
        return cast("dict[str, Any]", value)

    # --- what is too large for a row
    # -----------------------------------------------------------------------------------

    async def _fetch_all(self, copies: Sequence[Copy]) -> None:
        """Those that are there; nobody waits for the others."""
        wanted = [self._fetch(each) for each in copies[:MOST_WHOLE] if self._is_missing(each)]
        if wanted:
            await asyncio.wait(wanted, timeout=FETCH_S)

    def _is_missing(self, copy: Copy) -> bool:
        host = self._node.copies.hosts.get(copy.host)
        known = self._whole.get((copy.host, copy.id))
        return host is not None and host.online and (known is None or known.number != copy.number)

    def _fetch(self, copy: Copy) -> asyncio.Task[None]:
        key = (copy.host, copy.id)
        task = self._fetching.get(key)
        if task is None:
            task = self._fetching[key] = self._tasks.spawn(self._fetched(copy))
            task.add_done_callback(lambda _: self._fetching.pop(key, None))
        return task

    async def _fetched(self, copy: Copy) -> None:
        host = self._node.copies.hosts.get(copy.host)
        if host is None:
            return
        async with self._room:
            try:
                told = await self._node.hub.ask(host, "GET", f"/api/prompts/{quote(copy.id, safe='')}")
            except (Away, Unanswered):
                return
        if told.status == 200 and self.view(copy, told.body) is not None:
            self.keep_whole(copy, told.body)

    def keep_whole(self, copy: Copy, view: bytes) -> None:
        key = (copy.host, copy.id)
        old = self._whole.pop(key, None)
        self._whole_bytes += len(view) - (len(old.view) if old is not None else 0)
        self._whole[key] = Whole(copy.number, view)
        while len(self._whole) > MOST_WHOLE or self._whole_bytes > LARGEST_WHOLE:
            _, gone = self._whole.popitem(last=False)
            self._whole_bytes -= len(gone.view)

    def known_view(self, host: str, id: str) -> dict[str, Any] | None:
        """All of a prompt as it was last said, where all of it is known."""
        copy = next(
            (each for each in self._node.copies.find("p", id) if each.host == host and each.id == id), None
        )
        if copy is None:
            return None
        if copy.whole:
            return self.view(copy)
        whole = self._whole.get((host, id))
        return self.view(copy, whole.view) if whole is not None and whole.number == copy.number else None

    # --- one of them
    # ---------------------------------------------------------------------------------------------------

    def find(self, kind: Kind, name: str) -> Sequence[Found]:
        return [
            Found(each.host, each.id) for each in self._node.copies.find("p" if kind == "prompts" else "s", name)
        ]

    async def last_known(self, kind: Kind, host: str, id: str) -> Raw | None:
        for copy in self._node.copies.find("p" if kind == "prompts" else "s", id):
            if copy.host == host and copy.id == id:
                made = self._listed(copy)
                return made.view if made is not None else None
        return None

    # --- what changes
    # --------------------------------------------------------------------------------------------------

    def floor(self) -> int:
        return self._floor

    async def news(self, after: int | None) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE)
        if after is not None:
            for seq, message in list(self._news):
                if seq >= after and not queue.full():
                    queue.put_nowait(message)
        self._listening.add(queue)
        try:
            while (message := await queue.get()) is not None:
                yield message
        finally:
            self._listening.discard(queue)

    def _changed(self, changed: Changed) -> None:
        copy = changed.copy
        seq = self._store.last_seq
        if copy is None:
            host = self._node.copies.hosts.get(changed.host)
            view = None if host is None or changed.gone else host_view(host)
            self._say(seq, _encode(HostNews(changed.host, view)))
            if host is not None and not changed.gone:
                for each in list(host.rows.values()):
                    if each.kind == "p":
                        self._say_row(seq, each)
            return
        if changed.gone:
            self._shown.pop((copy.host, copy.kind, copy.id), None)
            gone = self._whole.pop((copy.host, copy.id), None)
            self._whole_bytes -= len(gone.view) if gone is not None else 0
        if copy.over or not changed.gone:
            self._say_row(seq, copy)
            if not copy.whole and not changed.gone and self._listening:
                self._tasks.spawn(self._say_whole(copy))
        else:
            self._say(seq, _encode(GoneNews("prompt" if copy.kind == "p" else "session", copy.id)))

    async def _say_whole(self, copy: Copy) -> None:
        await self._fetch(copy)
        known = self._whole.get((copy.host, copy.id))
        if known is not None and known.number == copy.number:
            self._say_row(self._store.last_seq, copy)

    def _say_row(self, seq: int, copy: Copy) -> None:
        made = self._listed(copy)
        if copy.over:
            self._shown.pop((copy.host, copy.kind, copy.id), None)
        if made is None:
            return
        word = b'"prompt"' if copy.kind == "p" else b'"session"'
        head = b'{"type":%s,"seq":%d,"at":%s,%s:' % (word, seq, _encode(copy.at), word)
        self._say(seq, head + bytes(made.view) + b"}")

    def _say(self, seq: int, message: bytes) -> None:
        if len(self._news) == MOST_NEWS:
            self._floor = max(self._floor, self._news[0][0] + 1)
        self._news.append((seq, message))
        for queue in list(self._listening):
            if queue.full():
                self._listening.discard(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)  # it is told to come back
            else:
                queue.put_nowait(message)

    async def close(self) -> None:
        self._node.copies.listeners.remove(self._changed)
        for queue in list(self._listening):
            self._listening.discard(queue)
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)
        await self._tasks.close()


def ref_of(host: HostCopy) -> HostRef:
    """`offset` to the second: it changes with every beat."""
    state = "online" if host.online else "offline"
    seen = 0.0 if host.online else host.seen_at
    return HostRef(host.member.id, host.member.name, state, seen, host.act_run, float(round(host.offset or 0.0)))


def host_view(host: HostCopy) -> HostView:
    kinds = [copy.kind for copy in host.rows.values()]
    return HostView(
        id=host.member.id,
        name=host.member.name,
        state="online" if host.online else "offline",
        seen_at=time.time() if host.online else host.seen_at,
        version=host.version,
        roles=host.member.roles,
        prompts=kinds.count("p"),
        sessions=kinds.count("s"),
        offset=None if host.offset is None else round(host.offset, 1),
        refused=host.refused,
        problem=host.why,
    )
