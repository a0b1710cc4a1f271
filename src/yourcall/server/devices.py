"""The devices that may come in: their keys, who of them is connected now, and how a new one is let in.

Rule: a token is shown once and kept only as a hash; a revoked device is out at once, with its open feeds.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from yourcall.server.needs import Device, KeyRing
from yourcall.server.pairing import Pairing

PREFIX = "yc_"

# `yc_` and 43 letters; anything much longer is not hashed at all.
LONGEST_TOKEN = 128

# "Last seen" is for people: once a minute is exact enough, and a disk write for every request is not.
SEEN_EVERY = 60.0

# Words that a history line uses for somebody who is not a device.
RESERVED = frozenset({"cli", "desk", "agent", "session", "yourcall", "rule", "hook"})


class Devices:
    def __init__(self, keys: KeyRing, clock: Callable[[], float] = time.time) -> None:
        self.pairing = Pairing(clock)
        self._keys = keys
        self._clock = clock
        self._known: dict[str, Device] = {}  # by hash: the agent waits while a key is looked at
        self._seen: dict[str, float] = {}
        self._revoked: set[str] = set()
        self._present: dict[str, set[asyncio.Event]] = {}
        self._naming = asyncio.Lock()  # from the look for a free name until it is taken

    def known(self, token: str) -> Device | None:
        """The device that holds this token, unless it was revoked."""
        if not token.startswith(PREFIX) or len(token) > LONGEST_TOKEN:
            return None
        # Looked up by hash: how long that takes says nothing about a token.
        digest = _hash(token)
        device = self._known.get(digest) or self._keys.device_by_hash(digest)
        if device is None:
            return None
        self._known[digest] = device
        now = self._clock()
        if now >= self._seen.get(device.id, 0) + SEEN_EVERY:
            self._seen[device.id] = now
            self._keys.touch_device(device.id, now)
        return device

    def all(self) -> list[Device]:
        return list(self._keys.devices())

    async def add(self, name: str) -> tuple[Device, str]:
        """A new device and its token, which nobody can ask for again."""
        token = PREFIX + secrets.token_urlsafe(32)
        async with self._naming:
            return await self._keys.add_device(self._free(name), _hash(token)), token

    async def rename(self, device_id: str, name: str) -> str | None:
        """The name it has from now on; None if there is no such device, or it is revoked."""
        async with self._naming:
            free = self._free(name, besides=device_id)
            done = await self._keys.rename_device(device_id, free)
        self._known.clear()
        return free if done else None

    async def revoke(self, device_id: str) -> bool:
        """False if there is no such device, or it is revoked already."""
        done = await self._keys.revoke_device(device_id)
        self._known.clear()
        if done:
            self._revoked.add(device_id)
            for cut in self._present.get(device_id, ()):
                cut.set()
        return done

    @contextmanager
    def present(self, device_id: str) -> Generator[asyncio.Event]:
        """While a feed is open; the event is set when the device is revoked."""
        cut = asyncio.Event()
        self._present.setdefault(device_id, set()).add(cut)
        if device_id in self._revoked:  # between the look at its token and now
            cut.set()
        try:
            yield cut
        finally:
            self._present[device_id].discard(cut)
            if not self._present[device_id]:
                del self._present[device_id]

    def _free(self, name: str, besides: str = "") -> str:
        """The name, or the name and a number: two devices that answer must be told apart."""
        plain = " ".join("".join(c for c in name if c.isprintable()).split())[:60] or "device"
        others = (each for each in self._keys.devices() if each.revoked_at is None and each.id != besides)
        taken = {device.name.casefold() for device in others} | RESERVED
        free, number = plain, 1
        while free.casefold() in taken:
            number += 1
            free = f"{plain} {number}"
        return free


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
