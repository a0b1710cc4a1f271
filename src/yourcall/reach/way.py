"""The way that phones take to this machine, as `yourcall reach` set it up and the daemon keeps it.

Rule: at most one way at a time, in `reach.json`; what can't be read is no way, and is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from yourcall.system import private_files

Name = Literal["lan", "tailscale", "cloudflared", "ssh", "relay", "proxy"]

DEFAULT_TLS_PORT = 7718  # beside the daemon's usual 7717
DAEMON_PORT = "{port}"  # stands in `keep_up` for the port that the daemon has once it listens


class Undo(msgspec.Struct, frozen=True):
    """A command that takes a part of the way down, and how it is shown if it is too long to be read."""

    argv: tuple[str, ...]
    says: str = ""

    @property
    def shown(self) -> str:
        return self.says or " ".join(self.argv)


class Relay(msgspec.Struct, frozen=True):
    """A relay, and how the name gets its certificate. `pin`: the SHA-256 of the relay's own certificate; whoever
    shows another one is not it. `directory` is that of a certificate authority (ACME); `authority` names a file
    with whom to trust to be it, if it is a private one. Or `certificate` and `key` are the person's files."""

    host: str
    port: int
    pin: bytes
    directory: str = ""
    authority: str = ""
    email: str = ""
    certificate: str = ""
    key: str = ""


class Way(msgspec.Struct, frozen=True):
    """`url` is what the phone opens, and `names` are what else this machine is called there. `tls_port` is where
    the daemon itself speaks TLS (`lan`). `port` is the daemon's port that others were told, so it must stay that
    one; 0 if nobody was. `keep_up` is the program of a tunnel, which the daemon starts and restarts. `undo` takes
    the way down; `stays` says what it can't take away. `relay`: where the daemon dials out to."""

    way: Name
    url: str
    tls_port: int = 0
    keep_up: tuple[str, ...] = ()
    undo: tuple[Undo, ...] = ()
    names: tuple[str, ...] = ()
    port: int = 0
    stays: str = ""
    relay: Relay | None = None

    @property
    def listen_on(self) -> str:
        """Every address of this machine, unless the phone's way in is the machine itself (a test, an emulator)."""
        return listen_on(urlsplit(self.url).hostname or "")

    @property
    def hosts(self) -> frozenset[str]:
        """As browsers say them in their Host header."""
        address = urlsplit(self.url)
        port = f":{address.port}" if address.port else ""
        others = (f"[{name}]{port}" if ":" in name else f"{name}{port}" for name in self.names)
        return frozenset({address.netloc.lower(), *(other.lower() for other in others)})

    def tunnel(self, port: int) -> tuple[str, ...]:
        """The command of the tunnel that leads to this port."""
        return tuple(word.replace(DAEMON_PORT, str(port)) for word in self.keep_up)


def listen_on(host: str) -> str:
    return host if host.startswith("127.") else "0.0.0.0"  # noqa: S104 - the person asked for it: `reach lan`


def read(home: Path) -> Way | None:
    try:
        return msgspec.json.decode((home / "reach.json").read_bytes(), type=Way)
    except (OSError, msgspec.MsgspecError):
        return None


def write(home: Path, way: Way) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    private_files.write(home / "reach.json", msgspec.json.format(msgspec.json.encode(way)))


def forget(home: Path) -> None:
    (home / "reach.json").unlink(missing_ok=True)
