"""Wait for a condition with a deadline; the only way anything in the kit waits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def until(
    probe: Callable[[], T],
    timeout: float = 20.0,
    *,
    what: str = "",
    every: float = 0.01,
    show: Callable[[], object] = str,
) -> T:
    """The first truthy value of `probe`; after `timeout` an AssertionError with `what` and `show()`."""
    deadline = time.monotonic() + timeout
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what or probe}\n{show()}")
        time.sleep(every)
