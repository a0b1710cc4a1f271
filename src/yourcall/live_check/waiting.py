"""Wait for a condition with a deadline; the only way anything in a live check waits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
PATIENCE_S = 90.0  # a busy machine makes a test slow, never red; only what will never come is red


class NotInTime(AssertionError):
    """What was waited for did not come; the text says what that was, and what there was instead."""


def until(
    probe: Callable[[], T],
    timeout: float = PATIENCE_S,
    *,
    what: str = "",
    every: float = 0.01,
    show: Callable[[], object] = str,
) -> T:
    """The first truthy value of `probe`; after `timeout` a `NotInTime` with `what` and `show()`."""
    deadline = time.monotonic() + timeout
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise NotInTime(f"not within {timeout:g} s: {what or probe}\n{show()}")
        time.sleep(every)
