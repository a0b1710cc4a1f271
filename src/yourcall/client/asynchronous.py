"""The client for asyncio: each call of the blocking one, in a thread.

Rule: cancelling an `ask` withdraws it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from yourcall.cli.views import Prompt, Result, Session
from yourcall.client.blocking import AGAIN, HOLD, Yourcall, heard
from yourcall.client.connection import NO_FEED
from yourcall.client.messages import (
    Answered,
    Choice,
    Interrupted,
    News,
    NotAnswered,
    NotRunning,
    Withdrawn,
)


class AsyncYourcall:
    """The same, for asyncio: each call waits in a thread. Cancelling an `ask` withdraws it."""

    def __init__(self, home: str | Path | None = None, *, url: str = "", token: str = "") -> None:
        self.blocking = Yourcall(home, url=url, token=token)

    async def prompts(self) -> list[Prompt]:
        return await asyncio.to_thread(self.blocking.prompts)

    async def prompt(self, id: str) -> Prompt:
        return await asyncio.to_thread(self.blocking.prompt, id)

    async def sessions(self) -> list[Session]:
        return await asyncio.to_thread(self.blocking.sessions)

    async def answer(self, id: str, option: str | None = None, **given: Any) -> Result:
        return await asyncio.to_thread(self.blocking.answer, id, option, **given)

    async def ask(
        self,
        question: str,
        options: Sequence[str | Choice] = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the same as the blocking one takes
        **more: Any,
    ) -> Answered:
        raising = asyncio.ensure_future(asyncio.to_thread(self.blocking.raise_hand, question, options, **more))
        try:
            async with asyncio.timeout(timeout):
                request = await asyncio.shield(raising)
                while True:
                    try:
                        asking = await asyncio.to_thread(self.blocking.look, request, HOLD)
                    except (NotRunning, Interrupted):
                        await asyncio.sleep(AGAIN)
                        continue
                    if asking.state != "waiting":
                        break
            # Not within the time: whoever answered is told that we have it, so we must.
            return await asyncio.to_thread(self.blocking.take, asking)
        except Withdrawn:
            raise
        except TimeoutError as error:
            await self._withdraw(raising)
            raise NotAnswered("Nobody answered in time; the question was withdrawn.") from error
        except BaseException:
            await self._withdraw(raising)
            raise

    async def _withdraw(self, raising: asyncio.Future[dict[str, Any]]) -> None:
        """Once it is known whether it was asked at all: a thread that asks cannot be stopped."""
        await asyncio.wait({raising})
        if raising.exception() is None:
            await asyncio.shield(asyncio.to_thread(self.blocking.withdraw, str(raising.result()["id"])))

    async def watch(self, after: int | None = None) -> AsyncIterator[News]:
        """Every change as it happens, for ever; not in a thread, for a thread that listens cannot be cancelled."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        while True:
            try:
                place = self.blocking.feed_at(after)
                if "sock" in place:
                    place["sock"].setblocking(False)
                async with connect(**place) as feed:
                    async for text in feed:
                        after, one = heard(json.loads(text), after)
                        if one is not None:
                            yield one
            except (OSError, WebSocketException) as error:
                if after is None:
                    raise NotRunning(NO_FEED) from error  # at the very start that is said; later on it comes back
            await asyncio.sleep(AGAIN)
