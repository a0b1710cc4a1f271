"""One house with one bot on one of the chat platforms, for the stories that all of them tell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from channel_house import House, Keep
from msgspec.structs import replace

from kit.chat_people import GROUP, PRIVATE, Shown
from kit.discord_server import DiscordServer
from kit.matrix_server import MatrixServer
from kit.slack_server import SlackServer
from kit.telegram_people import TelegramPeople
from yourcall.channels.channel import World
from yourcall.channels.context import ChannelContext
from yourcall.channels.registry import kind
from yourcall.channels.runner import Runner
from yourcall.core.notify_policy import Notify
from yourcall.model.prompts import Prompt

CODE = "ABCD-EFGH"

PLATFORMS: dict[str, Callable[[], Any]] = {
    "telegram": TelegramPeople,
    "slack": SlackServer,
    "discord": DiscordServer,
    "matrix": MatrixServer,
}


DRAWS = frozenset({"ChatChannel.show", "Buttons.used", "Buttons._bring"})


def _drawing() -> bool:
    """Some message is on its way to what is known now."""
    return any(getattr(task.get_coro(), "__qualname__", "") in DRAWS for task in asyncio.all_tasks())


class Stage:
    """`life()` is another life of the daemon, over the same disk and memory."""

    def __init__(self, house: House, people: Any, *, leaps: bool = True) -> None:
        self.house, self.people, self.keep = house, people, Keep()
        self.desk: ChannelContext | None = None
        self._opened = 0
        if leaps:
            people.look = self._look

    def _look(self) -> None:
        """A person looks before tapping: here time itself moves on, by more than a button has to stand."""
        self.house.ahead += 5

    def world(self, **more: Any) -> World:
        return replace(self.house.world(self.people.secrets), keep=self.keep, **more)

    def channel_of(self, world: World, **more: Any) -> Any:
        module = kind(self.people.name)
        return module.make(self.people.name, module.Settings(**self.people.settings(), **more), world)

    def life(self, notify: Notify | None = None, url: str = "", **more: Any) -> Runner:
        bare = bool(notify and notify.titles_only)
        self._opened = getattr(self.people, "opened", 0)
        self.channel = self.channel_of(self.world(titles_only=bare, url=url), **more)
        return self.house.start(self.channel, notify=notify, desk=self.desk, url=url)

    async def listens(self) -> None:
        """A new line is open, where there is one."""
        await self.see(lambda: getattr(self.people, "opened", 1) > self._opened, "a line")

    async def see(self, probe: Callable[[], Any], what: str = "") -> Any:
        try:
            return await self.house.until(probe, what=what)
        except AssertionError as error:
            for where in (PRIVATE, GROUP):
                error.add_note(f"{where}: {self.people.told('ada', where)}")
            raise

    # --- what people do ------------------------------------------------------------------------------------------

    def say(self, text: str, **how: Any) -> Any:
        """Commands begin as they do there."""
        return self.people.say(f"{self.people.sign}{text[1:]}" if text.startswith("/") else text, **how)

    async def tap(self, message: Any, label: str, **how: Any) -> None:
        """Pressed after a look; it is read by now."""
        self.people.tap(message, label, **how)
        await self.see(lambda: self.people.handled, "read")

    async def press(self, message: Any, data: str, **how: Any) -> None:
        self.people.press(message, data, **how)
        await self.see(lambda: self.people.handled, "read")

    async def pair(self, user: str = "ada", where: str = PRIVATE, code: str = CODE) -> None:
        await self.listens()
        before = self._paired(user, where)
        self.say(f"/pair {code}", user=user, where=where)
        await self.see(lambda: self._paired(user, where) > before, "paired")

    def _paired(self, user: str, where: str) -> int:
        return sum("Paired" in each.text for each in self.people.shown(where, user))

    async def invited(self) -> str:
        before = self._codes()
        self.say("/invite")
        await self.see(lambda: len(self._codes()) > len(before), "a code")
        return self._codes()[-1]

    def _codes(self) -> list[str]:
        sign = self.people.sign
        said = [each.text for each in self.people.shown() if "and once:" in each.text]
        return [text.rpartition(f"{sign}pair ")[2].strip() for text in said]

    # --- what is seen --------------------------------------------------------------------------------------------

    def prompts(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]:
        return [each for each in self.people.shown(where, user) if "shop" in each.text]

    async def prompt(self, where: str = PRIVATE, user: str = "ada") -> Any:
        """The id of the one prompt that is shown, with its buttons."""
        (one,) = await self.see(lambda: self.prompts(where, user), "a prompt")
        await self.settled(where)
        return one.id

    async def settled(self, where: str = PRIVATE) -> None:
        """Where buttons come after their message, all of them are there."""
        if whole := getattr(self.people, "whole", None):
            await self.see(lambda: not _drawing() and whole(where), "all buttons")

    def at(self, message: Any, where: str = PRIVATE, user: str = "ada") -> Shown:
        (one,) = [each for each in self.people.shown(where, user) if each.id == message]
        return one

    def text(self, message: Any, where: str = PRIVATE, user: str = "ada") -> str:
        return self.at(message, where, user).text

    def labels(self, message: Any, where: str = PRIVATE, user: str = "ada") -> list[str]:
        return self.at(message, where, user).labels

    def data(self, message: Any, label: str, where: str = PRIVATE, user: str = "ada") -> str:
        return next(data for known, data in self.at(message, where, user).buttons if known == label)

    async def told(self, words: str, user: str = "ada", where: str = PRIVATE, times: int = 1) -> str:
        """What was said to somebody with these words in it, in a message or to them alone."""

        def look() -> list[str]:
            found = [each for each in self.people.told(user, where) if words in each]
            return found if len(found) >= times else []

        return (await self.see(look, words))[-1]

    def row(self, id: str = "p1") -> Prompt:
        found = self.house.store.prompt(id)
        assert found is not None
        return found


Chats = Callable[[Callable[[Stage], Awaitable[None]]], None]
Line = Callable[[str, Callable[[Stage], Awaitable[None]]], None]


def prepare(monkeypatch: Any) -> None:
    """In a story time goes by in leaps: that a poll took no time does not say that a tap lay there before it."""
    monkeypatch.setattr(import_module("yourcall.channels.telegram.polling"), "WAITED_S", -1.0)
