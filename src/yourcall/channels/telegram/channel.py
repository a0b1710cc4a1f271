"""Telegram: each prompt a message with buttons under it, brought to its outcome; people answer and speak there.

Rule: what is sent is text with entities, never markup; a refusal of Telegram's says what it means for the message.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.channels.channel import Channel, Failed, Gone, Rung, Unclear, World
from yourcall.channels.chat.channel import MOVED, ChatChannel, Trouble
from yourcall.channels.chat.commands import COMMANDS
from yourcall.channels.chat.draft import Rows
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.text import File, Message
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, News, Place, Sender
from yourcall.channels.telegram.api import Api, Refusal, Said, carried
from yourcall.channels.telegram.text import entities
from yourcall.channels.telegram.wire import Me
from yourcall.model.prompts import Refused

log = logging.getLogger(__name__)

SECRETS = ("token", "code")

LACKS = "there is no token: put it into secrets.toml, under [{}]"

# After Telegram said that we may make no topics there, General has to do for so long.
NO_TOPICS_S = 3600.0


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`topics`: in a group with topics, one for each project. `progress`: show a running turn as it goes."""

    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")] = "https://api.telegram.org"
    topics: bool = True
    progress: bool = True
    rung: Rung = "chat"


class _Sent(Struct):
    message_id: int


class _Topic(Struct):
    message_thread_id: int


