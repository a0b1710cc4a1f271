"""What Telegram tells of a message and of a tap: as much of it as is looked at.

Rule: unknown fields are passed over; what is missing is empty.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field

from yourcall.channels.chat import wire as chat


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


def news(update: Update, me: str) -> chat.News | None:
    """What the update tells; None if it is not for us. `me`: our own name."""
    if update.callback_query is not None:
        return _tap(update.update_id, update.callback_query)
    heard = update.message
    if heard is None or heard.sender is None or heard.sender.is_bot or heard.sender_chat is not None:
        return None
    text = heard.text or heard.caption
    word = text.partition(" ")[0].split("\n")[0] if text.startswith("/") else ""
    command, _, to = word.partition("@")
    if to and to.lower() != me.lower():
        return None
    file = heard.document or (heard.photo[-1] if heard.photo else None)
    # Somebody said something that is not read. A group's other news (who joined, what was pinned) is none.
    sound = (heard.voice, heard.audio, heard.video, heard.video_note)
    return chat.IncomingMessage(
        update.update_id,
        heard.message_id,
        _place(heard.chat),
        chat.Sender(heard.sender.id, heard.sender.first_name),
        command + text.removeprefix(word) if to else text,
        heard.date,
        _thread(heard),
        _replied(heard.reply_to_message),
        chat.Attached(file.file_id, file.file_size, file.file_name) if file else None,
        forwarded=bool(bytes(heard.forward_origin)),
        unreadable=any(bytes(each) for each in (*sound, heard.sticker, heard.location, heard.contact)),
        album=bool(heard.media_group_id),
    )


def addressed(update: Update) -> bool:
    """It is a command that names a bot: whether that is us takes our name."""
    text = update.message.text or update.message.caption if update.message else ""
    return text.startswith("/") and "@" in text.partition(" ")[0]


def _tap(number: int, tapped: ButtonTap) -> chat.ButtonTap:
    sender, where = chat.Sender(tapped.sender.id, tapped.sender.first_name), tapped.message
    if where is None:
        return chat.ButtonTap(number, tapped.id, sender, tapped.data)
    return chat.ButtonTap(
        number, tapped.id, sender, tapped.data, _place(where.chat), where.message_id, _thread(where)
    )


def _place(where: Where) -> chat.Place:
    return chat.Place(where.id, where.type == "private", where.title, where.is_forum)


def _thread(message: IncomingMessage) -> int:
    return message.message_thread_id if message.is_topic_message else 0


def _replied(message: RepliedTo | None) -> chat.RepliedTo | None:
    if message is None:
        return None
    rows = message.reply_markup.inline_keyboard if message.reply_markup else []
    return chat.RepliedTo(message.message_id, tuple(key.callback_data for row in rows for key in row))
