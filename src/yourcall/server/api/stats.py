"""Where the time went: waiting, kinds, where it was answered, what rules decided, what sessions cost.

Rule: counted from the stored rows when somebody asks, in pages between which others get their turn; at most
`MOST_PROMPTS` of them, and the reply says so.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from pathlib import PurePosixPath
from statistics import median

from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.server.auth import Refusal
from yourcall.server.route import Call, Reply, number
from yourcall.server.views import log_line
from yourcall.server.wire import CostView, CountView, LogLine, StatsView, WaitedView

DAY = 86_400
MOST_DAYS = 90
# A busy year of one person; decoding them takes about half a second in all.
MOST_PROMPTS = 10_000
PAGE = 250
MOST_SESSIONS = 200
# Colours that can still be told apart in a plot.
MOST_PROJECTS = 6
OTHERS = "others"


async def show_stats(call: Call) -> Reply | Refusal:
    days, offset = number(call.request, "days"), number(call.request, "utc_offset")
    for wrong in (days, offset):
        if isinstance(wrong, Refusal):
            return wrong
    count = int(days) if isinstance(days, float) else 14
    minutes = offset if isinstance(offset, float) else 0.0
    if not 1 <= count <= MOST_DAYS or abs(minutes) > 24 * 60:
        return Refusal(400, f"`days` must be from 1 to {MOST_DAYS}, `utc_offset` in minutes from -1440 to 1440.")
    now = time.time()
    shift = minutes * 60
    since = ((now + shift) // DAY - count + 1) * DAY - shift
    lines, complete = await _lines(call, since)
    sessions = [*call.desk.store.live()[1], *call.desk.store.ended(MOST_SESSIONS)]
    return Reply(
        _counted(lines, [each for each in sessions if each.seen_at >= since], since, now, shift, complete)
    )


async def _lines(call: Call, since: float) -> tuple[list[LogLine], bool]:
    lines: list[LogLine] = []
    before: float | None = None
    while len(lines) < MOST_PROMPTS:
        page: list[Prompt] = call.desk.store.prompts(open_only=False, limit=PAGE, before=before)
        lines += [log_line(each) for each in page if each.state != "open" and each.opened_at >= since]
        if len(page) < PAGE or page[-1].opened_at < since:
            return lines, True
        before = page[-1].opened_at
        await asyncio.sleep(0)
    return lines, False


def _counted(
    lines: list[LogLine], sessions: list[Session], since: float, now: float, shift: float, complete: bool
) -> StatsView:
    # A pause is nobody's question, and what a rule decided kept nobody waiting.
    asked = [line for line in lines if line.kind not in ("ready", "problem")]
    ruled = [line for line in asked if line.via == "rule"]
    waited = [line for line in asked if line.via != "rule" and line.state != "ended"]
    often = Counter(_project(line.cwd) for line in waited)
    shown = {
        name for name, _ in often.most_common(MOST_PROJECTS if len(often) <= MOST_PROJECTS else MOST_PROJECTS - 1)
    }
    sums: dict[tuple[int, str], list[float]] = defaultdict(list)
    for line in waited:
        name = _project(line.cwd)
        day = int((line.opened_at - since) // DAY)
        sums[day, name if name in shown else OTHERS].append(line.waited)
    usual = median(line.waited for line in waited) if waited else 0.0
    costs = sorted((each for each in sessions if each.cost_usd > 0), key=lambda each: -each.cost_usd)
    return StatsView(
        since=since,
        until=now,
        complete=complete,
        waiting=tuple(
            WaitedView(since + day * DAY, name, round(sum(each), 1), len(each))
            for (day, name), each in sorted(sums.items())
        ),
        median_wait=round(usual, 1),
        kinds=_counts(Counter[str](line.kind for line in asked)),
        answered=_counts(Counter(_where(line) for line in asked if line.state != "ended")),
        by_rule=len(ruled),
        saved=round(len(ruled) * usual, 1),
        costs=tuple(
            CostView(each.id, each.agent, _project(each.cwd), round(each.cost_usd, 4), each.started_at)
            for each in costs[:MOST_SESSIONS]
        ),
    )


def _counts(counter: Counter[str]) -> tuple[CountView, ...]:
    return tuple(CountView(name, count) for name, count in counter.most_common())


def _project(cwd: str) -> str:
    return PurePosixPath(cwd).name or cwd


def _where(line: LogLine) -> str:
    """`rule`, `desk`, or the way an answer came."""
    return line.via or ("desk" if line.state == "desk" else "unknown")
