"""One house with one Telegram bot, for the tests of that channel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from channel_house import House, Keep
from msgspec.structs import replace

from kit.telegram_server import TelegramServer
from yourcall.channels.channel import World
from yourcall.channels.context import ChannelContext
from yourcall.channels.runner import Runner
from yourcall.channels.telegram import channel
from yourcall.core.notify_policy import Notify
from yourcall.model.prompts import Prompt

CODE = "ABCD-EFGH"


class Stage:
    """One house with one bot. `life()` is another life of the daemon, over the same disk and memory."""

    def __init__(self, house: House, server: TelegramServer) -> None:
        self.house, self.server, self.keep = house, server, Keep()
        self.desk: ChannelContext | None = None
        server.look = self._look

    def _look(self) -> None:
        """A person looks before tapping: here time itself moves on, by more than a button has to stand."""
        self.house.ahead += 5

    def life(self, notify: Notify | None = None, url: str = "", **more: Any) -> Runner:
        bare = bool(notify and notify.titles_only)
        secrets = {"token": self.server.token, "code": CODE}
        world: World = replace(self.house.world(secrets), keep=self.keep, titles_only=bare, url=url)
        self.channel = channel.Telegram("telegram", channel.Settings(server=self.server.url, **more), world)
        return self.house.start(self.channel, notify=notify, desk=self.desk, url=url)

    async def see(self, probe: Callable[[], Any], what: str = "") -> Any:
        return await self.house.until(probe, 30, what)

    async def pair(self, **who: Any) -> None:
        chat = who.get("chat", 7)
        self.server.say(f"/pair {CODE}", **who)
        await self.see(lambda: any("Paired" in m["text"] for m in self.server.shown(chat)), "paired")

    def prompts(self, chat: int = 7) -> list[dict[str, Any]]:
        return [m for m in self.server.shown(chat) if "shop" in m["text"]]

    async def prompt(self, chat: int = 7) -> int:
        (one,) = await self.see(lambda: self.prompts(chat), "a prompt")
        return one["message_id"]

    def text(self, message_id: int, chat: int = 7) -> str:
        return self.server.messages[chat, message_id]["text"]

    def row(self, id: str = "p1") -> Prompt:
        found = self.house.store.prompt(id)
        assert found is not None
        return found

    async def toast(self, query: str) -> dict[str, Any]:
        return await self.see(lambda: self.server.toasts.get(query), "a toast")


Acts = Callable[[Callable[[Stage], Awaitable[None]]], None]
