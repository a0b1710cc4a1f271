"""What a way would change: in words first, then in deeds; and the programs of others that it asks.

Rule: a plan changes nothing until it is applied. If applying it fails halfway, what was done is taken back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from yourcall.reach.way import Way

OTHERS_S = 30.0  # for a program of somebody else's to do as told
TUNNEL_S = 30.0  # for a tunnel to come up


class CannotReach(Exception):
    """The sentence says what is missing."""


class Wish(NamedTuple):
    """What was asked for on the command line. `daemon_port` is where the daemon listens on loopback."""

    home: Path
    daemon_port: int
    target: str | None = None
    name: str | None = None
    port: int | None = None
    funnel: bool = False
    site: str | None = None
    site_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    invitation: str | None = None
    acme: str | None = None
    acme_ca: str | None = None
    email: str | None = None


class Plan(NamedTuple):
    text: str
    way: Way
    apply: Callable[[], None]
    authority: Path | None = None
    patience_s: float = 10.0


def needed(program: str, otherwise: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise CannotReach(f"{program} is not on this machine. {otherwise}")
    return path


def run(argv: tuple[str, ...]) -> None:
    done = _finished(argv)
    if done is None or done.returncode != 0:
        detail = done.stderr.strip().splitlines()[-1:] if done else ["it did not end"]
        reason = " ".join(detail).rstrip(".") or "no reason given"
        raise CannotReach(f"{os.path.basename(argv[0])} refused: {reason}.")


def output(argv: tuple[str, ...]) -> str:
    """What it prints; nothing if it fails."""
    done = _finished(argv)
    return done.stdout if done and done.returncode == 0 else ""


def works(argv: tuple[str, ...]) -> bool:
    done = _finished(argv)
    return done is not None and done.returncode == 0


def _finished(argv: tuple[str, ...]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=OTHERS_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
