"""Matrix: each prompt a message with reactions under it as buttons, brought to its outcome; people answer and
speak there.

Rule: only in rooms without encryption, which a homeserver of one's own can read. Nobody is mentioned. Everything
goes over connections that we open.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.channels.channel import Channel, Failed, Gone, Rung, Unclear, World
from yourcall.channels.chat.channel import ChatChannel, Trouble
from yourcall.channels.chat.draft import Rows
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.text import SENDING, File, Message, Span, clean
from yourcall.channels.chat.toasts import Toasts
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, News, Place, Sender
from yourcall.channels.matrix import text as layout
from yourcall.channels.matrix.api import Api
from yourcall.channels.matrix.buttons import Buttons
from yourcall.model.prompts import Refused

log = logging.getLogger(__name__)

SECRETS = ("token", "code")

LACKS = "there is no token: put it into secrets.toml, under [{}]"
INSTALL = "matrix-nio is not installed; install it with: pip install 'yourcall[matrix]'"

# The same event by the same number: a homeserver knows it again.
TRIES = 3


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`server`: the homeserver; `user`: the bot's full name there. `progress`: show a running turn as it goes."""

    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")]
    user: Annotated[str, Meta(pattern=r"^@[^\s:]+:\S+$", max_length=255)]
    progress: bool = True
    rung: Rung = "chat"


class Matrix(ChatChannel):
    sign = "!"
    most_keys = layout.MOST_KEYS
    # Homeservers let a user say something every five seconds, if nobody has set it otherwise.
    pace = 15.0

    def __init__(self, name: str, settings: Settings, world: World) -> None:
        token = world.secrets.get("token", "")
        there = find_spec("nio") is not None
        able = bool(token and there)
        super().__init__(
            name, settings.rung, world, account=settings.user if able else "", progress=settings.progress
        )
        self.user = settings.user
        self.api = Api(world, settings.server, settings.user, token)
        self.buttons = Buttons(self)
        self.toasts = Toasts(world.clock)
        self.deaf = "" if able else LACKS.format(name) if there else INSTALL
        self.wrong_token = False
        self._known = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        # It takes a fifth of a second, which nobody shall wait for.
        await asyncio.to_thread(import_module, "nio")
        sync = await asyncio.to_thread(import_module, "yourcall.channels.matrix.sync")
        try:
            await sync.Reader(self, do, failed).run()
        finally:
            for task in self._tasks:
                task.cancel()

    def open(self) -> None:
        self.api.closed = False

    async def close(self) -> None:
        await self.api.close()

    async def introduce(self) -> bool:
        """Whether we are who we are said to be."""
        if self._known:
            return True
        end = await self.api.ask("/_matrix/client/v3/account/whoami")
        if isinstance(end, dict):
            self._known = end.get("user_id") == self.user
            end = Failed("this token is another user's than the one in config.toml")
        self.wrong_token = isinstance(end, Failed)
        if not self._known:
            self.complain(end.why)
        return self._known

    def quoted(self, room: str) -> str:
        return quote(room, safe="")

    async def note_place(self, chat: Chat, place: Place, sender: Sender) -> Chat:
        """Others may have come in, or left."""
        if chat.private != place.private:
            chat = replace(chat, private=place.private, person=str(sender.id) if place.private else "")
            await self.book.put_chat(chat)
        return chat

    # --- messages ------------------------------------------------------------------------------------------------

    async def say(
        self,
        chat: Chat,
        message: Message,
        *,
        keys: Rows | None = None,
        thread: Id = 0,
        reply_to: Id = 0,
    ) -> Id | Trouble:
        content = layout.content(message, keys or [])
        if reply_to:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": str(reply_to)}}
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self._send(chat, "m.room.message", content)
        if not isinstance(end, str):
            return await self._ended(chat, end)
        self.still.moved(chat.id, sent_at + time.monotonic() - began)
        await self.buttons.put(str(chat.id), end, keys or [])
        return end

    async def edit(self, chat: Chat, message_id: Id, message: Message, keys: Rows | None = None) -> Trouble | None:
        content = layout.edited(layout.content(message, keys or []), str(message_id))
        end = await self._send(chat, "m.room.message", content)
        if not isinstance(end, str):
            return await self._ended(chat, end)
        await self.buttons.put(str(chat.id), str(message_id), keys or [])
        return None

    async def _send(self, chat: Chat, kind: str, content: dict[str, Any]) -> str | Trouble:
        number = secrets.token_hex(8)
        end = await self.api.send(str(chat.id), kind, content, number)
        for _ in range(TRIES - 1):
            if not isinstance(end, Unclear):
                break
            await self.world.sleep(1.0)
            end = await self.api.send(str(chat.id), kind, content, number)
        return end

    async def _ended(self, chat: Chat, end: Trouble) -> Trouble:
        if isinstance(end, Gone):
            await self.book.drop_chat(str(chat.id))
        return end

    async def upload(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> Id | Trouble:
        content = file.text.encode("utf-8", "replace") or b"\n"
        place = await self.api.upload(file.name, content)
        if not isinstance(place, str):
            return place
        said = {
            "msgtype": "m.file",
            "body": file.name,
            "filename": file.name,
            "url": place,
            "info": {"mimetype": "text/plain", "size": len(content)},
            "m.mentions": {},
            "m.relates_to": {"m.in_reply_to": {"event_id": str(reply_to)}},
        }
        return await self._send(chat, "m.room.message", said)

    async def toast(self, tapped: ButtonTap, text: str, alert: bool) -> None:
        place = tapped.place
        if not text or text == SENDING or place is None:
            return
        if self.toasts.new(place.id, tapped.sender.id, text):
            message = self.compose([Span(clean(text))])
            content = layout.content(message, []) | {"msgtype": "m.notice"}
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": str(tapped.message)}}
            if isinstance(await self._send(Chat(place.id), "m.room.message", content), str):
                self.still.moved(place.id, self.world.clock())

    def used(self, room: str, message: str, word: str, event: str) -> None:
        """A tap was read."""
        self._spawn(self.buttons.used(room, message, word, event))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def fetch(self, file: Attached, most: int) -> bytes | Refused:
        content = await self.api.download(file.ref, most)
        return content if isinstance(content, bytes) else Refused(content.why)


def make(name: str, settings: Settings, world: World) -> Channel:
    return Matrix(name, settings, world)
