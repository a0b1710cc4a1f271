"""Since when each message looks as it does, and whether a tap came too early to be meant for what it hit.

Rule: a button counts only if its message has stood unchanged for a second before the tap, nothing else in the
chat has moved within it, and the person has tapped nothing else within it, taken or not. What is not known counts
as too early.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.chat.draft import Press, ticks
from yourcall.channels.chat.memory import Memory
from yourcall.channels.chat.wire import Id
from yourcall.core.taps import STILL_S

AWAY = "This was tapped while yourcall was away. Tap it again if it still holds."
CHANGED = "The message has changed since. Read it again."
TOO_QUICK = "Too quick: nothing was sent. Look again, and tap after a second."

# A slow line makes a message stand later on the phone, too; but not by more than this.
MOST_DELAY_S = 3.0

# Messages whose looks are known without a look into the book, and people whose last tap is.
MOST_KEPT = 2000

# A message that was sent under an id which the group has no more: its buttons fit no message.
NEVER = -1


class Face(Struct, frozen=True):
    """What a message looks like, as a hash; since when, in milliseconds as it was sent; and from when on it surely
    stands on a phone."""

    key: str
    since: int
    stands_at: float


class _Tap(Struct, frozen=True):
    """A person's last tap; `why` it did not count."""

    number: Id = -1
    at: float = 0.0
    why: str = ""


class Still:
    """`tapped_at`: the earliest moment at which what is being read was tapped; 0: while nobody was listening."""

    def __init__(self, book: Memory, clock: Callable[[], float]) -> None:
        self.tapped_at = 0.0
        self._book = book
        self._clock = clock
        self._faces: dict[tuple[Id, Id], Face] = {}
        self._moved: dict[Id, float] = {}
        self._last_taps: dict[tuple[Id, Id], _Tap] = {}

    def face(self, chat: Id, message_id: Id) -> Face | None:
        known = self._faces.get((chat, message_id))
        placed = self._book.placed(chat, message_id) if known is None and message_id else None
        if placed is not None and placed.face:
            known = Face(placed.face, placed.since, max(placed.since, 0) / 1000)
        return known

    def edits(self, chat: Id, message_id: Id, key: str, since: int) -> Face | None:
        """The message is about to look like this; what it looked like before, as far as that is known."""
        known = self.face(chat, message_id)
        if known is None or (known.key, known.since) != (key, since):
            self._keep(chat, message_id, Face(key, since, self._clock()))
        return known

    def failed(self, chat: Id, message_id: Id, before: Face | None) -> None:
        """It was not edited, or nobody knows."""
        if before is not None:
            self._keep(chat, message_id, before)

    async def stands(
        self, chat: Id, message_id: Id, key: str, since: int, took: float, before: Face | None = None
    ) -> None:
        """The message was sent so, or edited, and the platform has said that it took it. `took`: how long our own
        line needed for that; a phone has it about as much later."""
        if before is None or (before.key, before.since) != (key, since):
            stands_at = since / 1000 + took + min(took, MOST_DELAY_S)
            self._keep(chat, message_id, Face(key, since, stands_at))
        placed = self._book.placed(chat, message_id)
        if placed is not None and (placed.face, placed.since) != (key, since):
            await self._book.place(str(chat), message_id, replace(placed, face=key, since=since))

    def _keep(self, chat: Id, message_id: Id, face: Face) -> None:
        self._faces[chat, message_id] = face
        self._moved[chat] = max(self._moved.get(chat, 0.0), face.stands_at)
        if len(self._faces) > MOST_KEPT:
            self._faces.pop(next(iter(self._faces)))  # those are in the book

    def moved(self, chat: Id, at: float) -> None:
        """Something new is in the chat: what is above it has another place now."""
        self._moved[chat] = max(self._moved.get(chat, 0.0), at)

    def hasty(self, chat: Id, person: Id, press: Press | None, number: Id) -> str:
        """Why this tap does not count: it came right behind another one of this person. To be asked for each tap;
        `number`: its own, for a tap that is told twice comes right behind itself."""
        if press is not None and ticks(press):
            return ""  # nothing moves because of it
        now, last = self._clock(), self._last_taps.get((chat, person), _Tap())
        if last.number == number:
            return last.why
        why = TOO_QUICK if last.at <= now and self.tapped_at - last.at < STILL_S else ""
        if len(self._last_taps) > MOST_KEPT:
            self._last_taps.clear()
        self._last_taps[chat, person] = _Tap(number, now, why)
        return why

    def too_early(self, chat: Id, message_id: Id, press: Press) -> str:
        """Why this tap does not count: what it hit has not stood long enough, or has changed. Empty: it counts."""
        face, now = self.face(chat, message_id), self._clock()
        if face is not None and face.since != press.at:
            return CHANGED
        if not self.tapped_at:
            return AWAY
        stands_at = max(face.stands_at if face is not None else press.at / 1000, self._moved.get(chat, 0.0))
        if stands_at > now + MOST_DELAY_S:  # the clock was set back: it counts from now on
            self._moved[chat] = now
            if face is not None:
                self._faces[chat, message_id] = replace(face, stands_at=now)
        return TOO_QUICK if self.tapped_at - stands_at < STILL_S else ""
