"""A start costs what lives, not what was: every query that a daemon runs goes through an index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_story import Life, opened, prompt, session

from yourcall.model.events import AnyEvent, DialogClosed, PromptRaised, SessionEnded, SessionSeen
from yourcall.store import devices, prune, sqlite

QUERIES = {
    f"{module.__name__.rsplit('.', 1)[1]}.{name}": text
    for module in (sqlite, prune, devices)
    for name, text in vars(module).items()
    if isinstance(text, str) and name.isupper() and text.startswith("SELECT") and name != "ALL"
}


def test_the_queries_are_found() -> None:
    assert {"sqlite.LIVE_PROMPTS", "sqlite.CHANGED", "prune.OLD_BODIES", "devices.BY_HASH"} <= set(QUERIES)


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_uses_an_index(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / "yourcall.db"):
        pass
    query = QUERIES[name]
    with closing(sqlite3.connect(tmp_path / "yourcall.db")) as db:
        values = (1,) * (2 if "?2" in query else query.count("?"))
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert plan
    for line in plan:
        assert "TEMP B-TREE" not in line, plan
        assert not line.startswith("SCAN") or "USING INDEX" in line or line == "SCAN CONSTANT ROW", plan


def _over(n: int) -> list[AnyEvent]:
    at, s = n * 10.0, f"s{n}"
    return [
        SessionSeen(at, session(s, at=at)),
        PromptRaised(at + 1, prompt(f"p{n}", s, at + 1)),
        DialogClosed(at + 2, f"p{n}", "idle"),
        SessionEnded(at + 3, s),
    ]


def test_a_start_takes_as_many_steps_with_a_long_past_as_with_none(tmp_path: Path) -> None:
    """Counted in steps of SQLite's own machine, so that no clock decides."""
    path = tmp_path / "yourcall.db"
    living: list[AnyEvent] = [SessionSeen(1, session("alive", at=1)), PromptRaised(2, prompt("waits", "alive", 2))]
    with opened(path) as store:
        Life(store).run(living)
    fresh = _steps(path)
    with opened(path) as store:
        Life(store).run(event for n in range(1, 3_000) for event in _over(n))
        assert [p.id for p in store.live()[0]] == ["waits"]
        assert [s.id for s in store.live()[1]] == ["alive"]
        assert sum(1 for _ in store.facts()) > 10_000
    assert _steps(path) <= fresh * 1.1


def _steps(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        count = 0

        def one() -> int:
            nonlocal count
            count += 1
            return 0

        db.set_progress_handler(one, 1)
        for query in (sqlite.LAST_SEQ, sqlite.LIVE_PROMPTS, sqlite.LIVE_SESSIONS):
            db.execute(query).fetchall()
    assert count
    return count
