"""What Slack tells of a message and of a tap: as much of it as is looked at.

Rule: unknown fields are passed over; what is missing is empty. What another app says, or a person's client in the
name of somebody else, is no news.
"""

from __future__ import annotations

import re
from hashlib import sha256

from msgspec import Raw, Struct

from yourcall.channels.chat import wire as chat
from yourcall.channels.chat.inbox import number_of
from yourcall.channels.slack.text import words

# A message of a person's, new: nothing that was edited, deleted, or that joined a channel.
_SAID = frozenset({"", "file_share", "thread_broadcast"})

_TS = re.compile(r"\d{1,12}\.\d{1,9}")


class Envelope(Struct, frozen=True):
    type: str = ""
    envelope_id: str = ""
    payload: Raw = Raw(b"{}")
    retry_attempt: int = 0
    reason: str = ""
    num_connections: int = 1


class File(Struct, frozen=True):
    url_private_download: str = ""
    url_private: str = ""
    size: int = 0
    name: str | None = ""


class Attachment(Struct, frozen=True):
    is_share: bool = False


class Event(Struct, frozen=True):
    type: str = ""
    subtype: str = ""
    channel: str = ""
    channel_type: str = ""
    user: str = ""
    text: str = ""
    ts: str = ""
    thread_ts: str = ""
    latest_reply: str = ""
    bot_id: str = ""
    app_id: str = ""
    files: list[File] = []
    attachments: list[Attachment] = []


class Said(Struct, frozen=True):
    event: Event


class _User(Struct, frozen=True):
    id: str = ""


class _Where(Struct, frozen=True):
    id: str = ""


class _Message(Struct, frozen=True):
    ts: str = ""
    thread_ts: str = ""


class Action(Struct, frozen=True):
    type: str = ""
    value: str = ""
    action_ts: str = ""


class Tapped(Struct, frozen=True):
    type: str = ""
    user: _User = _User()
    channel: _Where = _Where()
    message: _Message = _Message()
    actions: list[Action] = []


def when(ts: str) -> float:
    """A message's own time; its id is made of it."""
    return float(ts) if _TS.fullmatch(ts) else 0.0


def heard(event: Event, me: str) -> chat.IncomingMessage | None:
    """`me`: our own user. None: it is not for us."""
    person = event.user and event.user != me and not event.bot_id and not event.app_id
    if event.type != "message" or event.subtype not in _SAID or not person or not when(event.ts):
        return None
    text = words(event.text.removeprefix(f"<@{me}>").lstrip() if me else event.text)
    root = event.thread_ts if event.thread_ts != event.ts and when(event.thread_ts) else ""
    file = event.files[0] if event.files else None
    return chat.IncomingMessage(
        number_of(event.ts, event.channel),
        event.ts,
        chat.Place(event.channel, event.channel_type == "im"),
        chat.Sender(event.user),
        # Slack keeps `/` for itself; what begins with it here is a path, and no command.
        f"/{text[1:]}" if text.startswith("!") else f" {text}" if text.startswith("/") else text,
        when(event.ts),
        root or 0,
        chat.RepliedTo(root) if root else None,
        _attached(file) if file else None,
        forwarded=any(each.is_share for each in event.attachments),
        album=len(event.files) > 1,
    )


def _attached(file: File) -> chat.Attached:
    return chat.Attached(file.url_private_download or file.url_private, file.size, file.name or "")


def tap(told: Tapped) -> chat.ButtonTap | None:
    """A button that opens a link tells of its tap, too: it has no value."""
    action = told.actions[0] if told.actions else Action()
    if told.type != "block_actions" or action.type != "button" or not action.value or not told.user.id:
        return None
    where, message = told.channel.id, told.message
    name = f"{told.user.id} {where} {message.ts} {action.action_ts} {action.value}"
    return chat.ButtonTap(
        sha256(name.encode()).hexdigest()[:16],
        "",
        chat.Sender(told.user.id),
        action.value,
        chat.Place(where) if where and message.ts else None,
        message.ts,
        message.thread_ts if message.thread_ts not in ("", message.ts) else 0,
    )
