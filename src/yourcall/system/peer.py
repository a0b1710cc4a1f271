"""Who is at the other end of a connection, and how sure we are of it.

Rule: what is said here comes from the kernel (the process that connected), never from the client's own words.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Literal

from msgspec import Struct

SO_PEERPIDFD = 77  # Linux 6.5; Python has no name for it yet
SOL_LOCAL, LOCAL_PEERPID = 0, 2  # macOS

# How the author of an answer is known.
#   device key        it showed the key of a paired device
#   terminal          a process of this user's with a terminal of its own
#   local process     a process of this user's without a terminal
#   supervisor agent  an agent that the configuration names
#   agent             tied to a session: what it says is never taken for an answer
Certainty = Literal["device key", "terminal", "local process", "supervisor agent", "agent"]


class Supervisor(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent that may answer for others: its kind, and the folder that its process was started in."""

    agent: str
    folder: str


class Tie(Struct, frozen=True):
    """What binds a process to a session. `session_id` is empty where only some agent is known."""

    session_id: str
    how: str


class Author(Struct, frozen=True):
    """Whoever asks for a change. `ties` is empty unless it belongs to an agent; `supervisor` is its name if all of
    them are of one that may answer for others; `own` are the sessions that count as its own.

    `doubt`: why it cannot be known who this is; then nothing is changed.
    """

    certainty: Certainty
    ties: tuple[Tie, ...] = ()
    supervisor: str = ""
    own: frozenset[str] = frozenset()
    doubt: str = ""

    @property
    def tied(self) -> bool:
        return bool(self.ties or self.doubt)


class Holder:
    """The process that connected, held so that its number cannot come to mean another one."""

    def __init__(self, pid: int, pidfd: int = -1) -> None:
        self.pid, self._pidfd = pid, pidfd

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    @property
    def alive(self) -> bool:
        """As far as the system can tell; without a handle of the kernel's, its start time must do."""
        if self._pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return not poll.poll(0)


class Peer:
    """One connection: a Unix socket's process, or the two addresses of a TCP connection."""

    def __init__(self, sock: Any, here: tuple[str, int | None] | None, there: tuple[str, int] | None) -> None:
        self.unix = there is None
        self.here, self.there = here, there
        self.connected_at = boot_seconds()
        self._sock = sock
        self.pid = peer_pid(sock) if self.unix else None

    @property
    def local(self) -> bool:
        """Does it come from this machine, as the addresses tell?"""
        if self.there is None:
            return True
        here = self.here[0] if self.here is not None else ""
        # A program may send from any address of the machine's, also to another one of them.
        return here == self.there[0] or _loopback(here) or _own_address(self.there[0])

    def hold(self) -> Holder:
        """Only where the connection is served: anywhere else its socket may be closed meanwhile."""
        pidfd = -1
        if self.pid and sys.platform == "linux":
            with suppress(OSError, AttributeError, struct.error):
                pidfd = struct.unpack("i", self._sock.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
        return Holder(self.pid or 0, pidfd)


def _loopback(address: str) -> bool:
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _own_address(address: str) -> bool:
    """Is this an address of this machine's? Only to such a one a socket can be bound."""
    if _loopback(address):
        return True
    plain = address.partition("%")[0]
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as trial:
        trial.bind((plain, 0))
        return True
    if not plain.lower().startswith("fe80:"):
        return False
    import psutil  # one of a single link needs the link's name to be bound to

    own = (each.address for addresses in psutil.net_if_addrs().values() for each in addresses)
    return plain.lower() in {each.partition("%")[0].lower() for each in own}


def peer_pid(sock: Any) -> int | None:
    """The process that connected to this Unix socket. 0: one that cannot be seen from here (another container).
    None: this system does not tell."""
    with suppress(OSError, AttributeError, struct.error):
        if sys.platform == "darwin":
            return struct.unpack("i", sock.getsockopt(SOL_LOCAL, LOCAL_PEERPID, 4))[0]
        if hasattr(socket, "SO_PEERCRED"):
            return struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return 0 if sys.platform in ("darwin", "linux") else None


def boot_seconds() -> float:
    """The clock that process start times are told in, on Linux."""
    import time

    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0
