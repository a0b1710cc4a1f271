"""`docs/reference/proof.md`, from the record: counts, rates with their intervals, and what was not tried."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from prove import record
from prove.judge import FAILURES, HONEST

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "proof.md"
CORE = "core"
NAMES = {
    "claude-hook": "Claude Code in tmux, held hook",
    "claude-pipes": "Claude Code without a terminal, pipes",
    "codex-socket": "Codex in tmux, control socket",
    "gemini-keys": "Gemini CLI in tmux, verified keys",
    "acp": "Gemini CLI over ACP",
}
HEAD = """# Proof: races and faults, counted

<!-- Written by `make prove` from prove/record.jsonl. -->

`make prove` plays races and faults against the real agents (scripted models on loopback) and against
the model world of the core. It goes on where the last run ended, appends each case to
[the record](../../prove/record.jsonl) as it ends, and writes this page anew.

```
make prove                          ten minutes of everything
make prove MINUTES=60               an hour
.venv/bin/python -m prove --help    one way, some kinds of case, one seed
```

**The judge is independent.** What happened is read from the files that commands wrote and from what
the scripted model heard, never from yourcall; what yourcall told is compared with that
([judge.py](../../prove/judge.py)). Every rate has its 95 % interval: Wilson's, and the rule of three
where nothing was found.
"""


def rate(times: int, of: int) -> str:
    low, high = record.interval(times, of)
    return f"{times} of {of:,} ({low:.2%} to {high:.2%})" if of else "not tried"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(lines: list[dict[str, Any]]) -> str:
    real = [line for line in lines if line["way"] != CORE]
    played = [line for line in real if "not played" not in line["found"]]
    core = [line for line in lines if line["way"] == CORE]
    counts, of = record.counted(played), len(played)
    parts = [HEAD]
    if lines:
        first, last = (time.strftime("%d %B %Y", time.gmtime(f(line["at"] for line in lines))) for f in (min, max))
        when = first if first == last else f"{first} to {last}"
        versions = sorted({f"{line['way']}: {line['version']}" for line in real if line.get("version")})
        parts.append(
            f"**On record:** {record.cases(lines):,} cases, {of:,} of them with real agents. Played {when},\n"
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}. Versions:\n\n"
            + "".join(f"- {each}\n" for each in versions)
        )
    parts.append("## With real agents\n")
    parts.append(table(("what went wrong", "cases"), [(each, rate(counts[each], of)) for each in FAILURES]) + "\n")
    alive = [line for line in played if line["kind"] != "agent killed"]
    told = record.counted(alive)
    parts.append(
        "Told as it is, though nobody wants it (goal: at most 0.5 %). An agent that is killed while it reads\n"
        "an answer leaves nobody who knows, so those cases are not counted here.\n"
    )
    rates = [(each, rate(told[each], len(alive))) for each in HONEST]
    parts.append(table(("what was told", "cases"), rates) + "\n")
    rows: list[tuple[str, ...]] = []
    for kind in sorted({line["kind"] for line in played}):
        by_way = [[line for line in played if (line["way"], line["kind"]) == (way, kind)] for way in NAMES]
        rows.append((kind, *(cell(found) for found in by_way)))
    parts.append("Each kind of case on each way: how many were played, and how many of them failed.\n")
    parts.append(table(("case", *NAMES.values()), rows) + "\n")
    not_played = len(real) - of
    if not_played:
        parts.append(
            f"{not_played} more could not be played to their end: the agent did not start, or a signal met\n"
            "nobody. They count for nothing.\n"
        )
    parts.append("## The model world of the core\n")
    broken = sum(bool(line["found"]) for line in core)
    stories = record.cases(core)
    parts.append(
        "Random stories of agents, desks, hooks, late signs and crashes; the promises are asserted after\n"
        f"every event. A promise broken: {rate(broken, stories)}.\n"
    )
    return "\n".join(parts)


def cell(found: list[dict[str, Any]]) -> str:
    bad = sum(any(each in FAILURES for each in line["found"]) for line in found)
    return f"{len(found)}" + (f", **{bad} failed**" if bad else "") if found else "–"


def write() -> None:
    FILE.write_text(text(record.lines()), "utf-8")
