"""How much is measured: everything, a one-minute look, or the least that shows that the bench itself works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    part: float

    def of(self, full: int, least: int = 2) -> int:
        """So many rounds of the `full` number."""
        return max(least, round(full * self.part))


FULL, QUICK, TINY = Size(1.0), Size(0.3), Size(0.0)
