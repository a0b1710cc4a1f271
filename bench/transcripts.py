"""How long a large transcript takes to open at its end, and what it costs to follow many.

Each function returns rows `(name, value, unit, floor)`; the floor is what the same machine needs, in the same run,
for the part that nobody can avoid: it tells our cost from the machine's.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from yourcall.agents.claude.transcript import read_entry
from yourcall.links.conversations import BLOCK, Follower, page

Row = tuple[str, float, str, float]

LARGE = 200 * 1024 * 1024
MANY = 500
EVERY_S = 0.5  # the pace of somebody who reads along


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, "timestamp": "2026-11-15T10:40:26.776Z", **fields}).encode() + b"\n"


def turn(number: int) -> bytes:
    """A turn in the proportions of a real one: most bytes are the program's own notes, not conversation."""
    call = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "Bash",
        "input": {"command": f"make part-{number}"},
    }
    done = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "built\n" * 200}
    said = {"type": "text", "text": "It is built. " * 20}
    return b"".join(
        [
            line("user", message={"role": "user", "content": f"Build part {number}"}),
            line("api-request-blob", hash=f"{number:064x}", message={"content": "x" * 8_000}),
            line("assistant", apiBlockIndex=0, message={"role": "assistant", "content": [call]}),
            line("user", message={"role": "user", "content": [done]}, toolUseResult={"stdout": "built\n" * 200}),
            line("attachment", attachment={"type": "prompt_snapshot", "text": "y" * 16_000}),
            line("assistant", apiBlockIndex=0, message={"role": "assistant", "content": [said]}),
            line("system", subtype="turn_duration", durationMs=2754),
        ]
    )


def write(path: Path, size: int) -> None:
    turns = [turn(number) for number in range(64)]
    block = b"".join(turns)
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)


def best(work: Callable[[], object], times: int) -> float:
    """The quickest of several runs, in milliseconds: the others were disturbed."""
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took) * 1000


def open_at_the_end() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        write(path, LARGE)

        def last_page() -> None:
            assert len(page(path, read_entry, limit=50).entries) >= 50

        def last_block() -> None:
            with path.open("rb") as file:
                file.seek(-BLOCK, os.SEEK_END)
                file.read()

        def with_cold_cache() -> None:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            last_page()

        floor = best(last_block, 5)
        rows: list[Row] = [("open a 200 MB transcript at its end, 50 entries", best(last_page, 5), "ms", floor)]
        if hasattr(os, "posix_fadvise"):
            rows.append(("the same, not in the cache", best(with_cold_cache, 3), "ms", floor))
        pages = 20

        def back() -> None:
            before: int | None = None
            for _ in range(pages):
                before = page(path, read_entry, before, 50).next_before

        rows.append(("each page further back", best(back, 3) / pages, "ms", floor))
        return rows


def follow_many() -> list[Row]:
    """CPU per second of following 500 transcripts at once, quiet and with 10 of them busy."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(MANY)]
        for path in paths:
            path.write_bytes(turn(0))
        followers = [Follower(path, read_entry) for path in paths]
        rounds = 10

        def look() -> int:
            return sum(len(follower.new_entries()) for follower in followers)

        def cpu(work: Callable[[], object]) -> float:
            began = time.process_time()
            for _ in range(rounds):
                work()
            return (time.process_time() - began) / rounds / EVERY_S * 100

        def stats() -> None:
            for path in paths:
                os.stat(path)

        def busy() -> None:
            for path in paths[:10]:
                with path.open("ab") as file:
                    file.write(turn(1))
            assert look() == 10 * 5

        floor = cpu(stats)
        quiet, working = cpu(look), cpu(busy)
        return [
            (f"follow {MANY} quiet transcripts", quiet, "% of a core", floor),
            (f"follow {MANY}, 10 of them busy", working, "% of a core", floor),
        ]


def rows() -> list[Row]:
    return [*open_at_the_end(), *follow_many()]


if __name__ == "__main__":
    for name, value, unit, floor in rows():
        print(f"{name:<52} {value:9.2f} {unit:<12} floor {floor:.2f}")
