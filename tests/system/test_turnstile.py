"""A crowd that comes at once is served a few in each turn of the event loop."""

from __future__ import annotations

import asyncio
import itertools

from yourcall.system.tasks import Turnstile


def test_others_run_between_any_two_that_wait() -> None:
    async def run() -> list[str]:
        turnstile, seen = Turnstile(), list[str]()

        async def hook(number: int) -> None:
            await turnstile.turn()
            seen.append(f"hook {number}")

        hooks = [asyncio.ensure_future(hook(number)) for number in range(20)]
        while not all(each.done() for each in hooks):
            seen.append("other")
            await asyncio.sleep(0)
        return seen

    seen = asyncio.run(run())
    assert [each for each in seen if each != "other"] == [f"hook {number}" for number in range(20)]
    assert all("other" in pair for pair in itertools.pairwise(seen)), seen


def test_one_who_leaves_keeps_nobody_waiting() -> None:
    async def run() -> list[int]:
        turnstile, seen = Turnstile(), list[int]()

        async def hook(number: int) -> None:
            await turnstile.turn()
            seen.append(number)

        hooks = [asyncio.ensure_future(hook(number)) for number in range(6)]
        await asyncio.sleep(0)
        hooks[1].cancel()
        hooks[4].cancel()
        await asyncio.gather(*hooks, return_exceptions=True)
        await asyncio.wait_for(hook(6), 60)
        return seen

    assert asyncio.run(run()) == [0, 2, 3, 5, 6]


def test_one_alone_does_not_wait_at_all() -> None:
    async def run() -> None:
        turning = Turnstile().turn()
        try:
            turning.send(None)
        except StopIteration:
            return
        raise AssertionError("it waited")

    asyncio.run(run())


def test_a_few_may_pass_in_each_turn() -> None:
    async def run() -> list[int]:
        turnstile, passed, sizes = Turnstile(4), list[int](), list[int]()

        async def hook(number: int) -> None:
            await turnstile.turn()
            passed.append(number)

        hooks = [asyncio.ensure_future(hook(number)) for number in range(20)]
        while not all(each.done() for each in hooks):
            before = len(passed)
            await asyncio.sleep(0)
            sizes.append(len(passed) - before)
        assert passed == list(range(20))
        return sizes

    sizes = asyncio.run(run())
    assert max(sizes) == 4
    assert sum(sizes) == 20
