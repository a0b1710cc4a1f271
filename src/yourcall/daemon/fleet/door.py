"""The door to the fleet: whether this machine is in one, and the only thing about it that a machine alone
loads.

Rule: what a fleet needs is imported when one is joined, and not before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from yourcall.model.prompts import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from yourcall.daemon.fleet.parts import FleetParts
    from yourcall.daemon.loop import Loop
    from yourcall.daemon.notify import Notifier
    from yourcall.server.devices import Devices

log = logging.getLogger(__name__)

MISSING = "This needs yourcall's extra `fleet`: pip install 'yourcall[fleet]' ({})."


class FleetDoor:
    """`app`: makes the routes without the gate."""

    def __init__(
        self, home: Path, loop: Loop, devices: Devices, app: Callable[[], ASGIApp], telling: Notifier
    ) -> None:
        self._home, self._loop, self._devices, self._app, self._telling = home, loop, devices, app, telling
        self._parts: FleetParts | None = None
        self._running: asyncio.Task[None] | None = None
        self._one = asyncio.Lock()
        self._changed = asyncio.Event()
        self.problem = ""

    @property
    def now(self) -> FleetParts | None:
        return self._parts

    def may(self, device: str) -> tuple[str, ...] | None:
        """What a device of the fleet may do here; None: none of ours, or not any more."""
        return self._parts.may(device) if self._parts is not None else None

    async def changed(self) -> None:
        """Until this machine joins a fleet, or leaves one."""
        await self._changed.wait()

    async def begin(self) -> Refused | None:
        """Join the fleet that the home is a member of, if it is of one; a fleet that was joined before is
        left."""
        async with self._one:
            await self._stop(server=True)
            if not (self._home / "fleet" / "member.json").is_file():
                return None
            try:
                from yourcall.daemon.fleet.parts import FleetParts
                from yourcall.daemon.fleet.this_host import Needs
                from yourcall.fleet.membership import read
            except ImportError as error:
                self.problem = MISSING.format(error)
                log.error("not in the fleet: %s", self.problem)
                return Refused(self.problem)
            found = await asyncio.to_thread(read, self._home)
            if found is None or isinstance(found, Refused):
                self.problem = found.reason if found is not None else ""
                log.error("not in the fleet: %s", self.problem)
                return found
            try:
                needs = Needs(self._loop, self._loop.store, self._devices, self._app(), self._telling)
                self._parts = FleetParts(self._home, found, needs)
            except (OSError, ValueError) as error:
                self.problem = str(error)
                log.error("not in the fleet: %s", error)
                return Refused(f"The fleet's files cannot be used: {error}.")
            self.problem = ""
            self._running = asyncio.create_task(self._parts.run())
            self._tell()
            return None

    async def run(self) -> None:
        """At the start of the daemon; until cancelled."""
        await self.begin()
        try:
            await asyncio.Event().wait()
        finally:
            await self._stop(server=True)

    async def end(self) -> bool:
        """Leave it: True if the authority was told."""
        async with self._one:
            told = await self._parts.leave() if self._parts is not None else False
            await self._stop(server=True)
            return told

    async def _stop(self, *, server: bool) -> None:
        parts, running = self._parts, self._running
        if parts is None or running is None:
            return
        self._parts = self._running = None
        await parts.close(stop_server=server)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        parts.ended()
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
