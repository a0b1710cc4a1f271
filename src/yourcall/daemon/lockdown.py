"""The emergency lock: a file in yourcall's home that stops all that is done through yourcall.

While it is there, nothing is answered, allowed, steered or started from any device, chat, rule or command; agents
ask in their own terminals. A device that is locked out is revoked for good.

Rule: the file alone locks. It is looked at before each act, so it needs no daemon that works; one that cannot be
read locks as well. Only a person at the machine removes it.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from yourcall.daemon.rules.files import LOCKED as NAME
from yourcall.daemon.rules.files import Files
from yourcall.model.events import HolderLost, SettingsChanged
from yourcall.model.prompts import Refused
from yourcall.store.since import Happening, happened
from yourcall.system import private_files

log = logging.getLogger(__name__)

LOOK_S = 0.5  # a device that is connected is cut off within this, also when the file was written past the daemon
WHY = "yourcall is locked. Answer in the agent's own terminal. To unlock, at the machine: yourcall unlock"


class Locked(Struct, frozen=True):
    """`keep`: the one device that is not revoked; it may look, and do nothing else until somebody unlocks."""

    at: float = 0.0
    by: str = ""
    keep: str = ""


def read(home: Path) -> Locked | None:
    try:
        return msgspec.json.decode((home / NAME).read_bytes(), type=Locked)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return Locked()


def lock(home: Path, by: str, keep: str = "") -> Locked:
    """Lock, and pause the rules. Who locks what is locked already changes nothing but takes the kept device out:
    the first lock says since when, and two people who lock may each mean the other's device."""
    before = read(home)
    locked = Locked(time.time(), by, keep)
    if before is not None:
        locked = Locked(before.at or locked.at, before.by or by, keep if keep == before.keep else "")
    private_files.write(home / NAME, msgspec.json.encode(locked))
    Files(home).pause(locked.at, by)
    return locked


def unlock(home: Path) -> None:
    """Rules stay paused and devices revoked: each is let in again by hand."""
    (home / NAME).unlink(missing_ok=True)


class DeviceRow(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def revoked_at(self) -> float | None: ...


class LockedStore(Protocol):
    def devices(self) -> Sequence[DeviceRow]: ...
    async def drop_all_taps(self) -> None: ...
    def note(self, event: SettingsChanged, /) -> object: ...


async def shut_out(store: LockedStore, locked: Locked, revoke: Callable[[str, str], Awaitable[bool]]) -> list[str]:
    """Revoke every device but the kept one. The names of those that were revoked now."""
    others = [each for each in store.devices() if each.revoked_at is None and each.id != locked.keep]
    return [each.name for each in others if await revoke(each.id, author(locked))]


def author(locked: Locked) -> str:
    return f"lock, by {locked.by}"[:100]


def no_daemon(home: Path) -> int | None:
    """The daemon's own lock on this home, while no daemon has it; None if one has. Close it to give it back."""
    file = os.open(home / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


class Lockdown:
    """The lock of a running daemon: what it says now, and what has to be done once somebody has locked."""

    def __init__(
        self,
        home: Path,
        store: LockedStore,
        revoke: Callable[[str, str], Awaitable[bool]],
        held: Callable[[], list[str]],
        let_go: Callable[[HolderLost], Awaitable[object]],
        was_locked: bool,
    ) -> None:
        """`held`: the prompts whose requests hooks hold. `was_locked`: as it is on record, so that what happened
        while no daemon ran is recorded, too. `close`: what else is to be shut."""
        self._home, self._store, self._revoke, self._held, self._let_go = home, store, revoke, held, let_go
        self._recorded = was_locked
        self._done: Locked | None = None
        self.close: list[Callable[[str], Awaitable[object]]] = []

    @property
    def now(self) -> Locked | None:
        return read(self._home)

    def refusal(self) -> Refused | None:
        """The no to whatever would be done through yourcall now."""
        return Refused(WHY) if self.now is not None else None

    async def lock(self, by: str, keep: str) -> None:
        lock(self._home, by, keep)
        await self.enforce()

    def unlock(self, by: str) -> None:
        unlock(self._home)
        self._record(by)

    def happened(self, since: float) -> tuple[list[Happening], bool]:
        return happened(self._home / "yourcall.db", since)

    async def enforce(self) -> None:
        """Bring everything to what the file says."""
        locked = self.now
        self._record("the machine" if locked is None else locked.by)
        if locked is None:
            self._done = None
            return
        # Each time: somebody may have been let in by a request that was under way while the file was written.
        await shut_out(self._store, locked, self._revoke)
        if locked != self._done:
            await self._store.drop_all_taps()
            for close in self.close:
                await close(author(locked))
        for prompt_id in self._held():
            await self._let_go(HolderLost(time.time(), prompt_id, "yourcall is locked"))
        self._done = locked

    def _record(self, by: str) -> None:
        locked = self.now is not None
        if locked != self._recorded:
            what, state = ("locked", NAME) if locked else ("unlocked", "")
            self._store.note(SettingsChanged(time.time(), "lock", what, "yourcall", by, state=state))
            self._recorded = locked

    async def run(self) -> None:
        while True:
            try:
                await self.enforce()
            except Exception:  # the file locks by itself; what could not be shut is tried again
                log.exception("the lock could not be enforced in full")
            await asyncio.sleep(LOOK_S)
