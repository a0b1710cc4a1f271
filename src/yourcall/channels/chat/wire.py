"""What a chat platform tells of a message and of a tap, in one form for all of them.

Rule: a platform's own module fills these in; nothing here is trusted for more than it says.
"""

from __future__ import annotations

from msgspec import Struct

# What names a chat, a message, a person or a piece of news: numbers on one platform, words on another.
Id = int | str


class Sender(Struct, frozen=True):
    id: Id
    name: str = ""


class Place(Struct, frozen=True):
    """A chat. `private`: nobody but one person and the bot is there. `forum`: it has a topic for each project."""

    id: Id
    private: bool = False
    title: str = ""
    forum: bool = False


class Attached(Struct, frozen=True):
    """A file that somebody sent; `ref` is what the platform fetches it by."""

    ref: str
    size: int = 0
    name: str = ""


class RepliedTo(Struct, frozen=True):
    """`buttons`: the data of the buttons under it, as far as the platform tells them."""

    message: Id
    buttons: tuple[str, ...] = ()


class IncomingMessage(Struct, frozen=True):
    """`number` names this piece of news for good. `forwarded`: somebody else's words. `unreadable`: a sound, a
    place, a sticker. `album`: one of several pictures."""

    number: Id
    message: Id
    place: Place
    sender: Sender
    text: str = ""
    at: float = 0.0
    thread: Id = 0
    reply_to: RepliedTo | None = None
    file: Attached | None = None
    forwarded: bool = False
    unreadable: bool = False
    album: bool = False


class ButtonTap(Struct, frozen=True):
    """`handle` is what the platform shows a reply to this tap by. No `place`: the message is not known any
    more."""

    number: Id
    handle: str
    sender: Sender
    data: str
    place: Place | None = None
    message: Id = 0
    thread: Id = 0


News = IncomingMessage | ButtonTap
