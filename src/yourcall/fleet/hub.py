"""A hub: loads what NATS keeps of the hosts, hears what changes, and asks one host at a time.

Rule: a request that may have changed something is sent once; whether the host is there is known before a
person has to wait, and nothing waits for a host that is away."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
import zlib
from collections.abc import Callable

from msgspec.structs import replace

from yourcall.fleet import sealing
from yourcall.fleet.acts import Act
from yourcall.fleet.bus import Away, Bus, Message, Unanswered
from yourcall.fleet.certificates import Signed
from yourcall.fleet.copies import Copies, HostCopy
from yourcall.fleet.envelopes import (
    LARGEST_BODY,
    LARGEST_MESSAGE,
    LONGEST_TARGET,
    PARTS,
    Ask,
    Told,
    Unread,
    decode,
    encode,
    envelope,
    wrapped,
)
from yourcall.fleet.keys import Keys
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.subjects import Subjects

log = logging.getLogger(__name__)

# What a host is given to reply to a look; a person's answer may wait for its proof besides.
REPLY_S = 10.0
LOAD_S = 20.0
AWAY_LOOK_S = 2.0

# Sums of what was asked, for whoever watches over the fleet.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Hub:
    def __init__(
        self, bus: Bus, subjects: Subjects, keys: Keys, copies: Copies, roster: Callable[[], int]
    ) -> None:
        self._bus, self._subjects, self._keys, self.copies, self._roster = bus, subjects, keys, copies, roster
        self.loaded_at = 0.0
        self.asked: dict[str, int] = {"ok": 0, "away": 0, "unanswered": 0}
        self.seconds = [0] * (len(BUCKETS) + 1)
        self.seconds_sum = 0.0

    # --- copies
    # ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Hear first, then load: what changes meanwhile is in both."""
        subjects, copies = self._subjects, self.copies

        async def head(message: Message) -> None:
            copies.take_head(message.subject, message.data)

        async def row(message: Message) -> None:
            copies.take_row(message.subject, message.data)

        async def beat(message: Message) -> None:
            copies.take_beat(message.subject, message.data)

        await self._bus.subscribe(f"{subjects.root}.row.>", row)
        await self._bus.subscribe(subjects.head("*"), head)
        await self._bus.subscribe(subjects.beat("*"), beat)
        await self._load()
        self.loaded_at = time.time()
        await self._bus.publish(subjects.roll, b"")

    async def _load(self) -> None:
        """The last message of every subject, once; heads after the rows that they make count."""
        heads: list[tuple[str, bytes, float]] = []

        def take(subject: str, data: bytes, kept_at: float) -> None:
            if subject.startswith(self._subjects.head("")):
                heads.append((subject, data, kept_at))
            else:
                self.copies.take_row(subject, data)

        await self.load(self._subjects.state_stream, f"{self._subjects.root}.>", take)
        for subject, data, kept_at in heads:
            self.copies.take_head(subject, data, kept_at, live=False)

    async def load(self, stream: str, subjects: str, take: Callable[[str, bytes, float], None]) -> None:
        """What a stream keeps of these subjects: the last message of each, with the time at which it was kept."""
        inbox, done = self._bus.new_inbox(), asyncio.Event()

        async def heard(message: Message) -> None:
            subject, kept_at, left = _kept(message)
            if subject:
                take(subject, message.data, kept_at)
            if left == 0:
                done.set()

        taking = await self._bus.subscribe(inbox, heard)
        name = f"load{secrets.token_hex(6)}"
        config = {
            "name": name,
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "replay_policy": "instant",
            "deliver_subject": inbox,
            "inactive_threshold": 30 * 10**9,
            "mem_storage": True,
            "num_replicas": 1,
            "filter_subject": subjects,
        }
        wish = json.dumps({"stream_name": stream, "config": config, "action": "create"}).encode()
        reply = await self._bus.request(f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{subjects}", wish, 5)
        told = json.loads(reply.data)
        if "error" in told:
            raise Away(f"NATS does not hand out what it keeps: {told['error'].get('description', '')}")
        if told.get("num_pending", 0) + told.get("delivered", {}).get("consumer_seq", 0):
            async with asyncio.timeout(LOAD_S):
                await done.wait()
        await taking.unsubscribe()

    async def look(self) -> None:
        """Who has fallen silent; until cancelled."""
        while True:
            await asyncio.sleep(AWAY_LOOK_S)
            self.copies.look()

    # --- asking
    # ----------------------------------------------------------------------------------------------------

    async def ask(
        self,
        host: HostCopy,
        method: str,
        target: str,
        body: bytes = b"",
        act: Act | None = None,
        device: Signed | None = None,
        *,
        wait: float = 0.0,
    ) -> Told:
        """The host's own reply, all its parts together. Away: nothing reached it. Unanswered: it may have."""
        began = time.monotonic()
        try:
            told = await self._ask(host, method, target, body, act, device, REPLY_S + wait)
        except Away:
            self.asked["away"] += 1
            self.copies.absent(host.member.id)
            raise
        except Unanswered:
            self.asked["unanswered"] += 1
            raise
        took = time.monotonic() - began
        self.asked["ok"] += 1
        self.seconds[next((n for n, top in enumerate(BUCKETS) if took <= top), len(BUCKETS))] += 1
        self.seconds_sum += took
        return told

    async def _ask(
        self,
        host: HostCopy,
        method: str,
        target: str,
        body: bytes,
        act: Act | None,
        device: Signed | None,
        wait: float,
    ) -> Told:
        to, me = host.member.id, self._keys.id
        about = (host, to, me)
        first = await self._one(about, method, target, body, act, device, wait)
        told = [first]
        while len(told) < first.parts:
            more = await self._one(about, "GET", f"{PARTS}{first.kept}/{len(told)}", b"", None, None, REPLY_S)
            if more.part != len(told):
                raise Unanswered("a part of the reply is gone")
            told.append(more)
        return _unpacked(told)

    async def _one(
        self,
        about: tuple[HostCopy, str, str],
        method: str,
        target: str,
        body: bytes,
        act: Act | None,
        device: Signed | None,
        wait: float,
    ) -> Told:
        host, to, me = about
        if len(target) > LONGEST_TARGET or method not in ("GET", "POST", "DELETE"):
            return Told(400, b'{"error":"This address is too long for another machine."}')
        ask = Ask(secrets.token_hex(8), time.time(), method, target, self._roster(), body, act, device)
        sealed = sealing.seal(host.key, encode(ask), sealing.context("ask", me, to))
        message = wrapped(me, self._keys.seal_public, sealed)
        if len(message) > LARGEST_MESSAGE:
            return Told(413, b'{"error":"This is too large for another machine: at most about 1 MB."}')
        reply = await self._bus.request(self._subjects.ask(to), message, wait)
        return self._opened(host, reply.data, sealing.context("told", to, me, ask.id))

    def _opened(self, host: HostCopy, data: bytes, about: bytes) -> Told:
        try:
            said = envelope(data)
            if not said.body:
                words = "it can't read what this hub says: it doesn't know this hub, or runs another version"
                raise Unanswered(words)
            return decode(sealing.unseal(host.key, said.body, about), Told)
        except (Unread, Unsealed) as error:
            raise Unanswered(f"the reply cannot be read: {error}") from error


def _unpacked(parts: list[Told]) -> Told:
    first = parts[0]
    data = b"".join(part.body for part in parts)
    if first.packed:
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(data, LARGEST_BODY)
        except zlib.error as error:
            raise Unanswered(f"the reply cannot be unpacked: {error}") from error
        if unpack.unconsumed_tail:
            raise Unanswered(f"the reply is larger than {LARGEST_BODY >> 20} MB")
    return replace(first, body=data, packed=False, parts=1)


def _kept(message: Message) -> tuple[str, float, int]:
    """Of a message that a consumer delivers: its own subject, when it was kept, and how many follow."""
    parts = (message.reply or "").split(".")
    if len(parts) < 9 or parts[:2] != ["$JS", "ACK"]:
        return "", 0.0, -1
    tail = parts[-5:] if len(parts) == 9 else parts[-6:-1]
    try:
        return message.subject, int(tail[3]) / 1e9, int(tail[4])
    except ValueError:
        return "", 0.0, -1
