"""The devices that may come in: their keys, what each may do, who is connected now, and how a new one is let in.

Rule: a token is shown once and kept only as a hash; a revoked device is out at once, with its open feeds.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager

from msgspec.structs import replace

from yourcall.model.people import Person
from yourcall.rules.may_answer import ROLE_OF, within
from yourcall.server import scopes
from yourcall.server.pairing import Pairing
from yourcall.server.ports import Device, KeyRing
from yourcall.server.scopes import FOR_SCRIPT, Scope
from yourcall.server.signatures import Signatures, Tickets

PREFIX = "yc_"

# `yc_` and 43 letters; anything much longer is not hashed at all.
LONGEST_TOKEN = 128

# "Last seen" is for people: once a minute is exact enough, and a disk write for every request is not.
SEEN_EVERY = 60.0

# Words that a history line uses for somebody who is not a device.
RESERVED = frozenset({"cli", "desk", "agent", "session", "yourcall", "rule", "hook"})


class Devices:
    def __init__(
        self, keys: KeyRing, clock: Callable[[], float] = time.time, signatures: Signatures | None = None
    ) -> None:
        self.pairing = Pairing(clock)
        self.signatures = signatures or Signatures()
        self.tickets = Tickets()
        self._keys = keys
        self._clock = clock
        self._known: dict[str, Device] = {}  # by hash: the agent waits while a key is looked at
        self._by_id: dict[str, Device] = {}
        self._seen: dict[str, float] = {}
        self.forgets: list[Callable[[str], object]] = []  # who is told that a device was revoked
        self._revoked: set[str] = set()
        self._present: dict[str, set[asyncio.Event]] = {}
        self._naming = asyncio.Lock()  # from the look for a free name until it is taken

    def known(self, token: str) -> Device | None:
        """The device that holds this token, unless it was revoked. Whether the token is void is not asked here."""
        if not token.startswith(PREFIX) or len(token) > LONGEST_TOKEN:
            return None
        # Looked up by hash: how long that takes says nothing about a token.
        digest = _hash(token)
        device = self._known.get(digest) or self._keys.device_by_hash(digest)
        if device is None:
            return None
        self._known[digest] = device
        if not device.void:
            self.came_by(device)
        return device

    def browser(self, device_id: str) -> Device | None:
        """The device of this id that has a key of its own, unless it was revoked."""
        device = self.by_id(device_id)
        return device if device is not None and device.public_key else None

    def by_id(self, device_id: str) -> Device | None:
        if device_id not in self._by_id:
            self._by_id = {each.id: each for each in self._keys.devices() if each.revoked_at is None}
        return self._by_id.get(device_id)

    def person_of(self, device_id: str) -> str:
        """The id of the person whose device it is; empty: the owner's of the machine."""
        device = self.by_id(device_id)
        return device.person if device is not None else ""

    def people(self) -> list[Person]:
        """Those that were not removed."""
        return [each for each in self._keys.people() if each.removed_at is None]

    def person_named(self, name: str) -> Person | None:
        return next((each for each in self.people() if name.casefold() in (each.id, each.name.casefold())), None)

    async def put_person(self, person: Person, what: str, by: str) -> None:
        await self._keys.put_person(person, what, by)
        for device in [each for each in self.all() if each.person == person.id and each.revoked_at is None]:
            self._cut(device.id)  # it may do something else now

    async def remove_person(self, person: Person, by: str) -> int:
        """How many devices of theirs were revoked."""
        await self._keys.put_person(replace(person, removed_at=self._clock()), "removed", by)
        theirs = [each.id for each in self.all() if each.person == person.id and each.revoked_at is None]
        return sum([await self.revoke(each, by) for each in theirs])

    async def give(self, device_id: str, person: str, by: str) -> bool:
        done = await self._keys.give_device(device_id, person, by)
        self._forget_rows()
        if done:
            self._cut(device_id)
        return done

    def scopes_of(self, device: Device, cwd: str | None = None) -> tuple[Scope, ...]:
        """What it may do: as it was given, and no more than its person may, there or anywhere."""
        own = scopes.in_order(device.scopes.split(","))
        if not device.person:
            return own
        person = next((each for each in self.people() if each.id == device.person), None)
        grants = () if person is None else person.grants
        roles = {role for each in grants if cwd is None or within(cwd, each.projects) for role in each.roles}
        return tuple(each for each in own if ROLE_OF[each] in roles)

    def is_limited(self, device: Device) -> bool:
        """Is its person limited to some projects? Then it comes in only where each project is looked at."""
        person = next((each for each in self.people() if each.id == device.person), None)
        return bool(device.person) and (person is None or any(each.projects for each in person.grants))

    async def note_wish(self, device_id: str, session_id: str) -> None:
        """A device told this session what to do; if it is a person's, that is kept."""
        person = self.person_of(device_id) if device_id else ""
        if person:
            await self._keys.note_wish(session_id, person)

    def may_there(self, device_id: str, cwd: str, scope: Scope) -> bool:
        """May this device do that in this folder? The machine's own command line may."""
        device = self.by_id(device_id) if device_id else None
        return not device_id or (device is not None and scope in self.scopes_of(device, cwd))

    def came_by(self, device: Device) -> None:
        """It showed its key just now."""
        now = self._clock()
        if now >= self._seen.get(device.id, 0) + SEEN_EVERY:
            self._seen[device.id] = now
            self._keys.touch_device(device.id, now)

    def all(self) -> list[Device]:
        return list(self._keys.devices())

    async def add(
        self, name: str, may: Collection[Scope] = FOR_SCRIPT, *, by: str = "", what: str = "added"
    ) -> tuple[Device, str]:
        """A new device and its token, which nobody can ask for again. `by` and `what` are for the record."""
        token = PREFIX + secrets.token_urlsafe(32)
        return await self._add(name, _hash(token), may, "", by, what), token

    async def add_browser(self, name: str, may: Collection[Scope], public_key: str, *, by: str = "") -> Device:
        """A new device that signs what it asks for; it has no token."""
        # The column wants one of its own for each; nothing hashes to a word that is no hash.
        return await self._add(name, f"none {secrets.token_hex(16)}", may, public_key, by, "paired")

    async def _add(
        self, name: str, token_hash: str, may: Collection[Scope], public_key: str, by: str, what: str
    ) -> Device:
        async with self._naming:
            free, text = self._free(name), scopes.stored(may)
            made = await self._keys.add_device(
                free, token_hash, scopes=text, public_key=public_key, by=by, what=what
            )
        self._forget_rows()
        return made

    async def scope(self, device_id: str, may: Collection[Scope], by: str = "") -> bool:
        """What it may do from now on; its open feeds begin anew. False if there is no such device any more."""
        done = await self._keys.scope_device(device_id, scopes.stored(may), by)
        self._forget_rows()
        if done:
            self._cut(device_id)
        return done

    async def void(self, device: Device) -> None:
        """Its token came as a cookie, so others may have it, too."""
        if not device.void:
            await self._keys.void_device(device.id)
            self._forget_rows()
            self._cut(device.id)

    async def rename(self, device_id: str, name: str, by: str = "") -> str | None:
        """The name it has from now on; None if there is no such device, or it is revoked."""
        async with self._naming:
            free = self._free(name, besides=device_id)
            done = await self._keys.rename_device(device_id, free, by)
        self._forget_rows()
        return free if done else None

    async def revoke(self, device_id: str, by: str = "") -> bool:
        """False if there is no such device, or it is revoked already."""
        done = await self._keys.revoke_device(device_id, by=by)
        self._forget_rows()
        if done:
            self._revoked.add(device_id)
            self.tickets.forget(device_id)
            self.signatures.forget(device_id)
            for forget in self.forgets:
                forget(device_id)
            self._cut(device_id)
        return done

    async def close_pairing(self, _by: str) -> None:
        """Nobody gets in with the code that is shown somewhere."""
        self.pairing.close()

    def revoked(self, device_id: str) -> bool:
        """Was it revoked in this run? If its feed was cut and it was not, it may come back at once."""
        return device_id in self._revoked

    def _cut(self, device_id: str) -> None:
        for cut in self._present.get(device_id, ()):
            cut.set()

    def _forget_rows(self) -> None:
        self._known.clear()
        self._by_id.clear()

    @contextmanager
    def present(self, device_id: str) -> Generator[asyncio.Event]:
        """While a feed is open; the event is set when the device is revoked, or may do something else."""
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
