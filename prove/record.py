"""The cases on record: one line each, appended as they end, and never changed."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent / "record.jsonl"


def append(line: dict[str, Any], file: Path = FILE) -> None:
    with file.open("a", encoding="utf-8") as record:
        record.write(json.dumps(line, separators=(",", ":")) + "\n")


def lines(file: Path = FILE) -> list[dict[str, Any]]:
    """All whole lines; one that a power cut left half written is no case."""
    found: list[dict[str, Any]] = []
    if file.exists():
        for line in file.read_text("utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def cases(found: Iterable[dict[str, Any]]) -> int:
    return sum(int(line.get("count", 1)) for line in found)


def counted(found: Iterable[dict[str, Any]]) -> Counter[str]:
    """How many cases each name was found in."""
    counts: Counter[str] = Counter()
    for line in found:
        counts.update(dict.fromkeys(line["found"], 1))
    return counts


def interval(times: int, of: int) -> tuple[float, float]:
    """Where the true rate lies, with 95 %: Wilson's interval; the rule of three if it never happened."""
    if of == 0:
        return 0.0, 1.0
    if times == 0:
        return 0.0, min(1.0, 3 / of)
    z, rate = 1.959964, times / of
    middle = (rate + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)
