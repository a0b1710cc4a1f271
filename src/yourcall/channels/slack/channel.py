"""Slack: each prompt a message with buttons under it, brought to its outcome; people answer and speak there.

Rule: what is sent is rich text, never markup. Everything goes over connections that we open.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.channels.channel import Channel, Failed, Gone, Rung, Unclear, World
from yourcall.channels.chat.channel import ChatChannel, Trouble
from yourcall.channels.chat.draft import Rows
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.text import SENDING, File, Message, Span, clean
from yourcall.channels.chat.toasts import Toasts
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, IncomingMessage, News
from yourcall.channels.slack import text as layout
from yourcall.channels.slack.api import Api
from yourcall.model.prompts import Refused

log = logging.getLogger(__name__)

SECRETS = ("token", "app_token", "code")

LACKS = "there is no token, or no app_token: put both into secrets.toml, under [{}]"
INSTALL = "slack_sdk is not installed; install it with: pip install 'yourcall[slack]'"

# A bot's token names its workspace and itself before what is secret in it.
_PUBLIC = re.compile(r"xoxb-(\d+-\d+)-")

_DELETED = ("message_not_found", "cant_update_message")


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`progress`: show a running turn as it goes."""

    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")] = "https://slack.com/api"
    progress: bool = True
    rung: Rung = "chat"


class _Profile(Struct, frozen=True):
    display_name: str = ""


class _User(Struct, frozen=True):
    name: str = ""
    real_name: str = ""
    profile: _Profile = _Profile()


class _Known(Struct, frozen=True):
    user: _User = _User()


class Slack(ChatChannel):
    sign = "!"

    def __init__(self, name: str, settings: Settings, world: World) -> None:
        token, app_token = world.secrets.get("token", ""), world.secrets.get("app_token", "")
        match = _PUBLIC.match(token)
        account = match[1] if match else sha256(token.encode()).hexdigest()[:16]
        there = find_spec("slack_sdk") is not None and find_spec("aiohttp") is not None
        able = bool(token and app_token and there)
        super().__init__(name, settings.rung, world, account=account if able else "", progress=settings.progress)
        self.api = Api(world, settings.server, token, app_token)
        self.toasts = Toasts(world.clock)
        self.deaf = "" if able else LACKS.format(name) if there else INSTALL
        self.wrong_token = False
        self.me = ""

    async def read(self, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        # It takes a tenth of a second, which nobody shall wait for.
        socket = await asyncio.to_thread(import_module, "yourcall.channels.slack.socket")
        await socket.Reader(self, self._named(do), failed).run()

    async def introduce(self) -> bool:
        """Learn who we are, or say why not."""
        if self.me:
            return True
        end = await self.api.call("auth.test")
        if not isinstance(end, dict):
            self.wrong_token = isinstance(end, Failed)
            self.complain(end.why)
            return False
        self.me = str(end.get("user_id", ""))
        return bool(self.me)

    def _named(self, do: Callable[[News], Awaitable[None]]) -> Callable[[News], Awaitable[None]]:
        """A message says who wrote it by a number; only whoever pairs is asked for by name."""

        async def asked(news: News) -> None:
            pairs = isinstance(news, IncomingMessage) and news.text.startswith("/pair ")
            if pairs and not self.book.tried_too_often(news.sender.id):
                name = await self._name(str(news.sender.id))
                news = replace(news, sender=replace(news.sender, name=name))
            await do(news)

        return asked

    async def _name(self, person: str) -> str:
        end = await self.api.ask("users.info", user=person)
        try:
            user = msgspec.convert(end, _Known).user if isinstance(end, dict) else _User()
        except msgspec.ValidationError:
            user = _User()
        return user.profile.display_name or user.real_name or user.name or person

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
        fields: dict[str, Any] = {
            "channel": str(chat.id),
            "text": layout.line(message),
            "blocks": layout.blocks(message, keys or []),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if thread:
            fields["thread_ts"] = str(thread)
        elif reply_to and not chat.private:
            # Among others, a reply stands with what it is about; what concerns a message of ours is heard by all.
            fields |= {
                "thread_ts": str(reply_to),
                "reply_broadcast": self.book.placed(chat.id, reply_to) is not None,
            }
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self.api.call("chat.postMessage", **fields)
        if not isinstance(end, dict):
            return await self._ended(chat, end)
        self.still.moved(chat.id, sent_at + time.monotonic() - began)
        ts = end.get("ts")
        return ts if isinstance(ts, str) and ts else Unclear("it took the message, and did not say which it is")

    async def edit(self, chat: Chat, message_id: Id, message: Message, keys: Rows | None = None) -> Trouble | None:
        end = await self.api.call(
            "chat.update",
            channel=str(chat.id),
            ts=str(message_id),
            text=layout.line(message),
            blocks=layout.blocks(message, keys or []),
        )
        if isinstance(end, dict):
            return None
        # A person has deleted it, and nothing is left to be told there.
        if isinstance(end, Failed) and any(word in end.why for word in _DELETED):
            return None
        return await self._ended(chat, end)

    async def _ended(self, chat: Chat, end: Trouble) -> Trouble:
        if isinstance(end, Gone):
            await self.book.drop_chat(str(chat.id))
        return end

    async def upload(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> Id | Trouble:
        """In the thread of its message, where whoever replies replies to that."""
        content = file.text.encode("utf-8", "replace") or b"\n"
        return await self.api.upload(str(chat.id), str(thread or reply_to), file.name, content) or ""

    async def toast(self, tapped: ButtonTap, text: str, alert: bool) -> None:
        if not text or text == SENDING or tapped.place is None:
            return
        who = str(tapped.sender.id)
        if not self.toasts.new(tapped.place.id, who, text):
            return
        fields: dict[str, Any] = {"thread_ts": str(tapped.thread)} if tapped.thread else {}
        message = self.compose([Span(clean(text))])
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self.api.call(
            "chat.postEphemeral",
            channel=str(tapped.place.id),
            user=who,
            text=layout.line(message),
            blocks=layout.blocks(message, []),
            **fields,
        )
        if isinstance(end, dict):
            self.still.moved(tapped.place.id, sent_at + time.monotonic() - began)

    async def fetch(self, file: Attached, most: int) -> bytes | Refused:
        content = await self.api.download(file.ref, most)
        return content if isinstance(content, bytes) else Refused(content.why)


def make(name: str, settings: Settings, world: World) -> Channel:
    return Slack(name, settings, world)
