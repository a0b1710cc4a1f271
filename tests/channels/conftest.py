"""`lives(story)` runs an async story in a house of its own; `acts(story)` one with a Telegram bot; `chats(story)`
one on each chat platform.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

import chat_stage
from channel_house import House, Lives, in_house
from chat_stage import PLATFORMS, Chats, Line
from telegram_stage import Acts, Stage

from kit.telegram_server import TelegramServer
from yourcall.channels.telegram import polling


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return lambda story: in_house(story, tmp_path)


@pytest.fixture
def acts(lives: Lives, monkeypatch: pytest.MonkeyPatch) -> Acts:
    # In a story time goes by in leaps: that a poll took no time does not say that a tap lay there before it.
    monkeypatch.setattr(polling, "WAITED_S", -1.0)

    def run(story: Callable[[Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with TelegramServer() as server:
                stage = Stage(house, server)
                await story(stage)
                await house.stop()

        lives(inside)

    return run


@pytest.fixture(params=sorted(PLATFORMS))
def chats(request: pytest.FixtureRequest, lives: Lives, monkeypatch: pytest.MonkeyPatch) -> Chats:
    chat_stage.prepare(monkeypatch)

    def run(story: Callable[[chat_stage.Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with PLATFORMS[request.param]() as people:
                await story(chat_stage.Stage(house, people))
                await house.stop()

        lives(inside)

    return run


@pytest.fixture
def line(lives: Lives) -> Line:
    """On one platform by its name."""

    def run(name: str, story: Callable[[chat_stage.Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with PLATFORMS[name]() as people:
                await story(chat_stage.Stage(house, people))
                await house.stop()

        lives(inside)

    return run
