"""The impatient thumb on every chat platform: taps that come before anybody can have read what they hit answer
nothing. Real time here: the rhythm of the taps is what is tested. Telegram's own scenes are in
`test_telegram_still.py`.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from channel_house import House, Lives
from chat_stage import PLATFORMS, Chats, Stage

from kit.chat_people import LOOK_S
from yourcall.channels.chat.tap_timing import TOO_QUICK
from yourcall.core.notify_policy import Notify
from yourcall.model.prompts import Option, Question

RUNS = 50 if os.environ.get("YOURCALL_SOAK") else 1  # with each of four numbers of taps

# A tap that took longer than this to be made may have been looked at.
BREATH_S = 0.95


@pytest.fixture(params=sorted(set(PLATFORMS) - {"telegram"}))
def plays(request: pytest.FixtureRequest, lives: Lives) -> Chats:
    """As `chats`, but time is what it is."""

    def run(story: Callable[[Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with PLATFORMS[request.param]() as people:
                stage = Stage(house, people, leaps=False)
                stage.life(Notify(repeats=0))
                await stage.pair()
                await story(stage)
                await house.stop()

        lives(inside)

    return run


def rhythm(seed: int) -> Iterator[float]:
    chance = random.Random(seed)
    while True:
        yield chance.uniform(0.05, 0.8)


async def looks(stage: Stage) -> None:
    """Somebody looks at the chat until all is there and has stood for a moment."""
    await stage.settled()
    await asyncio.sleep(LOOK_S)


def bottom(stage: Stage) -> tuple[object, str] | None:
    """The first button of the lowest message that has some: where the thumb is."""
    for message in reversed(stage.people.shown()):
        for _, data in message.buttons:
            return message.id, data
    return None


async def taps(stage: Stage, count: int, pauses: Iterator[float]) -> None:
    """So many taps at the same spot, whatever is under it; all of them are read. It ends early if the machine is
    too slow for a thumb that does not look."""
    last = time.monotonic()
    for _ in range(count):
        await asyncio.sleep(next(pauses))
        if time.monotonic() - last > BREATH_S:
            break
        last = time.monotonic()
        if (under := bottom(stage)) is not None:
            stage.people.press(*under, hasty=True)
    await stage.see(lambda: stage.people.handled, "read")


async def _next_prompt(stage: Stage, extra: int, seed: int, run: int = 0) -> None:
    """One prompt is answered, the next one comes, and the thumb goes on."""
    one, two = f"a{run}", f"b{run}"
    before = len(stage.prompts())
    await stage.house.ask(one, title="npm test")
    await stage.see(lambda: len(stage.prompts()) == before + 1)
    await looks(stage)
    stage.people.tap(stage.prompts()[-1].id, "✅ Allow", hasty=True)
    await stage.see(lambda: stage.row(one).state == "answering", "the first one is answered")
    await stage.house.ask(two, title="make deploy-nothing")
    await taps(stage, extra, rhythm(seed))
    await stage.see(lambda: len(stage.prompts()) == before + 2)
    assert stage.row(two).state == "open", "nobody has looked at this one"
    await looks(stage)
    stage.people.tap(stage.prompts()[-1].id, "✅ Allow", hasty=True)
    await stage.see(lambda: stage.row(two).state == "answering", "whoever looks first is heard")


async def _sure(stage: Stage, extra: int, seed: int, run: int = 0) -> None:
    """What is dangerous is asked twice, at the same place: the second yes takes a look."""
    name = f"a{run}"
    before = len(stage.prompts())
    await stage.house.ask(name, title="rm -rf build")
    await stage.see(lambda: len(stage.prompts()) == before + 1)
    message = stage.prompts()[-1].id
    await looks(stage)
    stage.people.tap(message, "✅ Allow", hasty=True)
    await taps(stage, extra, rhythm(seed))
    await stage.see(lambda: "Yes, I am sure" in stage.labels(message))
    assert stage.row(name).state == "open"
    await looks(stage)
    stage.people.tap(message, "Yes, I am sure", hasty=True)
    await stage.see(lambda: stage.row(name).state == "answering")


SCENES = pytest.mark.parametrize("scene", [_next_prompt, _sure], ids=["the next prompt", "the second yes"])


@SCENES
def test_extra_taps_answer_nothing(plays: Chats, scene: Callable[..., Awaitable[None]]) -> None:
    plays(lambda stage: scene(stage, 8, 8))


@pytest.mark.soak
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("extra", [1, 3, 8, 20])
@SCENES
def test_extra_taps_answer_nothing_in_two_hundred_runs(
    plays: Chats, scene: Callable[..., Awaitable[None]], extra: int
) -> None:
    async def story(stage: Stage) -> None:
        for run in range(RUNS):
            await scene(stage, extra, 1000 * extra + run, run)

    plays(story)


def test_a_tap_right_after_the_message_came_is_told_to_be_too_quick(plays: Chats) -> None:
    async def story(stage: Stage) -> None:
        await stage.house.ask()
        message = await stage.prompt()
        stage.people.tap(message, "✅ Allow", hasty=True)
        await stage.told(TOO_QUICK)
        assert stage.row().state == "open"

    plays(story)


def test_pages_that_nobody_read_are_not_filled_in_or_sent(plays: Chats) -> None:
    async def story(stage: Stage) -> None:
        asked = tuple(
            Question(f"q{n}", f"Question {n}?", (Option("a", "Apples", "choose"), Option("b", "Pears", "choose")))
            for n in range(3)
        )
        await stage.house.ask(kind="question", title="Fruit", questions=asked, tool=None)
        message = await stage.prompt()
        await looks(stage)
        stage.people.tap(message, "○ Apples", hasty=True)
        await taps(stage, 8, rhythm(5))
        await stage.see(lambda: "2 of 3: Question 1?" in stage.text(message).replace("2 of 3: \n", "2 of 3: "))
        await stage.settled()
        assert "○ Apples" in stage.labels(message), "nothing is chosen there"

    plays(story)
