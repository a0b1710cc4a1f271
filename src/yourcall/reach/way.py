"""The way that phones take to this machine, as `yourcall reach` set it up and the daemon keeps it.

Rule: at most one way at a time, in `reach.json`; what can't be read is no way, and is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from yourcall.system import private_files

Name = Literal["lan", "tailscale", "cloudflared", "ssh", "proxy"]

DEFAULT_TLS_PORT = 7718  # beside the daemon's usual 7717


class Way(msgspec.Struct, frozen=True):
    """`url` is what the phone opens. `tls_port` is where the daemon itself speaks TLS (`lan`). `keep_up` is the
    program of a tunnel, which the daemon starts and restarts. `undo` are the commands that take the way down."""

    way: Name
    url: str
    tls_port: int = 0
    keep_up: tuple[str, ...] = ()
    undo: tuple[tuple[str, ...], ...] = ()

    @property
    def listen_on(self) -> str:
        """Every address of this machine, unless the phone's way in is the machine itself (a test, an emulator)."""
        host = urlsplit(self.url).hostname or ""
        return host if host.startswith("127.") else "0.0.0.0"  # noqa: S104 - the person asked for it: `reach lan`

    @property
    def host(self) -> str:
        """As a browser says it in its Host header."""
        return urlsplit(self.url).netloc.lower()


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
