"""Who is connected to one of our sockets, and who makes room when there are too many.

Rule: whoever comes is let in. When a socket is full, the peer with most connections loses its oldest one: first of
those who have not said who they are, then of those who have. So nobody keeps others out by sitting there, and a
peer with a single connection keeps it.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
from collections.abc import Callable

# Files that the daemon wants to be able to open; its sockets, taken together, use less than half of them.
FILES = 8_192
# How many connections may wait to be let in, while we are busy with something else.
BACKLOG = 1_024

_LOCAL_PEERPID = 2  # macOS; Python has no name for it


def allow_many_files() -> None:
    """Raise this process's own limit of open files as far as the system lets it; many start with 256 or 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def share(wished: int, part: int) -> int:
    """How many connections one socket may have: this many, but at most one `part`-th of the files we may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wished if soft == resource.RLIM_INFINITY else max(8, min(wished, soft // part))


class Guest:
    """One connection. `drop` ends it at once, whatever is still to be sent."""

    __slots__ = ("drop", "peer")

    def __init__(self, peer: str, drop: Callable[[], None]) -> None:
        self.peer, self.drop = peer, drop


class Crowd:
    """The connections of one socket."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._unknown, self._known = _Guests(), _Guests()

    def enter(self, peer: str, drop: Callable[[], None]) -> Guest:
        """Somebody connected; if there is no room to be made, it is the newcomer that is dropped."""
        guest = Guest(peer, drop)
        self._unknown.add(guest)
        if self._unknown.count + self._known.count > self._most:
            goes = self._who_goes(guest)
            self.leave(goes)
            goes.drop()
        return guest

    def know(self, guest: Guest, name: str = "") -> None:
        """It has said who it is: this name, or the one it came with."""
        if guest in self._unknown:
            self._unknown.remove(guest)
            guest.peer = name or guest.peer
            self._known.add(guest)

    def leave(self, guest: Guest) -> None:
        for guests in (self._unknown, self._known):
            if guest in guests:
                guests.remove(guest)

    def __contains__(self, guest: Guest) -> bool:
        return guest in self._unknown or guest in self._known

    def _who_goes(self, newcomer: Guest) -> Guest:
        if self._unknown.count > 1:
            return next(iter(self._unknown.of_most()))
        most = self._known.of_most()
        return next(iter(most)) if len(most) > 1 else newcomer


class _Guests:
    """Connections by peer, each peer's oldest first."""

    def __init__(self) -> None:
        self.count = 0
        self._by_peer: dict[str, dict[Guest, None]] = {}

    def add(self, guest: Guest) -> None:
        self._by_peer.setdefault(guest.peer, {})[guest] = None
        self.count += 1

    def remove(self, guest: Guest) -> None:
        of_peer = self._by_peer[guest.peer]
        del of_peer[guest]
        if not of_peer:
            del self._by_peer[guest.peer]
        self.count -= 1

    def of_most(self) -> dict[Guest, None]:
        """Those of the peer that has most; of several such peers, the one that came first."""
        return max(self._by_peer.values(), key=len)

    def __contains__(self, guest: Guest) -> bool:
        return guest in self._by_peer.get(guest.peer, ())


def peer_of(sock: socket.socket | None) -> str:
    """The process at the other end of a Unix socket, or the address at the other end of another; empty if the
    system does not tell."""
    if sock is None:
        return ""
    try:
        if sock.family != socket.AF_UNIX:
            return str(sock.getpeername()[0])
        if hasattr(socket, "SO_PEERCRED"):
            line = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return str(struct.unpack("3i", line)[0])
        return str(struct.unpack("i", sock.getsockopt(0, _LOCAL_PEERPID, 4))[0])
    except OSError:
        return ""