class Telegram(ChatChannel):
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        token = world.secrets.get("token", "")
        # A token begins with the bot's number, which is no secret.
        account = token.partition(":")[0] or token
        super().__init__(name, settings.rung, world, account=account, progress=settings.progress)
        self.settings = settings
        self.api = Api(world, settings.server, token)
        self._topics = asyncio.Lock()
        self.deaf = "" if token else LACKS.format(name)
        self._no_topics: dict[str, float] = {}
        self.me = ""

    async def read(self, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        from yourcall.channels.telegram.polling import poll

        await self.introduce()
        await poll(self, do, failed)

    async def introduce(self) -> None:
        """Learn our own name, and tell the commands."""
        me = await self.api.call("getMe", {})
        if isinstance(me, Said):
            with suppress(msgspec.DecodeError):
                self.me = msgspec.json.decode(me.result, type=Me).username
        commands = [{"command": name, "description": words} for name, words in COMMANDS.items()]
        await self.api.call("setMyCommands", {"commands": commands})

    def parse_receipt(self, receipt: str) -> tuple[str, Id]:
        where, _, number = receipt.rpartition(":")
        return where, int(number) if number.isdecimal() else 0

    async def toast(self, tapped: ButtonTap, text: str, alert: bool) -> None:
        fields: dict[str, Any] = {"callback_query_id": tapped.handle}
        if text:
            fields |= {"text": text, "show_alert": alert}
        await self.api.call("answerCallbackQuery", fields)

    async def fetch(self, file: Attached, most: int) -> bytes | Refused:
        content = await self.api.download(file.ref, most)
        return content if isinstance(content, bytes) else Refused(carried(content).why)

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
        """The new message's id, or why there is none."""
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "text": message.text,
            "entities": entities(message),
            "link_preview_options": {"is_disabled": True},
        }
        if keys:
            fields["reply_markup"] = {"inline_keyboard": _inline(keys)}
        if thread:
            fields["message_thread_id"] = thread
        if reply_to:
            fields["reply_parameters"] = {"message_id": reply_to, "allow_sending_without_reply": True}
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and keys and _about_link(end):
            fields["reply_markup"] = {"inline_keyboard": _inline(_without_links(keys))}
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and "message thread not found" in end.words.lower() and thread:
            await self._forget_thread(chat, thread)
            del fields["message_thread_id"]
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and "topic_closed" in end.words.lower() and thread:
            fields.pop("message_thread_id", None)  # somebody closed it, and may open it again
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and end.moved_to:
            await self.book.move_chat(str(chat.id), end.moved_to)
            end = await self.api.call("sendMessage", {**fields, "chat_id": end.moved_to})
        if isinstance(end, Said):
            self.still.moved(chat.id, sent_at + time.monotonic() - began)
            try:
                return msgspec.json.decode(end.result, type=_Sent).message_id
            except msgspec.DecodeError:
                return Unclear("it took the message, and did not say which it is")
        return await self._ended(chat, end)

    async def edit(self, chat: Chat, message_id: Id, message: Message, keys: Rows | None = None) -> Trouble | None:
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "message_id": message_id,
            "text": message.text,
            "entities": entities(message),
            "link_preview_options": {"is_disabled": True},
            "reply_markup": {"inline_keyboard": _inline(keys or [])},
        }
        end = await self.api.call("editMessageText", fields)
        if isinstance(end, Refusal) and keys and _about_link(end):
            fields["reply_markup"] = {"inline_keyboard": _inline(_without_links(keys))}
            end = await self.api.call("editMessageText", fields)
        if isinstance(end, Said):
            return None
        if isinstance(end, Refusal):
            words = end.words.lower()
            # It says so already; or a person has deleted it, and nothing is left to be told there.
            if "message is not modified" in words or "message to edit not found" in words:
                return None
            if "message can't be edited" in words:
                return None
        return await self._ended(chat, end)

    async def _ended(self, chat: Chat, end: Refusal | Trouble) -> Trouble:
        if isinstance(end, Refusal) and end.moved_to:
            await self.book.move_chat(str(chat.id), end.moved_to)
            return Failed(MOVED)
        done = carried(end)
        if isinstance(done, Gone):
            await self.book.drop_chat(str(chat.id))
        return done

    async def upload(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> Id | Trouble:
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "reply_parameters": {"message_id": reply_to, "allow_sending_without_reply": True},
            "disable_notification": True,
        }
        if thread:
            fields["message_thread_id"] = thread
        content = ("document", file.name, file.text.encode("utf-8", "replace") or b"\n")
        end = await self.api.call("sendDocument", fields, file=content)
        if not isinstance(end, Said):
            return carried(end)
        with suppress(msgspec.DecodeError):  # without its id, nobody can reply to it; that is all
            return msgspec.json.decode(end.result, type=_Sent).message_id
        return 0

    # --- topics --------------------------------------------------------------------------------------------------

    async def thread(self, chat: Chat, cwd: str, project: str) -> Id:
        """The topic of this project in a group that has topics; 0: General, or no topics at all."""
        if not chat.forum or not self.settings.topics or not cwd:
            return 0
        name = f"topic:{chat.id}:{sha256(cwd.encode('utf-8', 'replace')).hexdigest()[:16]}"
        async with self._topics:
            known = self.book.number(name)
            if known or self._no_topics.get(str(chat.id), 0.0) > self.world.clock():
                return known
            title = "".join(char for char in project if char.isprintable())[:120] or "project"
            end = await self.api.call("createForumTopic", {"chat_id": chat.id, "name": title})
            if not isinstance(end, Said):
                if isinstance(end, Refusal):
                    self._no_topics[str(chat.id)] = self.world.clock() + NO_TOPICS_S
                    log.warning("%s: no topic could be made: %s", self.name, end.words[:120])
                return 0
            try:
                thread = msgspec.json.decode(end.result, type=_Topic).message_thread_id
            except msgspec.DecodeError:
                return 0
            await self.book.put_number(name, thread)
            return thread

    async def _forget_thread(self, chat: Chat, thread: Id) -> None:
        for name in list(self.world.keep.all()):
            if name.startswith(f"topic:{chat.id}:") and self.book.number(name) == thread:
                await self.book.put_number(name, None)

    async def note_place(self, chat: Chat, place: Place, sender: Sender) -> Chat:
        if chat.forum != place.forum:
            chat = replace(chat, forum=place.forum)
            await self.book.put_chat(chat)
        return chat


def _about_link(end: Refusal) -> bool:
    """Telegram takes no link to a host without a dot, and refuses the whole message for it."""
    return "url" in end.words.lower()


def _inline(keys: Rows) -> list[list[dict[str, str]]]:
    return [
        [{"text": key.text, **({"url": key.url} if key.url else {"callback_data": key.data})} for key in row]
        for row in keys
    ]


def _without_links(keys: Rows) -> Rows:
    rows = [[key for key in row if not key.url] for row in keys]
    return [row for row in rows if row]


def make(name: str, settings: Settings, world: World) -> Channel:
    return Telegram(name, settings, world)
