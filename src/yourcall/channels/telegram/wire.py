"""What Telegram tells of a message and of a tap: as much of it as is looked at.

Rule: unknown fields are passed over; what is missing is empty.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field


class From(Struct, frozen=True):
    id: int
    first_name: str = ""
    is_bot: bool = False


class Where(Struct, frozen=True):
    id: int
    type: str = ""
    title: str = ""
    is_forum: bool = False


class Key(Struct, frozen=True):
    callback_data: str = ""


class Keys(Struct, frozen=True):
    inline_keyboard: list[list[Key]] = []


class RepliedTo(Struct, frozen=True):
    message_id: int
    reply_markup: Keys | None = None


class Attached(Struct, frozen=True):
    file_id: str
    file_size: int = 0
    file_name: str = ""


class IncomingMessage(Struct, frozen=True):
    message_id: int
    chat: Where
    sender: From | None = field(default=None, name="from")
    sender_chat: Where | None = None
    date: float = 0.0
    text: str = ""
    caption: str = ""
    photo: list[Attached] = []  # the same in several sizes, the largest last
    document: Attached | None = None
    media_group_id: str = ""
    voice: Raw = Raw()
    audio: Raw = Raw()
    video: Raw = Raw()
    video_note: Raw = Raw()
    sticker: Raw = Raw()
    location: Raw = Raw()
    contact: Raw = Raw()
    reply_to_message: RepliedTo | None = None
    message_thread_id: int = 0
    is_topic_message: bool = False
    forward_origin: Raw = Raw()  # whose words these are, if they were passed on


class ButtonTap(Struct, frozen=True):
    id: str
    sender: From = field(name="from")
    message: IncomingMessage | None = None
    data: str = ""


class Update(Struct, frozen=True):
    update_id: int
    message: IncomingMessage | None = None
    callback_query: ButtonTap | None = None


class Numbered(Struct):
    update_id: int


class Me(Struct):
    username: str = ""
