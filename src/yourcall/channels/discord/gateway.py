"""Reads what people say and tap in Discord, over a connection that we open (the gateway).

hikari keeps it alive: heartbeats, and after a break it resumes where it stopped. What was said while it could not
resume is fetched.

Rule: what is wrong is said where people look for it. Who speaks on a server that the bot is on fills no queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import hikari
import msgspec
from hikari.impl import GatewayShardImpl, HTTPSettings, ProxySettings

from yourcall.channels.channel import Failed, Later
from yourcall.channels.chat.inbox import Inbox, number_of, seen_in
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.wire import News
from yourcall.channels.discord.api import WRONG_TOKEN
from yourcall.channels.discord.wire import Interaction, Posted, heard, tap, when

if TYPE_CHECKING:
    from yourcall.channels.discord.channel import Discord

log = logging.getLogger(__name__)

# Messages to the bot alone, and those on servers; what is in the latter is told only where the bot is mentioned.
INTENTS = hikari.Intents.DM_MESSAGES | hikari.Intents.GUILD_MESSAGES

PAUSE_S = 2.0
WRONG_TOKEN_S = 60.0

# A break that takes no longer is none: Discord moves its connections now and then.
LOST_S = 30.0
# Longer than a connection takes to open.
OPENS_S = 3.0

LOST = "its connection is lost, and is opened again as soon as that works"

# What was missed: enough for a night, and one request.
MOST_MISSED = 50

# As Discord words it when a connection ends for good.
_CLOSED = {4004: WRONG_TOKEN, 4014: "the bot may not read messages: switch on what the guide names"}


class _Events:
    """What hikari tells of a connection, and nothing that it would make of it."""

    def __init__(self, told: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._told = told

    def consume_raw_event(self, name: str, _: object, payload: Mapping[str, Any]) -> None:
        self._told(name, payload)

    async def dispatch(self, *_: object, **__: object) -> None: ...

    def deserialize_connected_event(self, _: object) -> None: ...

    def deserialize_disconnected_event(self, _: object) -> None:
        self._told("LOST", {})


class _Shard(GatewayShardImpl):
    """hikari's own, which can also be ended while it opens its connection: hikari would go on with that."""

    _work: asyncio.Task[None] | None = None

    async def _keep_alive(self) -> None:
        self._work = asyncio.current_task()
        await super()._keep_alive()

    async def run(self) -> None:
        opening = asyncio.create_task(self.start())
        try:
            await asyncio.shield(opening)
            await self.join()
        finally:
            # Broken off before it is open, a connection would not be closed.
            await asyncio.wait((opening,), timeout=OPENS_S)
            opening.cancel()
            if self._work is not None:
                self._work.cancel()
            await asyncio.gather(opening, *((self._work,) if self._work else ()), return_exceptions=True)


class Reader:
    def __init__(self, to: Discord, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        self._to = to
        self._inbox = Inbox(to, do, failed)
        self._catching: asyncio.Task[None] | None = None
        self._lost: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._inbox.run(self._connect())
        finally:
            if self._lost is not None:
                self._lost.cancel()
            if self._catching is not None:
                self._catching.cancel()

    async def _connect(self) -> None:
        while True:
            found = await self._to.api.call(lambda rest: rest.fetch_gateway_bot_info())
            if isinstance(found, hikari.GatewayBotInfo):
                await self._listen(found.url)
                await self._to.world.sleep(PAUSE_S)
                continue
            self._to.complain(found.why)
            wait = WRONG_TOKEN_S if isinstance(found, Failed) else PAUSE_S
            await self._to.world.sleep(max(wait, found.after_s) if isinstance(found, Later) else wait)

    async def _listen(self, url: str) -> None:
        """One session, with all its breaks, to its end."""
        events: Any = _Events(self._told)
        shard = _Shard(
            compression=None,
            intents=INTENTS,
            http_settings=HTTPSettings(),
            proxy_settings=ProxySettings(),
            event_manager=events,
            event_factory=events,
            token=self._to.token,
            url=url,
        )
        try:
            await shard.run()
        except hikari.GatewayServerClosedConnectionError as error:
            self._to.complain(_CLOSED.get(int(error.code or 0), f"Discord ended the connection ({error.code})"))
            await self._to.world.sleep(WRONG_TOKEN_S)
        except (hikari.HikariError, RuntimeError, OSError) as error:
            self._to.complain(f"its connection ended ({type(error).__name__})")

    def _told(self, name: str, payload: Mapping[str, Any]) -> None:
        try:
            match name:
                case "LOST":
                    self._lost = asyncio.get_running_loop().call_later(LOST_S, self._to.complain, LOST)
                case "READY":
                    self._found()
                    self._to.me = str(payload["user"]["id"])
                    self._catching = asyncio.create_task(self._missed())
                case "RESUMED":
                    self._found()
                case "MESSAGE_CREATE":
                    posted = msgspec.convert(payload, Posted)
                    self._take(heard(posted, self._to.me), when(posted.id))
                case "INTERACTION_CREATE":
                    pressed = msgspec.convert(payload, Interaction)
                    self._take(tap(pressed), when(pressed.id))
                case _:
                    pass
        except (msgspec.ValidationError, LookupError, TypeError):
            log.info("%s: news of an unknown shape was passed over", self._to.name)

    def _found(self) -> None:
        if self._lost is not None:
            self._lost.cancel()
        self._to.complain("")

    def _take(self, news: News | None, told_at: float) -> None:
        if news is not None:
            self._inbox.offer(news, told_at)

    # --- what was said while nobody listened -----------------------------------------------------------------

    async def _missed(self) -> None:
        """Discord tells of a break only what it can resume."""
        for chat in self._to.book.chats().values():
            for news in await self._since(chat):
                if not self._to.book.seen(news.number):
                    await self._inbox.put(news, missed=True)

    async def _since(self, chat: Chat) -> list[News]:
        channel = str(chat.id)
        last = max(seen_in(self._to.book, channel), key=when, default="")
        if not when(last):
            return []
        posted = await self._to.page(channel, last, MOST_MISSED)
        # A page does not say where it is from.
        guild = "" if chat.private else "…"
        news = [
            heard(msgspec.structs.replace(each, channel_id=channel, guild_id=guild), self._to.me)
            for each in sorted(posted, key=lambda each: when(each.id))
        ]
        return [each for each in news if each is not None and each.number != number_of(last, channel)]
