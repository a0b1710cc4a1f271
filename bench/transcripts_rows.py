"""The rows of `transcripts.py`, in the shape of the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import transcripts
from bench.row import Row
from bench.size import Size

OPEN_MS = 150
AGAINST = "reading the bytes, or asking for the sizes, alone"


def rows(at: Path, size: Size) -> Iterator[Row]:
    """It has one size only: the large file is the point."""
    del at, size
    for number, (name, value, unit, floor) in enumerate(transcripts.rows()):
        yield Row(name, unit, [value], AGAINST, [floor], most=OPEN_MS if number < 2 and unit == "ms" else None)
