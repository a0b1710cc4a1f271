"""Reads what people say and tap in Matrix, one sync after the other, by long polling.

Rule: a sync is done with before it is marked as read; what it tells twice is known by its id. In a room that is
encrypted nothing is said: we cannot read there, and must not speak in the clear.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Raw, Struct, ValidationError, convert

from yourcall.channels.channel import Failed, Later
from yourcall.channels.chat.inbox import Inbox
from yourcall.channels.chat.memory import Chat
from yourcall.channels.chat.text import Span
from yourcall.channels.chat.wire import ButtonTap, News, Place, Sender
from yourcall.channels.matrix.api import SYNC_S
from yourcall.channels.matrix.wire import Event, Invited, Joined, Synced, heard, reacted, read

if TYPE_CHECKING:
    from yourcall.channels.matrix.channel import Matrix

log = logging.getLogger(__name__)

PAUSE_S = 2.0
WRONG_TOKEN_S = 60.0

# Anybody on any homeserver may invite the bot: so many rooms of strangers are entered in an hour.
MOST_JOINS = 20
JOINS_S = 3600.0

# Rooms whose members are known without a question.
MOST_ROOMS = 1000

ENCRYPTED = "This room is encrypted, and I cannot read here. Make a room without encryption, and invite me there."


class _Member(Struct, frozen=True):
    display_name: str | None = None


class _Members(Struct, frozen=True):
    joined: dict[str, _Member] = {}


class Reader:
    def __init__(self, to: Matrix, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        self._to = to
        self._inbox = Inbox(to, do, failed)
        self._members: dict[str, dict[str, str]] = {}
        self._joined_at: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        try:
            await self._to.buttons.go_on()
            first = True
            while True:
                first = not await self._sync(first) and first
        finally:
            await self._to.buttons.stop()

    async def _sync(self, first: bool) -> bool:
        """Whether it worked. `first`: what it brings lay there while nobody listened."""
        if not await self._to.introduce():
            await self._to.world.sleep(WRONG_TOKEN_S if self._to.wrong_token else PAUSE_S)
            return False
        since = (self._to.world.keep.get("since") or b"").decode()
        synced = await self._to.api.sync(since, 0.0 if first else SYNC_S)
        if not isinstance(synced, Synced):
            self._to.complain(synced.why)
            wait = WRONG_TOKEN_S if isinstance(synced, Failed) else PAUSE_S
            await self._to.world.sleep(max(wait, synced.after_s) if isinstance(synced, Later) else wait)
            return False
        self._to.complain("")
        at = self._to.world.clock()
        for room, invited in synced.rooms.invite.items():
            await self._invited(room, invited)
        for room in synced.rooms.leave:
            self._members.pop(room, None)
            await self._to.book.drop_chat(room)
        for room, joined in synced.rooms.join.items():
            await self._joined(room, joined, at, first, bool(since))
        if synced.next_batch != since:
            await self._to.world.keep.put("since", synced.next_batch.encode())
        return True

    # --- rooms ---------------------------------------------------------------------------------------------------

    async def _invited(self, room: str, invited: Invited) -> None:
        events = [event for raw in invited.invite_state.events if (event := read(raw))]
        # Its server may say more of the room than the invitation itself, which alone is signed.
        by = {e.sender for e in events if e.type == "m.room.member" and e.state_key == self._to.user}
        if not by or not all(self._to.book.sender(each) for each in by):
            now = time.monotonic()
            self._joined_at = [at for at in self._joined_at if now - at < JOINS_S]
            if len(self._joined_at) >= MOST_JOINS:
                return
            self._joined_at.append(now)
        await self._to.api.do(f"/_matrix/client/v3/rooms/{self._to.quoted(room)}/join")

    async def _encrypted(self, room: str) -> None:
        """Said once, in the clear, and left."""
        await self._to.say(Chat(room), self._to.compose([Span(ENCRYPTED)]))
        await self._to.book.drop_chat(room)
        self._members.pop(room, None)
        await self._to.api.do(f"/_matrix/client/v3/rooms/{self._to.quoted(room)}/leave")

    async def _names(self, room: str) -> dict[str, str]:
        """Who is there, each by what they are called."""
        if room not in self._members:
            end = await self._to.api.ask(f"/_matrix/client/v3/rooms/{self._to.quoted(room)}/joined_members")
            try:
                there = convert(end, _Members).joined if isinstance(end, dict) else {}
            except ValidationError:
                there = {}
            if not there:
                return {}
            if len(self._members) >= MOST_ROOMS:
                self._members.clear()
            self._members[room] = {user: one.display_name or user for user, one in there.items()}
        return self._members[room]

    # --- what is said and tapped ---------------------------------------------------------------------------------

    async def _joined(self, room: str, joined: Joined, at: float, first: bool, known: bool) -> None:
        """`known`: we were in this room before; else what it tells was said to others."""
        events = [event for raw in joined.timeline.events if (event := read(raw))]
        if any(_encrypts(event) for event in (*_all(joined.state.events), *events)):
            await self._encrypted(room)
            return
        if joined.timeline.limited:
            self._members.pop(room, None)  # somebody may have come in, in what is left out
        for event in events:
            if event.type == "m.room.member":
                self._members.pop(room, None)
            elif event.sender != self._to.user and event.event_id and known:
                await self._event(room, event, at, first)

    async def _event(self, room: str, event: Event, at: float, first: bool) -> None:
        age, told_at = event.unsigned.age, event.origin_server_ts / 1000
        if tap := reacted(event):
            message, word = tap
            data = self._to.buttons.data(room, message, word)
            if data is not None:
                place = Place(room)
                pressed = ButtonTap(event.event_id, "", Sender(event.sender), data, place, message)
                await self._inbox.handle(pressed, at, age, told_at, missed=first)
                self._to.used(room, message, word, event.event_id)
        elif event.type == "m.room.message":
            names = await self._names(room)
            private = set(names) == {self._to.user, event.sender}
            news = heard(event, room, private, names.get(event.sender, event.sender))
            if news is not None:
                await self._inbox.handle(news, at, age, told_at, missed=first)


def _encrypts(event: Event) -> bool:
    """Any member may send an event of this type; only those who may set it up, one that is the room's state."""
    return event.type == "m.room.encryption" and event.state_key == ""


def _all(events: list[Raw]) -> list[Event]:
    return [event for raw in events if (event := read(raw))]
