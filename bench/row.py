"""One line of the table: what was measured, against what, and whether it is good enough.

The rule it keeps: a row carries its samples, so that the medians can be checked and the spread is not hidden.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

HEADS = ("what", "ours", "against", "theirs", "ratio", "goal", "met")


@dataclass(frozen=True)
class Row:
    """`most` and `least` bound our own number, `most_ratio` ours / other. Without any of them it only informs."""

    name: str
    unit: str
    ours: Sequence[float]
    against: str = ""
    other: Sequence[float] = ()
    most: float | None = None
    least: float | None = None
    most_ratio: float | None = None
    note: str = ""

    @property
    def value(self) -> float:
        return statistics.median(self.ours)

    @property
    def ratio(self) -> float | None:
        """None without another, or if either is too little to be measured: nothing is so many times of nothing."""
        other = statistics.median(self.other) if self.other else 0
        return self.value / other if other > 0 and self.value >= 0 else None

    @property
    def goal(self) -> str:
        words: list[str] = []
        if self.most is not None:
            words.append(f"≤ {shown(self.most, self.unit)}")
        if self.least is not None:
            words.append(f"≥ {shown(self.least, self.unit)}")
        if self.most_ratio is not None:
            words.append(f"≤ {self.most_ratio:.2f}×")
        return ", ".join(words)

    @property
    def met(self) -> bool | None:
        """None if there is no goal."""
        asked = [
            self.most is None or self.value <= self.most,
            self.least is None or self.value >= self.least,
            self.most_ratio is None or (self.ratio is not None and self.ratio <= self.most_ratio),
        ]
        return all(asked) if self.goal else None

    def cells(self) -> tuple[str, ...]:
        other = shown(statistics.median(self.other), self.unit) if self.other else ""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}×"
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.name, shown(self.value, self.unit), self.against, other, ratio, self.goal, met

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": spread(self.ours),
            "against": self.against,
            "other": spread(self.other) if self.other else None,
            "ratio": self.ratio,
            "goal": self.goal,
            "met": self.met,
            "note": self.note,
        }


def shown(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def percentile(values: Sequence[float], part: float) -> float:
    """The nearest rank: a value that was really measured."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * part))]


def spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": statistics.median(values),
        "least": min(values),
        "most": max(values),
        "p99": percentile(values, 0.99),
        "count": len(values),
    }


def table(rows: Iterable[Row]) -> str:
    """A Markdown table that is also readable as it stands; the notes follow it."""
    rows = list(rows)
    lines = [HEADS, *(row.cells() for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADS))]
    right = (1, 3, 4)

    def drawn(line: Sequence[str]) -> str:
        parts = [
            c.rjust(w) if at in right else c.ljust(w) for at, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        return f"| {' | '.join(parts)} |"

    rule = [("-" * (w - 1) + ":") if at in right else "-" * w for at, w in enumerate(max(w, 3) for w in widths)]
    widths = [max(w, 3) for w in widths]
    notes = [f"- {row.name}: {row.note}" for row in rows if row.note]
    return "\n".join(
        [drawn(HEADS), f"| {' | '.join(rule)} |", *map(drawn, lines[1:]), *(["", *notes] if notes else [])]
    )
