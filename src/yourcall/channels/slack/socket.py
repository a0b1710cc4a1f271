"""Reads what people say and tap in Slack, over a socket that we open (Socket Mode).

Rule: an envelope is answered when it is done with; what was not answered Slack tells again. What was said while no
socket was open is fetched. What is wrong is said where people look for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec
from slack_sdk.socket_mode.aiohttp import SocketModeClient

from yourcall.channels.channel import Failed, Later
from yourcall.channels.chat.inbox import Inbox, number_of, seen_in
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.wire import News
from yourcall.channels.slack.api import silent
from yourcall.channels.slack.wire import Envelope, Event, Said, Tapped, heard, tap, when

if TYPE_CHECKING:
    from aiohttp import WSMessage

    from yourcall.channels.slack.channel import Slack

log = logging.getLogger(__name__)

# A line that is silent for four of these is dead.
PING_S = 10.0

CONNECT_S = 15.0
CLOSE_S = 3.0
PAUSE_S = 2.0
WRONG_TOKEN_S = 60.0

# A connection that ends sooner may be one of many that do.
STEADY_S = 30.0

# Two sockets of one app share what is told: each hears a part.
CROWDED_S = 30.0
CROWDED = "another program is connected as this app, and hears a part of what is said: use an app of its own"
SWITCHED_OFF = "Socket Mode is switched off: turn it on in the app's settings"

# Less than the line may be silent for.
CATCH_UP_S = 15.0

# What was missed: enough for a night, and few requests.
MOST_MISSED = 50


class _Socket(SocketModeClient):
    """One connection. Whatever the SDK would open a new one for ends it: a new one takes a new address."""

    def __init__(self, url: str, **more: Any) -> None:
        super().__init__(**more)
        self.wss_uri = url
        self.over = asyncio.Event()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        self.over.set()


class Reader:
    def __init__(self, to: Slack, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        self._to = to
        self._inbox = Inbox(to, do, failed)
        self._crowded = False

    async def run(self) -> None:
        """Until cancelled."""
        await self._inbox.run(self._connect())

    async def _connect(self) -> None:
        while True:
            if not await self._to.introduce():
                await self._to.world.sleep(WRONG_TOKEN_S if self._to.wrong_token else PAUSE_S)
                continue
            url = await self._to.api.open()
            if not isinstance(url, str):
                self._to.complain(url.why)
                wait = WRONG_TOKEN_S if isinstance(url, Failed) else PAUSE_S
                await self._to.world.sleep(max(wait, url.after_s) if isinstance(url, Later) else wait)
                continue
            began = time.monotonic()
            await self._listen(url)
            if time.monotonic() - began < STEADY_S:
                await self._to.world.sleep(PAUSE_S)

    async def _listen(self, url: str) -> None:
        """One connection, to its end."""
        socket = _Socket(url, app_token="", web_client=self._to.api.web, logger=silent, ping_interval=PING_S)

        async def arrived(message: WSMessage) -> None:
            await self._arrived(socket, message.data)

        socket.on_message_listeners.append(arrived)
        try:
            async with asyncio.timeout(CONNECT_S):
                await socket.connect()
            await socket.over.wait()
        except TimeoutError:
            self._to.complain("its socket cannot be reached")
        finally:
            await _close(socket)

    async def _arrived(self, socket: _Socket, data: str) -> None:
        try:
            envelope = msgspec.json.decode(data, type=Envelope)
        except (msgspec.DecodeError, UnicodeError):
            log.info("%s: something of an unknown shape was passed over", self._to.name)
            return
        if envelope.type == "hello":
            await self._welcome(socket, envelope.num_connections)
        elif envelope.type == "disconnect":
            if envelope.reason == "link_disabled":
                self._to.complain(SWITCHED_OFF)
        elif envelope.envelope_id:
            await self._take(socket, envelope)

    async def _welcome(self, socket: _Socket, connections: int) -> None:
        if connections > 1:
            # Once it is our own of a moment ago, whose end Slack has not seen.
            self._to.complain(CROWDED if self._crowded else "")
            if not self._crowded:
                asyncio.get_running_loop().call_later(CROWDED_S, socket.over.set)
        else:
            self._to.complain("")
        self._crowded = connections > 1
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):  # before anything new is read: in the order it was said in
                for chat in self._to.book.chats().values():
                    await self._missed(chat)

    async def _take(self, socket: _Socket, envelope: Envelope) -> None:
        async def done() -> None:
            with suppress(Exception):  # then it is told again, and known
                await socket.send_socket_mode_response({"envelope_id": envelope.envelope_id})

        news, told_at = self._read(envelope)
        if news is None:
            await done()
            return
        await self._inbox.put(news, told_at, missed=envelope.retry_attempt > 0, done=done)

    def _read(self, envelope: Envelope) -> tuple[News | None, float]:
        try:
            if envelope.type == "events_api":
                event = msgspec.json.decode(envelope.payload, type=Said).event
                return heard(event, self._to.me), when(event.ts)
            if envelope.type == "interactive":
                told = msgspec.json.decode(envelope.payload, type=Tapped)
                return tap(told), when(told.actions[0].action_ts) if told.actions else 0.0
        except msgspec.DecodeError:
            log.info("%s: news of an unknown shape was passed over", self._to.name)
        return None, 0.0

    # --- what was said while nobody listened -----------------------------------------------------------------

    async def _missed(self, chat: Chat) -> None:
        """Slack keeps news for some minutes. What is older, or went to a socket that nobody read, is in the
        chat."""
        channel = str(chat.id)
        last = max(seen_in(self._to.book, channel), key=when, default="")
        if not when(last):
            return
        for event in await self._since(channel, last):
            news = heard(msgspec.structs.replace(event, channel=channel, channel_type=_kind(chat)), self._to.me)
            if news is not None and not self._to.book.seen(number_of(event.ts, channel)):
                await self._inbox.put(news, missed=True)

    async def _since(self, channel: str, last: str) -> list[Event]:
        """All that is newer, in the order in which it was said; replies to what is older, too."""
        roots = await self._page("conversations.history", channel=channel, limit=MOST_MISSED)
        events = [event for event in roots if when(event.ts) > when(last)]
        for root in roots:
            if when(root.latest_reply) > when(last):
                more = await self._page(
                    "conversations.replies", channel=channel, ts=root.ts, oldest=last, limit=MOST_MISSED
                )
                events += [event for event in more if when(event.ts) > when(last) and event.ts != root.ts]
        return sorted({event.ts: event for event in events}.values(), key=lambda event: when(event.ts))

    async def _page(self, method: str, **fields: Any) -> list[Event]:
        end = await self._to.api.ask(method, **fields)
        if not isinstance(end, dict):
            return []
        try:
            return msgspec.convert(end.get("messages", []), list[Event])
        except msgspec.ValidationError:
            return []


def _kind(chat: Chat) -> str:
    return "im" if chat.private else "channel"


async def _close(socket: _Socket) -> None:
    socket.closed = True
    try:
        async with asyncio.timeout(CLOSE_S):
            await socket.close()
    except (TimeoutError, OSError):
        left = cast("Any", socket)
        for task in (left.message_processor, left.current_session_monitor, left.message_receiver):
            if task is not None:
                task.cancel()
        await socket.aiohttp_client_session.close()
