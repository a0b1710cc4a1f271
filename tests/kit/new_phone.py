"""A phone that has never met this yourcall: whom it trusts, and what the app shows it first."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kit.poll import until

if TYPE_CHECKING:
    from chromium import Page


def trusting(folder: Path, certificate: Path) -> Path:
    """The home of a phone (a Chromium) that trusts this certificate authority, besides the public ones."""
    home = folder / "phone"
    store = home / ".pki" / "nssdb"
    store.mkdir(parents=True)
    tool = ["certutil", "-d", f"sql:{store}"]
    subprocess.run([*tool, "-N", "--empty-password"], check=True)
    subprocess.run([*tool, "-A", "-t", "C,,", "-n", "yourcall", "-i", str(certificate)], check=True)
    return home


def let_in(phone: Page) -> None:
    """Pair, and go through what the app shows a new phone."""
    phone.sees("Pair this device")
    phone.write("Name of this device", "My phone")
    phone.tap("Pair", "form")
    phone.sees("Turn on notifications")

    def is_home() -> bool:
        for label in ("Not now", "Continue", "Done"):
            if phone.box(label):
                phone.tap(label)
                return False
        return "All caught up" in phone.text()

    until(is_home, what="the phone's home", show=phone.text, every=0.1)
