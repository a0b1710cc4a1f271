"""The kinds of channels there are: a new one is a module, and its line here.

Rule: a kind's module is imported only when the configuration names it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from msgspec import Struct

from yourcall.channels.channel import Channel, World

KINDS: dict[str, str] = {
    "push": "yourcall.channels.push.channel",
    "ntfy": "yourcall.channels.ntfy",
    "webhook": "yourcall.channels.webhook",
    "desktop": "yourcall.channels.desktop",
    "apprise": "yourcall.channels.apprise",
    "telegram": "yourcall.channels.telegram.channel",
    "slack": "yourcall.channels.slack.channel",
    "discord": "yourcall.channels.discord.channel",
    "matrix": "yourcall.channels.matrix.channel",
}


class KindModule(Protocol):
    SECRETS: tuple[str, ...]
    Settings: type[Struct]

    def make(self, name: str, settings: Struct, world: World) -> Channel: ...


def kind(name: str) -> KindModule:
    return cast("KindModule", import_module(KINDS[name]))
