"""Everything else (Slack, Discord, Matrix, e-mail, …) one way, through Apprise, with a link to answer.

Rule: an optional extra, imported when something is told; its addresses hold passwords, so they are secrets.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from msgspec import Struct

from yourcall.channels.channel import Abilities, Carried, Channel, Failed, Later, Notice, Rung, Sent, World

SECRETS = ("urls",)

INSTALL = "Apprise is not installed; install it with: pip install 'yourcall[apprise]'"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    rung: Rung = "chat"


class Apprise:
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.name = name
        self.abilities = Abilities(settings.rung)
        self._urls = [url for url in world.secrets.get("urls", "").split() if url]

    def targets(self) -> Sequence[str]:
        return [str(number) for number in range(len(self._urls))]

    def rendered(self, notice: Notice) -> str:
        return f"{notice.title}\n{notice.text}"

    async def send(self, target: str, notice: Notice) -> Carried:
        if find_spec("apprise") is None:
            return Failed(INSTALL)
        number = int(target)
        if number >= len(self._urls):
            return Failed("this address is no longer in secrets.toml")
        text = "\n".join(part for part in (notice.text, notice.url) if part) or notice.title
        return await asyncio.to_thread(_notify, self._urls[number], notice.title, text)

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        return Sent(receipt)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        return Sent()


def _notify(url: str, title: str, text: str) -> Carried:
    # What it logs has the address in it, and with it the password.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    made: Any = cast("Any", import_module("apprise")).Apprise()
    if not made.add(url):
        return Failed("Apprise does not understand one of the addresses; try it with: apprise -vv URL")
    # Said to be plain text, or an e-mail would take it for markup.
    sent = made.notify(title=_inert(title), body=_inert(text), body_format="text")
    return Sent() if sent else Later("Apprise could not deliver it")


def _inert(text: str) -> str:
    """No word of an agent's calls everybody: chats take these for a mention or a link."""
    return re.sub(r"([@<])(?=[\w!@#&])", "\\1\u200b", text)


def make(name: str, settings: Settings, world: World) -> Channel:
    return Apprise(name, settings, world)
