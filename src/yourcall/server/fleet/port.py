"""What the server needs of the fleet, said by the side that calls.

Rule: where there is no fleet, `None` stands for it, and nothing else may depend on it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol

from msgspec import Raw, Struct

from yourcall.model.prompts import Refused
from yourcall.server.fleet.wire import FleetDevice, FleetView, HostRef, HostView, InvitationView, Role

Kind = Literal["prompts", "sessions"]


class Found(Struct, frozen=True):
    """A prompt or a session of another machine: where, and its whole id."""

    host: str
    id: str


class Listed(Struct, frozen=True):
    """One row of another machine's, ready to be sent; `place`: where it stands in a list."""

    host: str
    place: tuple[float, float, str]
    view: Raw


class Remote(Struct, frozen=True):
    """Another machine's reply. `away`: nothing reached it, and this is why. `doubt`: it may have been done.
    `stale`: the device may sign once more, for this run and this time."""

    status: int
    body: bytes
    away: str = ""
    doubt: str = ""
    stale: tuple[str, int] | None = None


class Others(Protocol):
    """What hubs know of other machines."""

    @property
    def me(self) -> HostRef: ...
    async def listed(self, kind: Kind, /) -> Sequence[Listed]: ...
    def find(self, kind: Kind, name: str, /) -> Sequence[Found]: ...
    def host(self, name: str, /) -> str | Refused: ...
    def ref(self, host: str, /) -> HostRef | None: ...
    async def last_known(self, kind: Kind, host: str, id: str, /) -> Raw | None: ...
    def floor(self) -> int: ...
    def news(self, after: int | None, /) -> AsyncIterator[bytes]: ...


class Asking(Protocol):
    """To pass a request on. `signed`: the header in which a device has signed it. `desk`: this home's own key
    signs."""

    async def look(self, host: str, target: str, method: str, body: bytes, /) -> Remote: ...
    async def signed(
        self, host: str, target: str, method: str, body: bytes, header: str, key: str, /
    ) -> Remote | Refused: ...
    async def desk(
        self, host: str, target: str, method: str, body: bytes, prompt_id: str, /
    ) -> Remote | Refused: ...


class Governing(Protocol):
    """What is done at a desk."""

    async def view(self, key: str, /) -> FleetView: ...
    async def hosts(self) -> Sequence[HostView]: ...
    def invite(self, roles: tuple[Role, ...], /) -> InvitationView | Refused: ...
    async def rename(self, host: str, name: str, /) -> Refused | None: ...
    async def remove(self, host: str, /) -> Refused | None: ...
    def devices(self) -> Sequence[FleetDevice]: ...
    async def allow(self, device: str, /) -> FleetDevice | Refused: ...
    async def disallow(self, device: str, /) -> Refused | None: ...
    def metrics(self) -> str: ...


class Fleet(Others, Asking, Governing, Protocol):
    """All of it."""


class FleetDoor(Protocol):
    """The fleet that this machine is in now, if it is in one; to join it, and to leave it, while the daemon
    runs."""

    @property
    def now(self) -> Fleet | None: ...
    async def begin(self) -> Refused | None: ...
    async def end(self) -> bool: ...
    async def changed(self) -> None: ...
