"""`python -m bench`: every group in turn, then one table. `make bench` fetches what it needs first."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from bench import (
    codex,
    hooks,
    latency,
    load,
    past,
    place,
    pty,
    real_answer,
    rules,
    screens,
    searching,
    size,
    starting,
    transcripts_rows,
    turn,
)
from bench.row import Row, table

Group = Callable[[Path, size.Size], Iterable[Row]]

# In the order of a person's day: what it costs the agent, how quick it is, what it weighs, how it ages.
GROUPS: dict[str, Group] = {
    "turn": turn.twenty_calls,
    "hook": hooks.informing,
    "held": hooks.held,
    "shown": latency.shown,
    "reached": real_answer.reached,
    "answered": latency.answered,
    "codex": codex.told,
    "load": load.other_client_waits,
    "start": starting.started,
    "help": starting.helped,
    "idle": starting.idle,
    "past": past.long_past,
    "rules": rules.decided,
    "ruled": rules.allowed,
    "terminal": pty.relayed,
    "screens": screens.read,
    "transcripts": transcripts_rows.rows,
    "search": searching.searched,
}


def machine() -> str:
    """The class of machine: no name, no path, nothing that tells whose it is."""
    ram = round(psutil.virtual_memory().total / 2**30)
    model = platform.processor() or platform.machine()
    with_proc = Path("/proc/cpuinfo")
    if with_proc.exists():
        names = [
            line.partition(":")[2].strip() for line in with_proc.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({model}), {ram} GB, {platform.system()} {platform.release().split('-')[0]},"
        f" Python {platform.python_version()}, load {load:.1f} at the start"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer rounds, coarser medians")
    parser.add_argument("--tiny", action="store_true", help="two rounds of everything: does the bench work?")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="NAME", help=", ".join(GROUPS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows, with their spread, to FILE")
    asked = parser.parse_args()
    much = size.TINY if asked.tiny else size.QUICK if asked.quick else size.FULL
    where = machine()
    rows: list[Row] = []
    began = time.monotonic()
    for name in asked.only or GROUPS:
        print(f"\r\033[K{name} …" if sys.stderr.isatty() else f"{name} …", file=sys.stderr, end="", flush=True)
        group_began = time.monotonic()
        with place.folder() as at:
            rows += GROUPS[name](at, much)
        print(f" {time.monotonic() - group_began:.0f} s", file=sys.stderr, flush=True)
    missed = sum(row.met is False for row in rows)
    verdict = f"{missed} of {sum(bool(row.goal) for row in rows)} goals not met" if missed else "every goal met"
    print(f"{where}\n\n{table(rows)}\n\n{time.monotonic() - began:.0f} s in all; {verdict}.")
    if asked.json:
        told = {"machine": where, "rows": [row.as_json() for row in rows]}
        asked.json.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
