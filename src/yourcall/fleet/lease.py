"""Which hub tells people: one at a time, by a lease that JetStream keeps and that has to be renewed.

A hub takes the lease only where nobody has renewed it for a while, and only over the very message it has seen
last: NATS refuses the second of two that try. Whoever could not renew it in time stops by itself, before
another may begin.

Rule: two never hold it; sooner nobody tells for some seconds than two tell the same.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable

from yourcall.fleet import sealing
from yourcall.fleet.bus import Away, Bus, Message, Unanswered
from yourcall.fleet.certificates import Roster
from yourcall.fleet.envelopes import Envelope, Lease, Unread, decode, encode, envelope, wrapped
from yourcall.fleet.keys import Keys, id_of
from yourcall.fleet.sealing import Unsealed
from yourcall.fleet.subjects import Subjects

log = logging.getLogger(__name__)

EVERY_S = 0.6
# A holder that has not renewed for so long has lost it; another one takes it a second later. In all less than 5 s.
HELD_S, FREE_S = 2.4, 3.4
REPLY_S = 1.0


class HubBox:
    """What hubs keep for each other, sealed for all of them, the one that writes it too."""

    def __init__(self, keys: Keys, fleet: str, roster: Callable[[], Roster]) -> None:
        self._keys, self._fleet, self._roster = keys, fleet, roster
        self._pairs: dict[bytes, bytes] = {}

    def _pair(self, key: bytes) -> bytes:
        if key not in self._pairs:
            self._pairs[key] = sealing.shared_key(self._keys.seal, key, self._fleet)
        return self._pairs[key]

    def seal(self, subject: str, data: bytes) -> bytes:
        roster = self._roster()
        hubs = {hub.id: self._pair(hub.seal) for hub in roster.hubs if hub.id not in roster.revoked}
        to, body = sealing.seal_for(hubs, data, sealing.context("hubs", subject))
        return wrapped(self._keys.id, self._keys.seal_public, body, to)

    def open(self, subject: str, data: bytes) -> bytes:
        said: Envelope = envelope(data)
        roster = self._roster()
        known = any(hub.id == said.by and hub.seal == said.key for hub in roster.hubs)
        wrapped_key = said.to.get(self._keys.id)
        if not known or said.by in roster.revoked or wrapped_key is None or id_of(said.key) != said.by:
            raise Unsealed("by no hub of this fleet, or not for this one")
        return sealing.unseal_one(self._pair(said.key), wrapped_key, said.body, sealing.context("hubs", subject))


class ChannelLease:
    """`wanted`: this hub can tell people at all."""

    def __init__(self, bus: Bus, subjects: Subjects, keys: Keys, box: HubBox, wanted: Callable[[], bool]) -> None:
        self._bus, self._subjects, self._id, self._box, self.wanted = bus, subjects, keys.id, box, wanted
        self._heard = time.monotonic()
        self._renewed = float("-inf")
        self._number = 0
        self._known = ("", -1)  # the lease that was heard or read last
        self.holder = ""

    @property
    def held(self) -> bool:
        return time.monotonic() - self._renewed < HELD_S

    async def begin(self) -> None:
        """With each line: nobody is taken for gone before the line has been listened to for a while."""
        self._heard = time.monotonic()
        await self._bus.subscribe(self._subjects.lease, self._hear)

    async def _hear(self, message: Message) -> None:
        self._take(message.data)

    def _take(self, data: bytes) -> Lease | None:
        try:
            lease = decode(self._box.open(self._subjects.lease, data), Lease)
        except (Unread, Unsealed) as error:
            log.warning("a lease was not read: %s", error)
            return None
        self.holder, self._known = lease.holder, (lease.holder, lease.number)
        if lease.holder:
            self._heard = time.monotonic()
        else:
            self._heard = float("-inf")  # whoever had it let it go
        return lease

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if not self._bus.up:
                self._renewed = float("-inf")
                continue
            try:
                if self.held and not self.wanted():
                    await self.release()
                elif self.held or (self.wanted() and time.monotonic() - self._heard > FREE_S):
                    await self._take_or_renew()
            except (Away, Unanswered):
                continue  # it ends by itself if this goes on

    async def _take_or_renew(self) -> None:
        began = time.monotonic()
        last = await self._last()
        if last is None:
            return
        number, lease = last
        if not self.held and lease is not None and lease.holder and self._known != (lease.holder, lease.number):
            # It was renewed, and we did not hear of it: free only if nobody renews it from here on.
            self._known, self._heard = (lease.holder, lease.number), began
            return
        if await self._put(number, self._id):
            self._renewed = self._heard = began
            self.holder = self._id
        else:
            self._renewed = float("-inf")
            self._heard = began  # somebody else was first

    async def release(self) -> None:
        """Another one may begin at once."""
        if not self.held:
            return
        self._renewed = float("-inf")
        last = await self._last()
        if last is not None:
            await self._put(last[0], "")

    async def _last(self) -> tuple[int, Lease | None] | None:
        """The number under which NATS keeps the last lease, and what it says; 0: there was none."""
        stream, subject = self._subjects.control_stream, self._subjects.lease
        message = await self._bus.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", REPLY_S)
        headers = message.headers or {}
        if headers.get("Status"):
            return (0, None)
        number = headers.get("Nats-Sequence", "")
        if not number.isdecimal():
            return None
        try:
            return int(number), decode(self._box.open(subject, message.data), Lease)
        except (Unread, Unsealed):
            return int(number), None  # of a hub that was removed since

    async def _put(self, after: int, holder: str) -> bool:
        self._number += 1
        data = self._box.seal(self._subjects.lease, encode(Lease(holder, self._number, time.time())))
        expected = {"Nats-Expected-Last-Subject-Sequence": str(after)}
        ack = await self._bus.request(self._subjects.lease, data, REPLY_S, headers=expected)
        return "error" not in json.loads(ack.data)
