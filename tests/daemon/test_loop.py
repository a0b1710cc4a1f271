"""The loop around the core: what cannot be written has not happened, and stops nobody."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from yourcall.core.replay import replay
from yourcall.daemon.loop import Loop
from yourcall.model.events import AnswerGiven, AnyCommand, Deliver, HolderLost, PromptRaised, SessionSeen
from yourcall.model.prompts import Answer, Option, Prompt, Question
from yourcall.model.sessions import Session
from yourcall.store.problem import StoreProblem
from yourcall.store.sqlite import Store

ASKED = Question("decision", "May it?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
YES = Answer("a1", "phone", "http", {"decision": ("allow",)})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "yourcall.db")
    yield store
    store.close()


def prompt(name: str) -> Prompt:
    return Prompt(name, "permission", "claude", "s1", "/p", name, 1.0, questions=(ASKED,), answerable=True)


def test_what_cannot_be_written_changes_nothing_and_is_no_reason_to_stop(store: Store) -> None:
    failures: list[Exception] = []

    async def told() -> list[str]:
        loop = Loop(store, lambda _: None, failures.append)
        with pytest.raises(UnicodeEncodeError):
            await loop.post(SessionSeen(1.0, Session("bad", "claude", "/half/a/letter/\udcff")))
        await loop.post(SessionSeen(2.0, Session("good", "claude", "/whole")))
        return list(loop.state.sessions)

    assert uvloop.run(told()) == ["good"]
    assert [session.id for session in store.live()[1]] == ["good"]
    assert failures == []


def test_who_follows_misses_nothing_when_an_answer_overtakes(store: Store) -> None:
    """An answer goes to the disk at once. What went there just before it may still be on its way to those who are
    told: they hear both, in their order."""

    async def heard() -> list[str]:
        loop = Loop(store, lambda _: None)
        await loop.post(PromptRaised(1.0, prompt("p1")))
        async with loop.subscribe(None) as changes:
            before = store.last_seq
            telling = asyncio.ensure_future(loop.post(SessionSeen(2.0, Session("s2", "claude", "/p"))))
            await asyncio.sleep(0)  # it waits for the disk
            end = time.monotonic() + 10
            while store.last_seq == before or store.busy:  # on the store's own thread: we hold the loop meanwhile
                assert time.monotonic() < end
                time.sleep(0.001)  # noqa: ASYNC251
            assert not telling.done()
            await loop.post(AnswerGiven(3.0, "p1", YES))
            await telling
            told: list[str] = []
            async with asyncio.timeout(60):
                async for change in changes:
                    told += [row.id for row in (change.session, change.prompt) if row is not None]
                    if len(told) == 2:
                        break
            return told

    assert uvloop.run(heard()) == ["s2", "p1"]


def test_an_answer_is_on_its_way_before_others_are_told(store: Store) -> None:
    order: list[str] = []

    async def follow(loop: Loop) -> None:
        async with loop.subscribe(None) as changes:
            async for change in changes:
                if change.prompt is not None and change.prompt.state == "answering":
                    order.append("told")
                    return

    async def answered() -> None:
        def perform(_: AnyCommand) -> None:
            order.append("performed")
            # What a transport sends at the end of this turn of the loop.
            asyncio.get_running_loop().call_soon(order.append, "sent")

        loop = Loop(store, perform)
        await loop.post(PromptRaised(1.0, prompt("p1")))
        following = asyncio.ensure_future(follow(loop))
        await asyncio.sleep(0)
        await loop.post(AnswerGiven(2.0, "p1", YES))
        async with asyncio.timeout(60):
            await following

    uvloop.run(answered())
    assert order == ["performed", "sent", "told"]


def test_an_answer_whose_sender_hangs_up_reaches_its_agent(store: Store) -> None:
    """On a busy disk it waits among others, and its sender may be gone before it is written."""
    performed: list[AnyCommand] = []

    async def hung_up() -> None:
        loop = Loop(store, performed.append)
        await loop.post(PromptRaised(1.0, prompt("p1")))
        disk = sqlite3.connect(store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")  # nobody else can write
        before = asyncio.ensure_future(loop.post(SessionSeen(2.0, Session("s2", "claude", "/p"))))
        await asyncio.sleep(0)
        answering = asyncio.ensure_future(loop.answer("p1", YES, 5))
        async with asyncio.timeout(60):
            while loop.state.prompts["p1"].state != "answering":  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert performed == []
        disk.execute("ROLLBACK")
        disk.close()
        await before
        async with asyncio.timeout(60):
            while not performed:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.001)

    uvloop.run(hung_up())
    assert performed == [Deliver("p1", YES)]


def test_after_a_failed_write_nothing_more_is_decided(store: Store) -> None:
    """What is in memory is ahead of the disk then. A row made of it would not be what the facts on disk say, and
    would show an answer that was never taken."""
    failures: list[Exception] = []

    async def failing() -> None:
        loop = Loop(store, lambda _: None, failures.append)
        await loop.post(SessionSeen(1.0, Session("s1", "claude", "/p")))
        await loop.post(PromptRaised(1.0, prompt("p1")))
        disk = sqlite3.connect(store.path, isolation_level=None)
        disk.execute("BEGIN IMMEDIATE")  # for longer than anybody is waited for
        with pytest.raises(StoreProblem):
            await loop.post(AnswerGiven(2.0, "p1", YES))
        disk.execute("ROLLBACK")
        disk.close()
        with suppress(StoreProblem):
            await loop.post(HolderLost(3.0, "p1", "its hook ended without a word"))

    uvloop.run(failing())
    assert len(failures) == 1
    row = store.prompt("p1")
    assert row is not None
    assert row == replay(event for _, event in store.facts())[0]["p1"]
    assert row.answer is None


def test_a_prompt_that_a_rule_answers_is_written_and_told_with_its_answer(store: Store) -> None:
    performed: list[AnyCommand] = []

    async def ruled() -> list[str]:
        loop = Loop(store, performed.append)
        async with loop.subscribe(None) as changes:
            done = await loop.post(PromptRaised(1.0, prompt("p1")), None, AnswerGiven(1.0, "p1", YES))
            assert [row.state for row in done.prompts] == ["open", "answering"]
            told: list[str] = []
            async with asyncio.timeout(60):
                async for change in changes:
                    assert change.prompt is not None
                    told.append(change.prompt.state)
                    if len(told) == 2:
                        break
            return told

    assert uvloop.run(ruled()) == ["open", "answering"]
    assert performed == [Deliver("p1", YES)]
    assert replay(event for _, event in store.facts())[0]["p1"].state == "answering"


def test_of_a_prompt_and_its_rules_answer_both_are_written_or_none(store: Store) -> None:
    performed: list[AnyCommand] = []
    failures: list[Exception] = []
    with sqlite3.connect(store.path) as disk:
        disk.execute(
            "CREATE TRIGGER full BEFORE INSERT ON log WHEN new.kind = 'AnswerGiven'"
            " BEGIN SELECT RAISE(FAIL, 'full'); END"
        )

    async def failing() -> None:
        loop = Loop(store, performed.append, failures.append)
        with pytest.raises(sqlite3.IntegrityError, match="full"):
            await loop.post(PromptRaised(1.0, prompt("p1")), None, AnswerGiven(1.0, "p1", YES))

    uvloop.run(failing())
    assert (store.prompt("p1"), performed, len(failures)) == (None, [], 1)


def test_an_answer_that_cannot_be_written_takes_no_prompt_with_it(store: Store) -> None:
    async def told() -> list[str]:
        loop = Loop(store, lambda _: None)
        half = Answer("a1", "rule", "rule", {"decision": ("allow",)}, {"decision": "half a letter: \udcff"})
        with pytest.raises(UnicodeEncodeError):
            await loop.post(PromptRaised(1.0, prompt("p1")), None, AnswerGiven(1.0, "p1", half))
        return list(loop.state.prompts)

    assert uvloop.run(told()) == []
