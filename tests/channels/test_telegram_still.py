"""Telegram and the impatient thumb: taps that come before anybody can have read what they hit answer nothing.

Real time and real polls here: the rhythm of the taps is what is tested.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from channel_house import ALLOW, DENY, House, Lives
from telegram_stage import Stage

from kit.telegram_server import LOOK_S, TelegramServer
from yourcall.channels.chat.tap_timing import AWAY, CHANGED, TOO_QUICK
from yourcall.core.notify_policy import Notify
from yourcall.model.prompts import Option, Question

RUNS = 50 if os.environ.get("YOURCALL_SOAK") else 1  # with each of four numbers of taps

# A tap that took longer than this to be made may have been looked at.
BREATH_S = 0.95


@pytest.fixture
def plays(lives: Lives) -> Callable[[Callable[[Stage], Awaitable[None]]], None]:
    """As `acts`, but time is what it is."""

    def run(story: Callable[[Stage], Awaitable[None]]) -> None:
        async def inside(house: House) -> None:
            with TelegramServer() as server:
                stage = Stage(house, server)
                stage.life(Notify(repeats=0))
                await stage.pair()
                await story(stage)
                await house.stop()

        lives(inside)

    return run


Plays = Callable[[Callable[[Stage], Awaitable[None]]], None]


def rhythm(seed: int) -> Iterator[float]:
    chance = random.Random(seed)
    while True:
        yield chance.uniform(0.05, 0.8)


async def looks() -> None:
    """Somebody looks at the chat, and the bot waits for news meanwhile."""
    await asyncio.sleep(LOOK_S)


def bottom(stage: Stage) -> tuple[int, str] | None:
    """The first button of the lowest message that has some: where the thumb is."""
    for message in reversed(stage.server.shown()):
        for row in message.get("reply_markup", {}).get("inline_keyboard", []):
            for key in row:
                if "callback_data" in key:
                    return message["message_id"], key["callback_data"]
    return None


async def taps(stage: Stage, count: int, pauses: Iterator[float]) -> list[str]:
    """So many taps at the same spot, whatever is under it; the queries. It ends early if the machine is too slow
    for a thumb that does not look."""
    queries: list[str] = []
    last = time.monotonic()
    for _ in range(count):
        await asyncio.sleep(next(pauses))
        if time.monotonic() - last > BREATH_S:
            break
        last = time.monotonic()
        if (under := bottom(stage)) is not None:
            queries.append(stage.server.press(*under, hasty=True))
    return queries


async def _next_prompt(stage: Stage, extra: int, seed: int, run: int = 0) -> None:
    """One prompt is answered, the next one comes, and the thumb goes on."""
    one, two = f"a{run}", f"b{run}"
    before = len(stage.prompts())
    await stage.house.ask(one, title="npm test")
    await stage.see(lambda: len(stage.prompts()) == before + 1)
    await looks()
    under = bottom(stage)
    assert under is not None
    stage.server.press(*under, hasty=True)
    await stage.see(lambda: stage.row(one).state == "answering", "the first one is answered")
    await stage.house.ask(two, title="make deploy-nothing")
    queries = await taps(stage, extra, rhythm(seed))
    await stage.see(lambda: len(stage.prompts()) == before + 2)
    for query in queries:
        await stage.toast(query)
    assert stage.row(two).state == "open", "nobody has looked at this one"
    await looks()
    under = bottom(stage)
    assert under is not None
    toast = await stage.toast(stage.server.press(*under, hasty=True))
    assert toast["text"] == "Sending…", "whoever looks first is heard"
    await stage.see(lambda: stage.row(two).state == "answering")


async def _sure(stage: Stage, extra: int, seed: int, run: int = 0) -> None:
    """What is dangerous is asked twice, at the same place: the second yes takes a look."""
    name = f"a{run}"
    before = len(stage.prompts())
    await stage.house.ask(name, title="rm -rf build")
    await stage.see(lambda: len(stage.prompts()) == before + 1)
    message = stage.prompts()[-1]["message_id"]
    await looks()
    stage.server.tap(message, "✅ Allow", hasty=True)
    for query in await taps(stage, extra, rhythm(seed)):
        await stage.toast(query)
    await stage.see(lambda: "Yes, I am sure" in stage.server.labels(message))
    assert stage.row(name).state == "open"
    await looks()
    stage.server.tap(message, "Yes, I am sure", hasty=True)
    await stage.see(lambda: stage.row(name).state == "answering")


@pytest.mark.parametrize("extra", [1, 3, 8, 20])
@pytest.mark.parametrize("scene", [_next_prompt, _sure], ids=["the next prompt", "the second yes"])
def test_extra_taps_answer_nothing(plays: Plays, scene: Callable[..., Awaitable[None]], extra: int) -> None:
    plays(lambda stage: scene(stage, extra, extra))


@pytest.mark.soak
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("extra", [1, 3, 8, 20])
@pytest.mark.parametrize("scene", [_next_prompt, _sure], ids=["the next prompt", "the second yes"])
def test_extra_taps_answer_nothing_in_two_hundred_runs(
    plays: Plays, scene: Callable[..., Awaitable[None]], extra: int
) -> None:
    async def story(stage: Stage) -> None:
        for run in range(RUNS):
            await scene(stage, extra, 1000 * extra + run, run)

    plays(story)


def test_a_tap_right_after_the_message_came_is_told_to_be_too_quick(plays: Plays) -> None:
    async def story(stage: Stage) -> None:
        await stage.house.ask()
        message = await stage.prompt()
        toast = await stage.toast(stage.server.tap(message, "✅ Allow", hasty=True))
        assert toast["text"] == TOO_QUICK
        assert not toast.get("show_alert"), "short, and it goes by itself"
        assert stage.row().state == "open"

    plays(story)


def test_pages_that_nobody_read_are_not_filled_in_or_sent(plays: Plays) -> None:
    async def story(stage: Stage) -> None:
        asked = tuple(
            Question(f"q{n}", f"Question {n}?", (Option("a", "Apples", "choose"), Option("b", "Pears", "choose")))
            for n in range(3)
        )
        await stage.house.ask(kind="question", title="Fruit", questions=asked, tool=None)
        message = await stage.prompt()
        await looks()
        stage.server.tap(message, "○ Apples", hasty=True)
        for query in await taps(stage, 8, rhythm(5)):
            await stage.toast(query)
        assert "2 of 3: Question 1?" in stage.text(message), "one page for one look"
        assert "○ Apples" in stage.server.labels(message), "nothing is chosen there"

    plays(story)


def test_boxes_are_ticked_as_fast_as_one_likes(plays: Plays) -> None:
    async def story(stage: Stage) -> None:
        sizes = tuple(Option(s, s.upper(), "choose") for s in ("s", "m", "l"))
        asked = Question("q", "Which sizes?", sizes, multi_select=True)
        await stage.house.ask(kind="question", title="Which sizes?", questions=(asked,), tool=None)
        message = await stage.prompt()
        await looks()
        for size in "SML":
            stage.server.tap(message, f"☐ {size}", hasty=True)
            await stage.see(lambda size=size: f"☑ {size}" in stage.server.labels(message))
        await looks()
        stage.server.tap(message, "Submit", hasty=True)
        await stage.see(lambda: stage.row().state == "answering")

    plays(story)


def test_a_button_of_what_the_message_showed_before_is_refused(plays: Plays) -> None:
    async def story(stage: Stage) -> None:
        free = Question("decision", "May it?", (ALLOW, DENY), free_text=True)
        await stage.house.ask(questions=(free,))
        message = await stage.prompt()
        data = stage.server.keyboard(message)[0][0]["callback_data"]
        stage.server.say("use yarn", reply_to=message)
        await stage.see(lambda: "Your words: use yarn" in stage.text(message))
        await looks()
        toast = await stage.toast(stage.server.press(message, data, hasty=True))
        assert toast["text"] == CHANGED
        assert stage.row().state == "open"
        await looks()
        stage.server.tap(message, "✅ Allow", hasty=True)
        await stage.see(lambda: stage.row().state == "answering")

    plays(story)


def test_a_tap_from_while_nobody_listened_is_asked_for_again(plays: Plays) -> None:
    async def story(stage: Stage) -> None:
        await stage.house.ask()
        message = await stage.prompt()
        await stage.house.settled()
        await stage.house.stop()
        stage.server.tap(message, "✅ Allow", hasty=True)
        stage.life()
        await stage.see(lambda: any(AWAY in m["text"] for m in stage.server.shown()))
        assert stage.row().state == "open"
        await looks()
        stage.server.tap(message, "✅ Allow", hasty=True)
        await stage.see(lambda: stage.row().state == "answering")

    plays(story)


def test_a_code_is_not_shown_to_a_group(lives: Lives) -> None:
    async def story(house: House) -> None:
        with TelegramServer() as server:
            stage = Stage(house, server)
            stage.life()
            await stage.pair(chat=-100, user=7, kind="supergroup")
            server.say("/invite", chat=-100, user=7, kind="supergroup")
            said = await stage.see(lambda: [m["text"] for m in server.shown(-100) if "private chat" in m["text"]])
            assert "/pair " not in said[0]
            assert stage.keep.facts["invites"] == b"[]", "there is none"
            server.say("/invite", chat=7, user=7)
            (code,) = await stage.see(lambda: [m["text"] for m in server.shown(7) if "/pair " in m["text"]])
            server.say(code.splitlines()[1], chat=8, user=8, name="Bob")
            await stage.see(lambda: stage.channel.targets() == ["-100", "8"])
            server.say("/invite", chat=9, user=9)
            await stage.see(lambda: server.shown(9))
            assert not any(
                "/pair " in m["text"] and "-" in m["text"].partition("/pair ")[2] for m in server.shown(9)
            )
            await house.stop()

    lives(story)
