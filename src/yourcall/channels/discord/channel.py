"""Discord: each prompt a message with buttons under it, brought to its outcome; people answer and speak there.

Rule: no message of ours mentions anybody or shows a preview. Everything goes over connections that we open.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from yourcall.channels.channel import Channel, Failed, Gone, Later, Rung, Unclear, World
from yourcall.channels.chat.channel import ChatChannel, Trouble
from yourcall.channels.chat.draft import Rows
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.text import SENDING, File, Message, Span, clean
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, News
from yourcall.channels.discord import text as layout
from yourcall.channels.discord.api import Api, Deleted
from yourcall.channels.discord.wire import Attached as AttachedThere
from yourcall.channels.discord.wire import Posted, Reference, User
from yourcall.model.prompts import Refused

if TYPE_CHECKING:
    import hikari

log = logging.getLogger(__name__)

SECRETS = ("token", "code")

LACKS = "there is no token: put it into secrets.toml, under [{}]"
INSTALL = "hikari is not installed; install it with: pip install 'yourcall[discord]'"

# Five rows of five: what stands under one message.
ROWS = KEYS_IN_A_ROW = 5

LONGEST_URL = 512


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`progress`: show a running turn as it goes."""

    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")] = "https://discord.com/api/v10"
    progress: bool = True
    rung: Rung = "chat"


class Discord(ChatChannel):
    sign = "!"
    # Markup needs some of what a message holds.
    longest = layout.LONGEST_TEXT - 50
    most_keys = ROWS * KEYS_IN_A_ROW

    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.token = world.secrets.get("token", "")
        there = find_spec("hikari") is not None
        account = _account(self.token) if self.token and there else ""
        super().__init__(name, settings.rung, world, account=account, progress=settings.progress)
        self.api = Api(world, settings.server, self.token)
        self.deaf = "" if account else LACKS.format(name) if there else INSTALL
        self.me = ""

    async def read(self, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        # It takes a third of a second, which nobody shall wait for.
        gateway = await asyncio.to_thread(import_module, "yourcall.channels.discord.gateway")
        await gateway.Reader(self, do, failed).run()

    def open(self) -> None:
        self.api.closed = False

    async def close(self) -> None:
        await self.api.close()

    def fits(self, message: Message) -> bool:
        return layout.fits(message)

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
        more: dict[str, Any] = {"reply": int(reply_to), "reply_must_exist": False} if reply_to else {}
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self.api.call(
            lambda rest: rest.create_message(
                int(chat.id), layout.content(message), components=_rows(keys or []), **_quiet(), **more
            )
        )
        if isinstance(end, Later | Unclear | Failed | Gone):
            return await self._ended(chat, end)
        self.still.moved(chat.id, sent_at + time.monotonic() - began)
        return str(end.id)

    async def edit(self, chat: Chat, message_id: Id, message: Message, keys: Rows | None = None) -> Trouble | None:
        end = await self.api.call(
            lambda rest: rest.edit_message(
                int(chat.id), int(message_id), layout.content(message), components=_rows(keys or []), **_quiet()
            )
        )
        if not isinstance(end, Later | Unclear | Failed | Gone) or isinstance(end, Deleted):
            return None
        return await self._ended(chat, end)

    async def _ended(self, chat: Chat, end: Trouble) -> Trouble:
        if isinstance(end, Gone):
            await self.book.drop_chat(str(chat.id))
        return end

    async def upload(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> Id | Trouble:
        import hikari

        content = file.text.encode("utf-8", "replace") or b"\n"
        end = await self.api.call(
            lambda rest: rest.create_message(
                int(chat.id),
                attachments=[hikari.Bytes(content, file.name)],
                reply=int(reply_to),
                reply_must_exist=False,
                **_quiet(),
            )
        )
        return end if isinstance(end, Later | Unclear | Failed | Gone) else str(end.id)

    async def toast(self, tapped: ButtonTap, text: str, alert: bool) -> None:
        import hikari

        number, _, token = tapped.handle.partition(" ")
        if not text or text == SENDING:
            done = hikari.ResponseType.DEFERRED_MESSAGE_UPDATE
            await self.api.call(lambda rest: rest.create_interaction_response(int(number), token, done))
            return
        message = layout.content(self.compose([Span(clean(text))]))
        flags = hikari.MessageFlag.EPHEMERAL | hikari.MessageFlag.SUPPRESS_EMBEDS
        shown = hikari.ResponseType.MESSAGE_CREATE
        await self.api.call(
            lambda rest: rest.create_interaction_response(
                int(number), token, shown, message, flags=flags, mentions_everyone=False, user_mentions=False,
                role_mentions=False,
            )
        )  # fmt: skip
        if tapped.place is not None:
            self.still.moved(tapped.place.id, self.world.clock())

    async def fetch(self, file: Attached, most: int) -> bytes | Refused:
        content = await self.api.download(file.ref, most)
        return content if isinstance(content, bytes) else Refused(content.why)

    async def page(self, channel: str, after: str, most: int) -> list[Posted]:
        """What is newer there than this message."""

        async def read(rest: hikari.impl.RESTClientImpl) -> list[hikari.Message]:
            return list(await rest.fetch_messages(int(channel), after=int(after)).limit(most))

        end = await self.api.call(read)
        if not isinstance(end, list):
            log.warning("%s: what was said meanwhile could not be read: %s", self.name, end.why)
            return []
        return [_posted(each) for each in end]


def _account(token: str) -> str:
    """A token begins with the bot's number, which is no secret."""
    first = token.partition(".")[0]
    try:
        number = base64.b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        number = ""
    return number if number.isdecimal() else sha256(token.encode()).hexdigest()[:16]


def _quiet() -> dict[str, Any]:
    """Nobody is mentioned, and no link shows a preview."""
    import hikari

    return {
        "flags": hikari.MessageFlag.SUPPRESS_EMBEDS,
        "mentions_everyone": False,
        "mentions_reply": False,
        "user_mentions": False,
        "role_mentions": False,
    }


def _rows(rows: Rows) -> list[hikari.api.ComponentBuilder]:
    from hikari import ButtonStyle
    from hikari.impl import MessageActionRowBuilder

    keys = [key for row in rows for key in row if len(key.url) <= LONGEST_URL]
    fits = len(rows) <= ROWS and all(len(row) <= KEYS_IN_A_ROW for row in rows)
    packed = [keys[at : at + KEYS_IN_A_ROW] for at in range(0, len(keys), KEYS_IN_A_ROW)]
    built: list[hikari.api.ComponentBuilder] = []
    for row in [[key for key in row if key in keys] for row in rows] if fits else packed:
        one = MessageActionRowBuilder()
        for key in row:
            if key.url:
                one.add_link_button(key.url, label=key.text)
            else:
                one.add_interactive_button(ButtonStyle.SECONDARY, key.data, label=key.text)
        if row:
            built.append(one)
    return built


def _posted(message: hikari.Message) -> Posted:
    """A page has the same as a push, in hikari's own form."""
    author, reference = message.author, message.message_reference
    return Posted(
        str(message.id),
        int(message.type),
        str(message.channel_id),
        "",
        User(str(author.id), author.username, author.global_name, author.is_bot, author.is_system),
        str(message.webhook_id or ""),
        message.content or "",
        Reference(int(reference.type), str(reference.id or "")) if reference is not None else None,
        [],
        [AttachedThere(each.url, each.size, each.filename) for each in message.attachments],
    )


def make(name: str, settings: Settings, world: World) -> Channel:
    return Discord(name, settings, world)
