"""Devices are told what was allowed from the command line, and what was refused to an agent's own process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from channel_house import Board, House, in_house

from yourcall.channels.alerts import Alerts
from yourcall.core.notify_policy import Notify
from yourcall.model.events import AnswerGiven, AttemptRefused
from yourcall.model.prompts import Answer

Scenario = Callable[[House, Board, Board], Awaitable[None]]


def told(folder: Path, scenario: Scenario, notify: Notify | None = None) -> None:
    """With a phone and a desk to be told at."""
    phone, desk = Board("phone", rung="push"), Board("desk", rung="desk")

    async def run(house: House) -> None:
        alerts = Alerts(house.loop, lambda: [phone, desk], lambda: notify or Notify(), "")
        task = asyncio.create_task(alerts.run())
        await house.until(lambda: house.loop.subscribers, what="that it listens")
        try:
            await scenario(house, phone, desk)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    in_house(run, folder)


async def given(house: House, id: str, option: str = "allow", via: str = "socket", sure: str = "terminal") -> None:
    answer = Answer(f"a-{id}", "cli", via, {"decision": (option,)}, author_certainty=sure)
    await house.post(AnswerGiven(time.time(), id, answer))


def titles(board: Board) -> list[str]:
    return [notice.title for notice in board.shown.values()]


def test_a_yes_from_the_command_line_is_told_once_with_nothing_to_answer(tmp_path: Path) -> None:
    async def scenario(house: House, phone: Board, desk: Board) -> None:
        await house.ask("p1")
        await given(house, "p1", sure="local process")
        (word,) = await house.until(lambda: list(phone.shown.values()), what="the word")
        assert (word.title, word.standing, word.buttons) == ("Allowed from the command line", "over", ())
        assert "local process" in word.outcome
        assert "npm test" in word.text
        await house.confirm("p1")
        await house.ask("p2")
        await given(house, "p2")
        await house.until(lambda: phone.sends == 2, what="the second word")
        assert titles(phone) == ["Allowed from the command line"] * 2
        assert desk.shown == {}

    told(tmp_path, scenario)


def test_a_no_and_what_comes_from_a_device_are_not_told(tmp_path: Path) -> None:
    async def scenario(house: House, phone: Board, _desk: Board) -> None:
        await house.ask("p1")
        await given(house, "p1", option="deny")
        await house.ask("p2", session_id="s2")
        await given(house, "p2", via="http", sure="device key")
        await house.ask("p3", session_id="s3")
        await given(house, "p3")
        await house.until(lambda: phone.shown, what="the third")
        assert phone.sends == 1

    told(tmp_path, scenario)


@pytest.mark.parametrize(("wanted", "words"), [("unproven", 1), ("off", 0)])
def test_fewer_words_if_fewer_are_wanted(tmp_path: Path, wanted: str, words: int) -> None:
    async def scenario(house: House, phone: Board, _desk: Board) -> None:
        for number, sure in enumerate(("terminal", "local process")):
            await house.ask(f"p{number}", session_id=f"s{number}")
            await given(house, f"p{number}", sure=sure)
        await house.ask("last", session_id="last")
        await house.post(AttemptRefused(time.time(), "a process tried to answer a prompt", "Why.", "last", "last"))
        await house.until(lambda: "An agent tried to answer for you" in titles(phone), what="the last word")
        assert phone.sends == words + 1

    told(tmp_path, scenario, Notify(local_allows=wanted))  # pyright: ignore[reportArgumentType]


def test_what_was_refused_to_an_agent_is_told_and_the_prompt_waits(tmp_path: Path) -> None:
    async def scenario(house: House, phone: Board, _desk: Board) -> None:
        await house.ask("p1")
        await house.post(AttemptRefused(time.time(), "a process tried to answer a prompt", "Why.", "s1", "p1"))
        (word,) = await house.until(lambda: list(phone.shown.values()), what="the word")
        assert (word.title, word.buttons) == ("An agent tried to answer for you", ())
        prompt = house.loop.prompt("p1")
        assert prompt is not None
        assert (prompt.state, prompt.history[-1].by) == ("open", "agent process")
        await house.post(AttemptRefused(time.time(), "a process tried to change rules", "Why.", "s1"))
        await house.until(lambda: "An agent's process was refused" in titles(phone), what="the second word")
        session = house.store.session("s1")
        assert session is not None
        assert session.warning == "refused: a process tried to change rules. Why."

    told(tmp_path, scenario)
