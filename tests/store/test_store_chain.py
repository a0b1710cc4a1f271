"""The record proves itself: whatever is changed, taken out or put in by hand is found."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_story import Life, answer, opened, prompt, session, stories

from yourcall.model.events import AnswerGiven, AnyEvent, DialogClosed, PromptRaised, SessionEnded, SessionSeen
from yourcall.store.chain import teach, verify

STORY: list[AnyEvent] = [
    SessionSeen(1, session("s1", at=1)),
    PromptRaised(2, prompt("p1", at=2)),
    AnswerGiven(3, "p1", answer("a1")),
    PromptRaised(4, prompt("p2", at=4)),
    DialogClosed(5, "p2", "idle"),
    PromptRaised(100, prompt("p3", at=100)),
]


def told(path: Path, events: list[AnyEvent]) -> None:
    with opened(path) as store:
        Life(store).run(events)


def by_hand(path: Path, *statements: str) -> None:
    """What somebody with a shell can do: drop what guards the tables, then change them."""
    with closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            assert db.execute(statement).rowcount > 0, statement
        db.commit()


def test_a_record_is_whole_after_a_life_with_forgetting(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    told(path, STORY)
    first = verify(path)
    assert (first.problems, first.forgotten) == ((), 0)
    with opened(path) as store:
        assert asyncio.run(store.prune(50)) == 1
    second = verify(path, first.head)
    assert second.problems == ()
    assert second.forgotten > 0
    assert second.links > first.links
    assert second.head != first.head


TAMPERED = {
    "a fact changed": "UPDATE log SET fact = replace(fact, 'phone', 'felix') WHERE kind = 'AnswerGiven'",
    "a time changed": "UPDATE log SET at = at + 1 WHERE seq = (SELECT min(seq) FROM log)",
    "the first fact taken out": "DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)",
    "the last fact taken out": "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
    "a fact put in": "INSERT INTO log SELECT 999, at, kind, subject, fact FROM log LIMIT 1",
    "a link taken out": "DELETE FROM chain WHERE n = 2",
    "the last link taken out": "DELETE FROM chain WHERE n = (SELECT max(n) FROM chain)",
    "a link changed": "UPDATE chain SET digest = zeroblob(32) WHERE n = 2",
    "a fact said to be forgotten": "UPDATE chain SET gone = 1 WHERE n = 2",
    "a row changed": "UPDATE prompts SET row = replace(CAST(row AS TEXT), 'desk', 'Desk') WHERE id = 'p2'",
    "a row taken out": "DELETE FROM prompts WHERE id = 'p2'",
    "a fact put in before the first": "INSERT INTO log SELECT -7, at, kind, subject, fact FROM log LIMIT 1",
    "a fact put in at nothing": "INSERT INTO log SELECT 0, at, kind, subject, fact FROM log LIMIT 1",
    "a prompt put elsewhere in the list": "UPDATE prompts SET opened_at = 1000000 WHERE id = 'p2'",
    "a prompt taken out of what waits": "UPDATE prompts SET live = 0 WHERE id = 'p3'",
    "a prompt given to another session": "UPDATE prompts SET session_id = 's9' WHERE id = 'p2'",
    "what was asked taken off a prompt": "UPDATE prompts SET request = 'x' WHERE id = 'p2'",
    "a row put in": "INSERT INTO prompts SELECT 'p9', 999, at, state, live, session_id, opened_at, closed_at,"
    " request, row FROM prompts LIMIT 1",
    "what was asked taken out": "DELETE FROM bodies",
    "a link to a place that is none": "UPDATE chain SET seq = -1 WHERE n = 2",
    "a link that is text": "UPDATE chain SET link = 'x' WHERE n = 2",
    "a seal that is text": "UPDATE chain SET digest = 'x' WHERE n = 2",
    "a seal that is a number": "UPDATE chain SET digest = 7, seq = 'x' WHERE n = 2",
    "a time that is text": "UPDATE log SET at = 'x' WHERE seq = (SELECT min(seq) FROM log)",
    "a body changed": "UPDATE bodies SET data = data || 'x'",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_changed_by_hand_is_found(tmp_path: Path, what: str) -> None:
    path = tmp_path / "yourcall.db"
    told(path, STORY)
    by_hand(path, TAMPERED[what])
    assert verify(path).problems


def test_cutting_the_end_off_cleanly_is_found_by_a_noted_head(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    told(path, STORY[:5])
    noted = verify(path).head
    told(path, STORY[5:])
    assert verify(path, noted).problems == ()
    by_hand(path, "DELETE FROM log", "DELETE FROM chain", "DELETE FROM prompts", "DELETE FROM sessions")
    assert verify(path).problems == ()  # nothing is left to disagree
    assert verify(path, noted).problems


def test_no_program_writes_to_the_log_past_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    told(path, STORY)
    with closing(sqlite3.connect(path)) as db:
        for statement in ("DELETE FROM log", "INSERT INTO log VALUES (99, 1, 'x', 'y', x'00')"):
            with pytest.raises(sqlite3.OperationalError, match="chain_digest"):
                db.execute(statement)
        teach(db)
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            db.execute("DELETE FROM chain")


@given(stories(length=40), st.floats(0, 60))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_life_leaves_a_whole_record(tmp_path: Path, story: list[AnyEvent], before: float) -> None:
    path = tmp_path / "yourcall.db"
    for file in tmp_path.glob("yourcall.db*"):
        file.unlink()
    told(path, [*story, SessionEnded(99, "s1")])
    with opened(path) as store:
        asyncio.run(store.prune(before))
    assert verify(path).problems == ()
