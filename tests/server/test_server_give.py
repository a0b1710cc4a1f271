"""An instruction meets a pause that is over: nothing was written, so it is said as to a session at work."""

from __future__ import annotations

import asyncio
import time

import pytest
from server_house import House

from kit.poll import until
from yourcall.model.events import AnswerNotWritten, PromptRaised, PromptWithdrawn
from yourcall.model.prompts import Answer, Prompt, Question, Verdict
from yourcall.model.sessions import Link, Session
from yourcall.server.api.start import give
from yourcall.server.auth import Caller

NEXT = Question("next", "What next?", free_text=True)
ANNA = Caller("anna", "socket")


class Voice:
    def __init__(self) -> None:
        self.said: list[str] = []

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict:
        self.said.append(text)
        return Verdict("sent", "it was told")


class TooLate:
    """The pause ends between the look and the answer."""

    def __init__(self, house: House, by: str) -> None:
        self.store, self._loop, self._by = house.store, house.loop, by

    async def answer(self, id: str, answer: Answer, wait: float) -> tuple[Verdict, Prompt | None]:
        if self._by == "agent":
            await self._loop.post(PromptWithdrawn(time.time(), id, "the session went on"))
        else:
            await self._loop.answer(id, Answer("first", self._by, "socket", texts={"next": "Stop."}), 0)
        return await self._loop.answer(id, answer, wait)


@pytest.fixture
def resting(house: House) -> Session:
    house.session(links=(Link("stdio"),))
    ready = Prompt(
        "r1", "ready", "claude", "s1", "/home/user/project", "Done", time.time(), questions=(NEXT,),
        answerable=True, link="stdio",
    )  # fmt: skip
    house.post(PromptRaised(time.time(), ready))
    session = house.store.session("s1")
    assert session is not None
    return session


def test_the_session_goes_on_before_the_instruction_is_taken(house: House, resting: Session) -> None:
    voice = Voice()
    desk = TooLate(house, "agent")
    verdict = house.run(give(desk, voice, ANNA, resting, "go on"))  # type: ignore[arg-type]
    assert (verdict.result, voice.said) == ("sent", ["go on"])


def test_the_session_goes_on_before_the_instruction_is_written(house: House, resting: Session) -> None:
    voice = Voice()
    told = asyncio.run_coroutine_threadsafe(give(house.loop, voice, ANNA, resting, "go on"), house.aio)  # type: ignore[arg-type]
    until(lambda: house.commands)
    answer = house.loop.state.prompts["r1"].answer
    assert answer is not None
    house.post(AnswerNotWritten(time.time(), "r1", answer.id, "Claude is at work again."))
    assert (told.result(20).result, voice.said) == ("sent", ["go on"])


def test_whoever_is_second_is_told_so(house: House, resting: Session) -> None:
    voice = Voice()
    verdict = house.run(give(TooLate(house, "bob"), voice, ANNA, resting, "go on"))  # type: ignore[arg-type]
    assert (verdict.result, verdict.by, voice.said) == ("too_late", "bob", [])
