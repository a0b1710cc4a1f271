"""What Discord tells of a message and of a tap: as much of it as is looked at.

Rule: unknown fields are passed over; what is missing is empty. What a bot says, or somebody passed on, is not
heard as a person's own words.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from yourcall.channels.chat import wire as chat
from yourcall.channels.chat.inbox import number_of

# A message, and a reply: all other kinds are news of the server's own.
_SAID = frozenset({0, 19})

_FORWARDED = 1
_COMPONENT = 3
_BUTTON = 2

# Discord counts milliseconds from its own beginning.
_EPOCH_MS = 1_420_070_400_000


class User(Struct, frozen=True):
    id: str = ""
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False

    @property
    def name(self) -> str:
        return self.global_name or self.username


class Reference(Struct, frozen=True):
    type: int = 0
    message_id: str = ""


class Attached(Struct, frozen=True):
    url: str = ""
    size: int = 0
    filename: str = ""


class Posted(Struct, frozen=True):
    id: str = ""
    type: int = 0
    channel_id: str = ""
    guild_id: str = ""
    author: User = User()
    webhook_id: str = ""
    content: str = ""
    message_reference: Reference | None = None
    message_snapshots: list[Any] = []
    attachments: list[Attached] = []
    sticker_items: list[Any] = []


class _Member(Struct, frozen=True):
    user: User = User()


class _Message(Struct, frozen=True):
    id: str = ""


class _Data(Struct, frozen=True):
    custom_id: str = ""
    component_type: int = 0


class Interaction(Struct, frozen=True):
    id: str = ""
    type: int = 0
    token: str = ""
    channel_id: str = ""
    guild_id: str = ""
    member: _Member | None = None
    user: User | None = None
    message: _Message = _Message()
    data: _Data = _Data()


def when(snowflake: str) -> float:
    """An id says when it was made."""
    if not (snowflake.isascii() and snowflake.isdecimal() and len(snowflake) < 21):
        return 0.0
    return ((int(snowflake) >> 22) + _EPOCH_MS) / 1000


def heard(told: Posted, me: str) -> chat.IncomingMessage | None:
    """`me`: our own user. None: it is not for us."""
    who = told.author
    person = who.id and who.id != me and not who.bot and not who.system and not told.webhook_id
    if told.type not in _SAID or not person or not when(told.id):
        return None
    forwarded = bool(told.message_snapshots) or (
        told.message_reference is not None and told.message_reference.type == _FORWARDED
    )
    text = _without_mention(told.content, me)
    private = not told.guild_id
    if not private and not text and not told.attachments and not forwarded:
        return None  # people speak to each other there, and we are not told what
    replied = told.message_reference.message_id if told.message_reference is not None and not forwarded else ""
    file = told.attachments[0] if told.attachments else None
    return chat.IncomingMessage(
        number_of(told.id, told.channel_id),
        told.id,
        chat.Place(told.channel_id, private),
        chat.Sender(who.id, who.name),
        # Discord keeps `/` for itself; what begins with it here is a path, and no command.
        f"/{text[1:]}" if text.startswith("!") else f" {text}" if text.startswith("/") else text,
        when(told.id),
        0,
        chat.RepliedTo(replied) if replied else None,
        chat.Attached(file.url, file.size, file.filename) if file else None,
        forwarded=forwarded,
        unreadable=bool(told.sticker_items),
        album=len(told.attachments) > 1,
    )


def _without_mention(text: str, me: str) -> str:
    for mention in (f"<@{me}>", f"<@!{me}>"):
        if me and text.startswith(mention):
            return text.removeprefix(mention).lstrip()
    return text


def tap(told: Interaction) -> chat.ButtonTap | None:
    user = told.user or (told.member.user if told.member is not None else User())
    pressed = told.type == _COMPONENT and told.data.component_type == _BUTTON
    if not pressed or not user.id or user.bot or not when(told.id) or not told.token:
        return None
    return chat.ButtonTap(
        told.id,
        f"{told.id} {told.token}",
        chat.Sender(user.id, user.name),
        told.data.custom_id,
        chat.Place(told.channel_id) if told.channel_id and told.message.id else None,
        told.message.id,
    )
