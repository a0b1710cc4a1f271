"""What is over and old is forgotten, with its facts and bodies; what lives is not touched."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace
from store_story import Life, answer, body_of, opened, prompt, replayed, rows, session

from yourcall.model.events import (
    AnswerGiven,
    AnyEvent,
    CallSettled,
    DialogClosed,
    PromptRaised,
    SessionEnded,
    SessionSeen,
)
from yourcall.store.prune import BATCH
from yourcall.store.sqlite import Fact, Store


def _closed(prompt_id: str, at: float, session_id: str = "s1") -> list[AnyEvent]:
    return [PromptRaised(at, prompt(prompt_id, session_id, at)), DialogClosed(at + 1, prompt_id, "idle")]


def test_old_and_settled_goes_with_its_facts_and_its_body(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        Life(store).run(
            [
                SessionSeen(1, session("s1", at=1)),
                *_closed("old", 10),
                *_closed("young", 100),
                PromptRaised(11, prompt("open", at=11)),
                PromptRaised(12, prompt("desk", at=12)),
                DialogClosed(13, "desk", "busy"),
            ]
        )
        request = prompt("old").request
        assert store.body(request) == body_of("old")
        assert asyncio.run(store.prune(50)) == 1
        assert set(rows(store)[0]) == {"young", "open", "desk"}
        assert store.body(request) is None
        assert store.body(prompt("open").request) == body_of("open")
        assert b'"old"' not in b"".join(fact for (fact,) in _log(store))
        assert replayed(store) == rows(store)
        assert asyncio.run(store.prune(50)) == 0


def _log(store: Store) -> list[tuple[bytes]]:
    shell = sqlite3.connect(store.path)
    try:
        return shell.execute("SELECT fact FROM log").fetchall()
    finally:
        shell.close()


def test_what_was_forgotten_is_not_in_the_file_either(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        secret = "hunter2-" * 2_000
        raised = prompt("old", at=1)
        life = Life(store)
        fact = next(iter(life.facts([PromptRaised(1, raised)])))
        asyncio.run(store.record([fact]))
        life.run([CallSettled(2, "old", "allowed", "desk", secret)])
    assert b"hunter2-" in path.read_bytes()
    with opened(path) as store:
        before = path.stat().st_size
        assert asyncio.run(store.prune(50)) == 1
    assert b"hunter2-" not in path.read_bytes()
    assert path.stat().st_size < before


def test_a_body_that_another_prompt_needs_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        shared = prompt("old").request
        life = Life(store)
        life.run(_closed("old", 1))
        twin = replace(prompt("twin", "s2", 100), request=shared)
        asyncio.run(store.record([Fact(PromptRaised(100, twin), (twin,))]))
        assert asyncio.run(store.prune(50)) == 1
        assert store.body(shared) == body_of("old")


def test_an_ended_session_goes_when_its_last_prompt_went(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        life.run(
            [
                SessionSeen(1, session("s1", at=1)),
                *_closed("p1", 10),
                *_closed("p2", 60),
                SessionEnded(62, "s1", "exit"),
                SessionEnded(63, "never-seen", "exit"),
            ]
        )
        assert asyncio.run(store.prune(50)) == 1
        assert set(rows(store)[1]) == {"s1"}
        assert replayed(store) == rows(store)
        assert asyncio.run(store.prune(100)) == 2
        assert rows(store) == ({}, {})
        assert list(store.facts()) == []


def test_a_seq_is_never_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        Life(store).run(_closed("p1", 1))
        last = store.last_seq
        asyncio.run(store.prune(100))
        assert list(store.facts()) == []
    with opened(path) as store:
        assert store.last_seq == last
        changes = Life(store).run([PromptRaised(3, prompt("p2", at=3))])
        assert [c.seq for c in changes] == [last + 1]


ENDS: dict[str, list[AnyEvent]] = {
    "the session ended": [SessionSeen(1, session("s1", at=1)), SessionEnded(30, "s1")],
    "the session was seen ended": [SessionSeen(1, session("s1", at=1)), SessionSeen(30, session("s1", "ended"))],
    "an unknown session was seen ended": [SessionSeen(30, session("s1", "ended"))],
    "seen ended twice": [
        SessionSeen(1, session("s1", at=1)),
        SessionSeen(9, session("s1", "ended")),
        SessionSeen(30, session("s1", "ended")),
    ],
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_session_still_means_the_same_to_the_prompts_that_stay(tmp_path: Path, end: str) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        *first, last = ENDS[end]
        life.run(
            [
                *first,
                *_closed("old", 10),
                PromptRaised(12, prompt("stays", at=12)),
                AnswerGiven(13, "stays", answer("a1")),
                PromptRaised(14, prompt("stays too", at=14)),
                last,
            ]
        )
        assert asyncio.run(store.prune(20)) == 1
        assert set(rows(store)[0]) == {"stays", "stays too"}
        assert replayed(store) == rows(store)
        # Once more over the log as it was left, and with a life after it.
        life.run([SessionSeen(40, session("s1", at=40)), *_closed("next", 41), SessionEnded(50, "s1")])
        asyncio.run(store.prune(45))
        assert replayed(store) == rows(store)


def test_many_go_in_batches_and_an_answer_comes_in_between(tmp_path: Path) -> None:
    async def both(store: Store, life: Life) -> tuple[int, int]:
        pruning = asyncio.ensure_future(store.prune(1e6))
        await asyncio.sleep(0)
        (change,) = await store.record(list(life.facts([AnswerGiven(1e6, "open", answer("a1"))])))
        still = len(store.prompts(open_only=False, limit=-1))
        assert change.prompt is not None
        return still, await pruning

    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        many = [event for n in range(BATCH * 4) for event in _closed(f"p{n:04}", n * 10.0, f"s{n % 3}")]
        life.run([*many, PromptRaised(1e5, prompt("open", "s1", 1e5))])
        left_when_answered, removed = asyncio.run(both(store, life))
        assert removed == BATCH * 4
        assert left_when_answered > 1
        assert set(rows(store)[0]) == {"open"}
        assert replayed(store) == rows(store)
