"""Standing orders and kills: whenever the daemon dies, no instruction is lost, and none is given twice."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from orders_world import Agent, Daemon

# So many orders wait at a time, and each daemon lives for so many turns of the event loop at most.
WAITING = 4
MOST_TURNS = 60


@pytest.fixture
def memory(tmp_path: Path) -> Generator[Path]:
    """A disk that is quick to write to; what is killed here is the program, not the machine."""
    place = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=place if place.is_dir() else tmp_path, prefix="yourcall-orders-"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("keeper", [True, False], ids=["over a pipe", "typed"])
def test_nothing_is_lost_or_doubled(memory: Path, keeper: bool) -> None:
    asyncio.run(_killed_again_and_again(memory, Agent(keeper=keeper), random.Random(11), 150))


@pytest.mark.soak
@pytest.mark.parametrize("keeper", [True, False], ids=["over a pipe", "typed"])
def test_nothing_is_lost_or_doubled_in_thousands_of_kills(memory: Path, keeper: bool) -> None:
    asyncio.run(_killed_again_and_again(memory, Agent(keeper=keeper), random.Random(os.urandom(8)), 5_000))


async def _killed_again_and_again(folder: Path, agent: Agent, chance: random.Random, kills: int) -> None:
    """Each daemon starts, works for a moment and dies."""
    names, kept, taken = count(1), folder / "0.db", list[str]()
    states: dict[str, str] = {}
    for kill in range(kills):
        daemon = Daemon(kept, agent)
        async with daemon:
            states |= {each.text: each.state for each in daemon.queue.orders}
            for _ in range(WAITING - sum(each.state == "waiting" for each in daemon.queue.orders)):
                text = f"order {next(names)}"
                await daemon.add(text)
                taken.append(text)
            if daemon.queue.held:  # after an unsure one a person looks, and lets it go on
                await daemon.orders.resume("s1")
            life = asyncio.ensure_future(_life(daemon))
            for _ in range(chance.randrange(MOST_TURNS)):  # the moment of death is what is being tried
                await asyncio.sleep(0.0005 if chance.random() < 0.1 else 0)
            image = folder / f"{kill + 1}.db"
            daemon.killed(image)
            life.cancel()
        kept = image
        assert len(agent.texts) == len(set(agent.texts)), "an instruction was given twice"
    async with Daemon(kept, agent) as daemon:  # the last one lives until all is done
        async with asyncio.timeout(60):
            while any(each.state not in ("done", "unsure") for each in daemon.queue.orders):
                if daemon.queue.held:
                    await daemon.orders.resume("s1")
                await _life(daemon, turns=1)
                states |= {each.text: each.state for each in daemon.queue.orders}
    assert len(agent.texts) == len(set(agent.texts)), "an instruction was given twice"
    assert agent.texts == sorted(agent.texts, key=lambda text: int(text.split()[1])), "out of order"
    lost = set(taken) - set(agent.texts)
    if agent.keeper:
        assert not lost
    assert {states[text] for text in lost} <= {"unsure"}, "one that never arrived was called done"
    assert len(agent.texts) > kills / 5, "hardly anything was given: this tried nothing"


async def _life(daemon: Daemon, turns: int = 10_000) -> None:
    """Turn after turn ends, as soon as the one before was begun by an instruction."""
    for _ in range(turns):
        waiting = [p for p in daemon.loop.state.of_session("s1") if p.state in ("open", "answering", "sent")]
        if not waiting:
            await daemon.rests()
        await asyncio.sleep(0)
