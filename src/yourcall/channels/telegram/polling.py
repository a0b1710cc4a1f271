"""Reads what people say and tap in Telegram, one update after the other, by long polling.

Rule: an update is done with before it is marked as read. What is wrong is said where people look for it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from yourcall.channels.channel import Failed, Later
from yourcall.channels.chat.wire import News
from yourcall.channels.telegram.api import Refusal, Said, carried
from yourcall.channels.telegram.wire import Numbered, Update, addressed, news

if TYPE_CHECKING:
    from yourcall.channels.telegram.channel import Telegram

log = logging.getLogger(__name__)

# Telegram holds an empty poll open for so long; its own most is not said, and proxies cut at a minute.
POLL_S = 50
CONFLICT_S = 30.0
WRONG_TOKEN_S = 60.0
PAUSE_S = 2.0

# Longer than it takes to leave for a daemon that the disk has failed: what it could not do, the next one does.
AGAIN_S = 10.0

# A poll that had to wait for so long found nothing that lay there before: what it brings has just come.
WAITED_S = 0.3

# Telegram tells at most so many at once; the rest lies there until the next poll.
MOST_AT_ONCE = 100

# One reply holds a hundred updates; a number further back than some of them is no repetition.
COUNTS_ON = 1000

CONFLICT = "another program reads this bot's messages, or a webhook is set: use a bot of its own"


async def poll(to: Telegram, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
    """Until cancelled. `failed`: an update that could not be handled, twice."""
    reader = _Reader(to, do, failed)
    while True:
        await reader.read()


class _Reader:
    def __init__(
        self, to: Telegram, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]
    ) -> None:
        self._to = to
        self._do = do
        self._failed = failed
        self._conflict = False
        self._again = 0
        self._heard_at = 0.0

    async def read(self) -> None:
        offset = self._to.book.number("offset")
        request: dict[str, Any] = {"timeout": POLL_S, "allowed_updates": ["message", "callback_query"]}
        began = self._to.world.clock()
        end = await self._to.api.call(
            "getUpdates", {**request, "offset": offset} if offset else request, poll_s=POLL_S
        )
        now = self._to.world.clock()
        if isinstance(end, Said):
            try:
                updates = msgspec.json.decode(end.result, type=list[msgspec.Raw])
            except msgspec.DecodeError:
                end = Later("it answered something that is not the Bot API")
            else:
                self._complain("")
                # An update has no time. One that lay there may be as old as the last poll that was answered.
                self._to.still.tapped_at = now if now - began >= WAITED_S else self._heard_at
                try:
                    taken = [await self._take(raw) for raw in updates]
                except _OnceMore:
                    self._heard_at = self._to.still.tapped_at  # they will have lain there for a while
                    await self._to.world.sleep(AGAIN_S)
                    return
                if len(updates) < MOST_AT_ONCE:
                    self._heard_at = now
                if updates and not any(taken):
                    await self._to.world.sleep(PAUSE_S)  # the same again and again must not keep us busy
                return
        wait = PAUSE_S
        if isinstance(end, Refusal) and end.code == 409:
            # Once is our own poll of a moment ago; it goes by itself.
            wait = CONFLICT_S if self._conflict else PAUSE_S
            if self._conflict:
                self._complain(CONFLICT)
            self._conflict = True
        else:
            self._complain(carried(end).why)
            if isinstance(end, Refusal | Failed):
                wait = WRONG_TOKEN_S
            elif isinstance(end, Later):
                wait = max(PAUSE_S, end.after_s)
        await self._to.world.sleep(wait)

    def _complain(self, why: str) -> None:
        self._to.complain(why)
        self._conflict = False

    async def _take(self, raw: msgspec.Raw) -> bool:
        """Whether it was new."""
        try:
            number = msgspec.json.decode(raw, type=Numbered).update_id
        except msgspec.DecodeError:
            return False
        # Told twice, unless Telegram counts anew: after a week without a word it begins somewhere else.
        if 0 <= self._to.book.number("offset") - 1 - number < COUNTS_ON:
            return False
        try:
            update = msgspec.json.decode(raw, type=Update)
        except msgspec.DecodeError:
            log.info("%s: an update of an unknown shape was passed over", self._to.name)
        else:
            await self._done(update)
        await self._to.book.put_number("offset", number + 1)
        return True

    async def _done(self, update: Update) -> None:
        if addressed(update) and not self._to.me:
            await self._to.introduce()  # there was no network when we began
        told = news(update, self._to.me)
        if told is None:
            return
        try:
            await self._do(told)
        except Exception as error:
            # No words: somebody else wrote them.
            log.error("%s: an update could not be handled: %s", self._to.name, type(error).__name__)
            if self._again != update.update_id:
                self._again = update.update_id
                raise _OnceMore from error
            # One that cannot be handled must not come again and again.
            self._failed(told)


class _OnceMore(Exception):
    """An update failed for the first time: perhaps it was the disk, and the next try, or daemon, can do it."""
