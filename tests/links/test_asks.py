"""Questions of scripts across a crash: what was on its way is put into the box, once, and nothing stays behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import uvloop

from yourcall.agents.script.requests import Ask
from yourcall.core.replay import replay
from yourcall.daemon.loop import Loop
from yourcall.links.questions import ScriptQuestions
from yourcall.model.events import AnswerGiven, AnyCommand, Deliver
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.store.sqlite import Store

T = TypeVar("T")
YES = Answer("answer1", "cli", "socket", {"answer": ("yes",)})


def run(folder: Path, work: Callable[[Loop, ScriptQuestions], Awaitable[T]], *, deaf: bool = False) -> T:
    """One life of a daemon; `deaf`: it dies before it carries anything out."""

    async def life() -> T:
        store = Store.open(folder / "yourcall.db")
        try:
            asks: ScriptQuestions

            def perform(command: AnyCommand) -> None:
                prompt = loop.state.prompts.get(command.prompt_id)
                if isinstance(command, Deliver) and prompt is not None and not deaf:
                    asks.deliver(prompt, command.answer)

            loop = Loop(store, perform)
            asks = ScriptQuestions(loop, store)
            await asks.recover()
            return await work(loop, asks)
        finally:
            store.close()

    return uvloop.run(life())


async def raised(asks: ScriptQuestions, *, attended: bool) -> Prompt:
    prompt = await asks.ask(Ask("Deploy?", ("yes", "no"), id="abcdefgh", attended=attended))
    assert isinstance(prompt, Prompt)
    return prompt


def crash_with_an_answer_on_its_way(folder: Path, *, attended: bool) -> None:
    async def first(loop: Loop, asks: ScriptQuestions) -> None:
        prompt = await raised(asks, attended=attended)
        await loop.post(AnswerGiven(time.time(), prompt.id, YES))
        assert loop.state.prompts[prompt.id].state == "answering"

    run(folder, first, deaf=True)


def test_an_answer_that_was_taken_before_a_crash_is_in_the_box_after_it(tmp_path: Path) -> None:
    crash_with_an_answer_on_its_way(tmp_path, attended=True)

    async def second(loop: Loop, asks: ScriptQuestions) -> list[str]:
        there = await asks.wait("abcdefgh", 10)
        assert there is not None
        assert there.state == "sent"
        assert there.answer == YES
        taken = await asks.taken("abcdefgh", "answer1")
        assert taken is not None
        assert loop.state.sessions == {}
        assert replay(event for _, event in loop.store.facts())[0]["abcdefgh"] == taken
        return [moment.state for moment in taken.history]

    assert run(tmp_path, second) == ["open", "answering", "sent", "confirmed"]


def test_one_that_nobody_attends_is_confirmed_by_the_box_itself(tmp_path: Path) -> None:
    crash_with_an_answer_on_its_way(tmp_path, attended=False)

    async def second(loop: Loop, asks: ScriptQuestions) -> None:
        async with asyncio.timeout(60), loop.subscribe(0) as changes:
            async for change in changes:
                if change.session is not None and change.session.state == "ended":
                    break
        row = loop.store.prompt("abcdefgh")
        assert row is not None
        assert row.state == "confirmed"

    run(tmp_path, second)


def test_a_withdrawn_one_with_an_untaken_answer_is_unsure_and_may_still_be_taken(tmp_path: Path) -> None:
    async def work(loop: Loop, asks: ScriptQuestions) -> None:
        prompt = await raised(asks, attended=True)
        await loop.answer(prompt.id, YES, 0)
        assert (await asks.wait(prompt.id, 10) or prompt).state == "sent"
        gone = await asks.withdraw(prompt.id)
        assert gone is not None
        assert gone.state == "unsure"
        late = await asks.taken(prompt.id, "answer1")
        assert late is not None
        assert (late.state, late.outcome) == ("confirmed", "unknown")

    run(tmp_path, work)


def test_two_questions_with_one_id_at_once_are_not_one(tmp_path: Path) -> None:
    """An id is the script's own word. Whoever comes second with another question must not get the answer to the
    first."""

    async def work(_: Loop, asks: ScriptQuestions) -> None:
        first, same, other = await asyncio.gather(
            asks.ask(Ask("Deploy kites?", ("yes", "no"), id="abcdefgh")),
            asks.ask(Ask("Deploy kites?", ("yes", "no"), id="abcdefgh")),
            asks.ask(Ask("Deploy everything?", ("yes", "no"), id="abcdefgh", name="another")),
        )
        assert isinstance(first, Prompt)
        assert isinstance(same, Prompt)
        assert first.id == same.id == "abcdefgh"
        assert isinstance(other, Refused)

    run(tmp_path, work)
