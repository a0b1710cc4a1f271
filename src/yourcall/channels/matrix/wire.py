"""What a homeserver tells of rooms, messages and reactions: as much of it as is looked at.

Rule: unknown fields are passed over; what is missing is empty. What another bot says, or somebody quotes, edits or
passes on, is not heard as a person's own words.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from yourcall.channels.chat import wire as chat

_FILES = frozenset({"m.file", "m.image"})
_UNREADABLE = frozenset({"m.audio", "m.video", "m.location"})
_FORWARDED = ("m.forwarded", "org.matrix.msc2723.forwarded")


class Unsigned(Struct, frozen=True):
    age: float | None = None


class Event(Struct, frozen=True):
    type: str = ""
    event_id: str = ""
    sender: str = ""
    state_key: str | None = None
    origin_server_ts: float = 0.0
    content: dict[str, Any] = {}
    unsigned: Unsigned = Unsigned()


class _Events(Struct, frozen=True):
    """`limited`: there was more, before these."""

    events: list[Raw] = []
    limited: bool = False


class Joined(Struct, frozen=True):
    timeline: _Events = _Events()
    state: _Events = _Events()


class Invited(Struct, frozen=True):
    invite_state: _Events = _Events()


class Rooms(Struct, frozen=True):
    join: dict[str, Joined] = {}
    invite: dict[str, Invited] = {}
    leave: dict[str, Any] = {}


class Synced(Struct, frozen=True):
    next_batch: str
    rooms: Rooms = field(default_factory=Rooms)


class _Replied(Struct, frozen=True):
    event_id: str = ""


class Relates(Struct, frozen=True):
    rel_type: str = ""
    event_id: str = ""
    key: str = ""
    is_falling_back: bool = False
    in_reply_to: _Replied | None = field(default=None, name="m.in_reply_to")


class _Info(Struct, frozen=True):
    size: float = 0


class Content(Struct, frozen=True):
    msgtype: str = ""
    body: str = ""
    url: str = ""
    filename: str = ""
    info: _Info = _Info()
    relates_to: Relates = field(default_factory=Relates, name="m.relates_to")


def read(raw: Raw) -> Event | None:
    """None: of a shape that no event has."""
    try:
        return msgspec.json.decode(raw, type=Event)
    except msgspec.DecodeError:
        return None


def content(event: Event) -> Content | None:
    try:
        return msgspec.convert(event.content, Content)
    except msgspec.ValidationError:
        return None


def heard(event: Event, room: str, private: bool, name: str) -> chat.IncomingMessage | None:
    """`name`: what the sender is called. None: nobody said anything new."""
    said = content(event)
    if said is None or event.type != "m.room.message" or not event.event_id:
        return None
    about = said.relates_to
    if about.rel_type == "m.replace" or said.msgtype not in ("m.text", *_FILES, *_UNREADABLE):
        return None  # a notice is a bot's
    replied = about.in_reply_to.event_id if about.in_reply_to is not None and not about.is_falling_back else ""
    if not replied and about.rel_type == "m.thread":
        replied = about.event_id
    text, file = _said(said, bool(replied))
    return chat.IncomingMessage(
        f"{event.event_id}",
        event.event_id,
        chat.Place(room, private),
        chat.Sender(event.sender, name),
        # Clients keep `/` for themselves; what begins with it here is a path, and no command.
        f"/{text[1:]}" if text.startswith("!") else f" {text}" if text.startswith("/") else text,
        event.origin_server_ts / 1000,
        0,
        chat.RepliedTo(replied) if replied else None,
        file,
        forwarded=any(each in event.content for each in _FORWARDED),
        unreadable=said.msgtype in _UNREADABLE,
    )


def _said(said: Content, replies: bool) -> tuple[str, chat.Attached | None]:
    if said.msgtype == "m.text":
        return (_without_quote(said.body) if replies else said.body), None
    if said.msgtype not in _FILES:
        return "", None
    # With a name of its own, what would be the name is a caption.
    caption = said.body if said.filename and said.filename != said.body else ""
    return caption, chat.Attached(said.url, int(said.info.size), said.filename or said.body)


def _without_quote(body: str) -> str:
    """A reply may begin with what it replies to: somebody else's words."""
    lines = body.split("\n")
    at = 0
    while at < len(lines) and lines[at].startswith(">"):
        at += 1
    return "\n".join(lines[at:]).lstrip("\n") if at else body


def reacted(event: Event) -> tuple[str, str] | None:
    """The message, and the reaction's key."""
    said = content(event) if event.type == "m.reaction" else None
    about = said.relates_to if said is not None else Relates()
    return (about.event_id, about.key) if about.rel_type == "m.annotation" and about.event_id else None
