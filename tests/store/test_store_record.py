"""What is recorded is on disk, in order, whole; and it comes back as it was."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from store_story import Life, answer, body_of, name_of, opened, prompt, replayed, rows, session

from yourcall.model.events import AnswerGiven, DialogClosed, PromptRaised, SessionEnded, SessionSeen
from yourcall.store.problem import StoreProblem
from yourcall.store.sqlite import Change, Fact, Store


def test_everything_comes_back_as_it_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        changes = Life(store).run(
            [
                SessionSeen(1, session("s1", at=1)),
                PromptRaised(2, prompt("p1", at=2)),
                AnswerGiven(3, "p1", answer("a1")),
            ]
        )
        assert [(c.seq, c.at) for c in changes] == [(1, 1), (2, 2), (3, 2), (4, 3)]
        assert store.last_seq == 4
    with opened(path) as store:
        assert store.last_seq == 4
        p1 = changes[-1].prompt
        assert p1 is not None
        assert p1.state == "answering"
        assert store.prompt("p1") == p1
        assert store.live() == ([p1], [changes[2].session])
        assert store.session("s1") == changes[2].session
        assert store.body(p1.request) == body_of("p1")
        assert [(seq, type(event).__name__) for seq, event in store.facts()] == [
            (1, "SessionSeen"),
            (3, "PromptRaised"),
            (4, "AnswerGiven"),
        ]
        assert [seq for seq, _ in store.facts(after=1, limit=1)] == [3]


def test_an_event_that_changed_nothing_leaves_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        assert asyncio.run(store.record([Fact(DialogClosed(1, "nobody", "busy"))])) == []
        assert list(store.facts()) == []
        assert store.last_seq == 0


def test_many_at_once_are_all_written_in_order_without_gaps(tmp_path: Path) -> None:
    async def all_at_once(store: Store) -> list[list[Change]]:
        facts = [Fact(PromptRaised(n, prompt(f"p{n}")), (prompt(f"p{n}"),)) for n in range(300)]
        return await asyncio.gather(*(store.record([fact]) for fact in facts))

    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        results = asyncio.run(all_at_once(store))
        assert [c.seq for changes in results for c in changes] == list(range(1, 301))
        assert [c.prompt.id for changes in results for c in changes if c.prompt] == [f"p{n}" for n in range(300)]
    with opened(path) as store:
        assert [seq for seq, _ in store.facts()] == list(range(1, 301))


def test_what_queues_up_behind_a_commit_shares_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:

        async def behind_a_slow_commit() -> int:
            going, release = threading.Event(), threading.Event()

            def slow(_: object) -> None:
                going.set()
                assert release.wait(10)

            held = store._writer.submit(slow)
            assert going.wait(10)
            waiting = [asyncio.ensure_future(store.record([_raised(n)])) for n in range(20)]
            await asyncio.sleep(0)  # each of them is queued now
            committed: list[str] = []
            store._writer._db.set_trace_callback(committed.append)
            release.set()
            await asyncio.wrap_future(held)
            await asyncio.gather(*waiting)
            store._writer._db.set_trace_callback(None)
            # The slow one's own commit, then one for all twenty.
            return sum(statement == "COMMIT" for statement in committed)

        assert asyncio.run(behind_a_slow_commit()) == 2
        assert store.last_seq == 20


def _raised(n: int) -> Fact:
    return Fact(PromptRaised(n, prompt(f"p{n}")), (prompt(f"p{n}"),))


def test_a_bad_fact_fails_alone(tmp_path: Path) -> None:
    wrong_name = Fact(PromptRaised(1, prompt("bad")), (prompt("bad"),), bodies={"0" * 64: b"other"})

    async def together(store: Store) -> list[list[Change] | BaseException]:
        work = [store.record([fact]) for fact in (_raised(1), wrong_name, _raised(2))]
        return await asyncio.gather(*work, return_exceptions=True)

    with opened(tmp_path / "yourcall.db") as store:
        first, bad, last = asyncio.run(together(store))
        assert isinstance(bad, ValueError)
        assert [c.seq for c in first] == [1]  # type: ignore[union-attr]
        assert [c.seq for c in last] == [2]  # type: ignore[union-attr]
        assert store.prompt("bad") is None
        assert store.body("0" * 64) is None


def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        asyncio.run(store.record([_raised(1)]))
        pages = store._writer._db.execute("PRAGMA page_count").fetchone()[0]
        store._writer._db.execute(f"PRAGMA max_page_count = {pages}")
        big = b"x" * 100_000
        too_much = Fact(PromptRaised(2, prompt("p2")), (prompt("p2"),), bodies={name_of(big): big})
        with pytest.raises(StoreProblem, match="disk is full"):
            asyncio.run(store.record([too_much]))
        assert (store.last_seq, store.prompt("p2"), store.newest("p2")) == (1, None, None)
        store._writer._db.execute(f"PRAGMA max_page_count = {pages + 1_000}")
        assert [c.seq for c in asyncio.run(store.record([too_much]))] == [2]
        assert store.body(name_of(big)) == big


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    no_time = Fact(PromptRaised(float("nan"), prompt("p1")), (prompt("p1"),))
    half_a_character = Fact(SessionSeen(1, session("s\ud800")), (), (session("s\ud800"),))
    with opened(tmp_path / "yourcall.db") as store:
        for fact in (no_time, half_a_character):
            with pytest.raises(ValueError):
                asyncio.run(store.record([fact]))
        assert store.last_seq == 0
        assert rows(store) == ({}, {})


def test_what_was_queued_is_written_even_if_nobody_waits(tmp_path: Path) -> None:
    async def impatient(store: Store) -> None:
        task = asyncio.ensure_future(store.record([_raised(1)]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        asyncio.run(impatient(store))
    with opened(path) as store:
        assert store.prompt("p1") is not None
        store.close()
        with pytest.raises(StoreProblem, match="stopping"):
            asyncio.run(store.record([_raised(2)]))


def test_the_newest_row_is_known_before_it_is_on_disk(tmp_path: Path) -> None:
    async def ask_while_writing(store: Store) -> None:
        life = Life(store)
        await store.record(list(life.facts([PromptRaised(1, prompt("p1", at=1))])))
        going, release = threading.Event(), threading.Event()

        def slow(_: object) -> None:
            going.set()
            assert release.wait(10)

        store._writer.submit(slow)
        assert going.wait(10)
        closing = asyncio.ensure_future(store.record(list(life.facts([DialogClosed(2, "p1", "idle")]))))
        await asyncio.sleep(0)
        on_disk, newest = store.prompt("p1"), store.newest("p1")
        release.set()
        await closing
        assert on_disk is not None
        assert newest is not None
        assert (on_disk.state, newest.state) == ("open", "desk")
        assert store.newest("p1") == store.prompt("p1") == newest
        assert store._unwritten == {}

    with opened(tmp_path / "yourcall.db") as store:
        asyncio.run(ask_while_writing(store))


def test_changes_after_gives_each_row_once_as_it_is_now(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        life.run([SessionSeen(1, session("s1")), PromptRaised(2, prompt("p1", at=2))])
        seen = store.last_seq
        life.run(
            [
                PromptRaised(3, prompt("p2", at=3)),
                AnswerGiven(4, "p1", answer("a1")),
                DialogClosed(5, "p2", "busy"),
                SessionEnded(6, "s1", "exit"),
            ]
        )
        changes = store.changes_after(seen, 100)
        assert [(c.prompt or c.session).id for c in changes] == ["p1", "p2", "s1"]  # type: ignore[union-attr]
        assert [c.seq for c in changes] == sorted(c.seq for c in changes)
        assert changes[-1].seq == store.last_seq
        assert changes[0].prompt == store.prompt("p1")
        # In pages, as a client asks for them: the same rows.
        pages, after = [], seen
        while page := store.changes_after(after, 1):
            pages += page
            after = page[-1].seq
        assert pages == changes
        assert store.changes_after(store.last_seq, 100) == []
        assert store.changes_after(2**80, 100) == []


def test_lists_and_prefixes(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        life = Life(store)
        life.run([PromptRaised(n, prompt(f"pq{n}", f"s{n}", at=n)) for n in range(1, 6)])
        life.run([DialogClosed(9, "pq3", "busy"), DialogClosed(9, "pq4", "idle")])
        assert [p.id for p in store.prompts(open_only=False, limit=10)] == ["pq5", "pq4", "pq3", "pq2", "pq1"]
        assert [p.id for p in store.prompts(open_only=False, limit=2, before=4.0)] == ["pq3", "pq2"]
        assert [p.id for p in store.prompts(open_only=True, limit=10)] == ["pq5", "pq2", "pq1"]
        # Answered at the desk, yes or no not known yet: closed for people, still alive for us.
        assert [p.id for p in store.live()[0]] == ["pq1", "pq2", "pq3", "pq5"]
        assert store.matching("pq", 3) == ["pq1", "pq2", "pq3"]
        assert store.matching("pq5") == ["pq5"]
        assert store.matching("q") == []
        for hostile in ("%", "p_1", "pq*", "'", "\ud800", "\x00"):
            assert store.matching(hostile) == []
            assert store.prompt(hostile) is None
        assert store.body(name_of(b"never sent")) is None


def test_the_log_refuses_to_be_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    with opened(path) as store:
        Life(store).run([PromptRaised(1, prompt("p1"))])
        shell = sqlite3.connect(path)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            shell.execute("UPDATE log SET at = 0")
        shell.close()


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        for db in (store._writer._db, store._reading):
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_only_its_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "home" / "yourcall.db"
    with opened(path) as store:
        Life(store).run([PromptRaised(1, prompt("p1"))])
        modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in path.parent.iterdir()}
        assert modes == {"yourcall.db": 0o600, "yourcall.db-wal": 0o600, "yourcall.db-shm": 0o600}
    path.chmod(0o644)
    with opened(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_rows_and_replay_agree_on_a_plain_day(tmp_path: Path) -> None:
    with opened(tmp_path / "yourcall.db") as store:
        Life(store).run(
            [
                SessionSeen(1, session("s1", at=1)),
                PromptRaised(2, prompt("p1", at=2)),
                DialogClosed(3, "p1", "busy"),
                AnswerGiven(4, "p1", answer("late")),
                SessionEnded(5, "s1"),
            ]
        )
        assert replayed(store) == rows(store)
