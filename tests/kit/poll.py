"""Wait for a condition with a deadline; the only way anything in the kit waits."""

from yourcall.live_check.waiting import PATIENCE_S, until

__all__ = ["PATIENCE_S", "until"]
