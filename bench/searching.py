"""Search over a long past of conversations: how quick an answer is, how fast the index grows, what it weighs.

The rule it keeps: the transcripts are written as Claude writes them, the index is made by the real code in the
background, and a search is timed while that still works as well as when it is done.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.row import Row
from bench.size import Size
from yourcall.agents.registry import AGENTS
from yourcall.links.conversations import Conversations
from yourcall.model.sessions import Session
from yourcall.store import search_conversations
from yourcall.store.search_conversations import ConversationSearch

EACH = 5 << 20  # of one transcript
SESSIONS = 200  # of them: one gigabyte
SEARCHES = 40
MOST_MS = 100.0
_LETTERS = random.Random(2)
WORDS = ["".join(_LETTERS.choices("etaoinshrdlu", k=_LETTERS.randrange(3, 10))) for _ in range(20_000)]
# As in a language: the second is half as usual as the first, and so on.
OFTEN = [1 / (n + 1) for n in range(len(WORDS))]


class Past:
    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = {each.id: each for each in sessions}

    def live(self) -> tuple[object, list[Session]]:
        return [], list(self._sessions.values())[:5]

    def ended(self, limit: int, /) -> list[Session]:
        return list(self._sessions.values())[:limit]

    def session(self, session_id: str, /) -> Session | None:
        return self._sessions.get(session_id)


def searched(at: Path, size: Size) -> Iterator[Row]:
    count = size.of(SESSIONS)
    sessions = _written(at, count)
    megabytes = sum(Path(each.transcript).stat().st_size for each in sessions) / 2**20
    during, after, seconds, grown, index = asyncio.run(_timed(at, sessions, size))
    past = f"{megabytes:,.0f} MB of transcripts"
    yield Row(f"a search in conversations, {past}, while they are being read", "ms", during, most=MOST_MS)
    yield Row(f"the same, once all are in the index ({index / 2**20:,.0f} MB)", "ms", after, most=MOST_MS)
    yield Row("the index grows by, with four fifths of rest", "MB/s", [megabytes / seconds])
    yield Row("memory that the index takes", "MB", [grown / 2**20], most=100.0)


def _written(at: Path, count: int) -> list[Session]:
    """What people and agents may have said: much of a transcript is calls and their results."""
    chance = random.Random(3)
    at.mkdir(parents=True, exist_ok=True)
    made: list[Session] = []
    for number in range(count):
        path = at / f"{number}.jsonl"
        with path.open("w") as file:
            left = EACH
            while left > 0:
                words = " ".join(chance.choices(WORDS, OFTEN, k=60))
                who = "user" if chance.random() < 0.2 else "assistant"
                content: object = words if who == "user" else [{"type": "text", "text": words}]
                result = [{"type": "tool_result", "tool_use_id": "x", "content": "y" * 3000}]
                for body in ({"role": who, "content": content}, {"role": "user", "content": result}):
                    line = json.dumps({"type": body["role"], "message": body}) + "\n"
                    file.write(line)
                    left -= len(line)
        made.append(
            Session(f"s{number}", "claude", "/home/ada/shop", transcript=str(path), seen_at=float(count - number))
        )
    return made


async def _timed(
    at: Path, sessions: list[Session], size: Size
) -> tuple[list[float], list[float], float, int, int]:
    search_conversations.ROUND_S = 0.05
    talks = Conversations(AGENTS.get)
    index = at / "search.db"
    found = ConversationSearch(index, Past(sessions), talks)
    process = psutil.Process()
    before, most = process.memory_info().rss, 0
    chance = random.Random(4)

    async def once() -> tuple[float, bool]:
        nonlocal most
        began = time.perf_counter()
        hits = await found.find(" ".join(chance.choices(WORDS, k=2)), 20)
        most = max(most, process.memory_info().rss)
        return (time.perf_counter() - began) * 1000, hits.complete

    working = asyncio.ensure_future(found.run())
    await asyncio.sleep(0.2)
    began, during, done = time.perf_counter(), list[float](), False
    while not done:
        took, done = await once()
        if not done:
            during.append(took)
        await asyncio.sleep(0.5 if size.part else 0.02)
    seconds = time.perf_counter() - began
    after = [(await once())[0] for _ in range(SEARCHES)]
    common = time.perf_counter()
    await found.find(f"{WORDS[0]} {WORDS[1]}", 20)  # the two most usual words there are
    after.append((time.perf_counter() - common) * 1000)
    working.cancel()
    return during or after, after, seconds, max(0, most - before), index.stat().st_size
