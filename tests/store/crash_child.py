"""A process that records lives and says each fact it was told is on disk; made to be killed at any moment.

    python crash_child.py DATABASE SEED

Prints `seq kind subject`, one line for each acknowledged fact.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from store_story import Life, event_of

from yourcall.store.facts import subject
from yourcall.store.sqlite import Fact, Store


async def tell(store: Store, fact: Fact) -> None:
    changes = await store.record([fact])
    print(changes[-1].seq, type(fact.event).__name__, subject(fact.event), flush=True)


async def live_on(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    life = Life(store)
    at = float(store.last_seq)
    while True:
        # Some alone, some together: a crash may come between transactions and inside a shared one.
        events = [event_of(rng.randrange(16 * 6 * 4 * 6), at + n) for n in range(rng.choice((1, 1, 4, 16)))]
        at += len(events)
        await asyncio.gather(*(tell(store, fact) for fact in life.facts(events)))


if __name__ == "__main__":
    asyncio.run(live_on(Store.open(Path(sys.argv[1])), int(sys.argv[2])))
