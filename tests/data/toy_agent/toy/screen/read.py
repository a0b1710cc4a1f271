"""Reads the toy's screen: a line that ends in a question mark waits."""

from __future__ import annotations

from yourcall.model.screen import Reading


def read_screen(screen: str, _title: str | None = None) -> Reading:
    asks = screen.rstrip().endswith("?")
    return Reading("waiting", kind="question") if asks else Reading("idle")
