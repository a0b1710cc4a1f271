"""Buttons in Matrix, which has none: reactions of ours under a message, and a tap is the same reaction.

Rule: a reaction carries nothing but its own word, so what each word stands for is written down, for one message,
before it is shown. A word that was under a message never means something else there: whoever taps what an older
state showed says what that state said. Words that do not stand for anything are no taps.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.channel import Failed, Gone, Later, Unclear
from yourcall.channels.chat.draft import Rows
from yourcall.channels.chat.wire import Id
from yourcall.channels.matrix.text import AGAIN, labels

if TYPE_CHECKING:
    from yourcall.channels.matrix.channel import Matrix

log = logging.getLogger(__name__)

# Words that one message remembers: more than anybody turns its pages.
MOST_WORDS = 120

TRIES = 5
TIDY_EVERY = 50


class Shown(Struct, frozen=True):
    """Under one message: what each word stands for, those that are to be there, and those that are, each by its
    event."""

    words: dict[str, str] = {}
    wanted: tuple[str, ...] = ()
    there: dict[str, str] = {}


class Buttons:
    def __init__(self, channel: Matrix) -> None:
        self._channel = channel
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._powerless: set[str] = set()
        self._written = 0

    def data(self, room: str, message: str, word: str) -> str | None:
        """What a tap on this word says; None: it is no button there, and never was."""
        return self._read(room, message).words.get(word)

    def knows(self, room: str, message: str) -> bool:
        return bool(self._read(room, message).words)

    async def put(self, room: str, message: str, rows: Rows) -> None:
        """These shall be there; they are written down at once, and shown in the background."""
        known = self._read(room, message)
        if not rows and not known.there and not known.wanted:
            return
        words = dict(known.words)
        wanted: list[str] = []
        for label, key in labels(rows):
            word = next((each for each in known.wanted if words[each] == key.data), "")
            if not word:
                word = _fresh(label, words)
                words[word] = key.data
            wanted.append(word)
        kept = dict(list(words.items())[-MOST_WORDS:])
        await self._write(room, message, replace(known, words=kept, wanted=tuple(wanted)))
        self._paint(room, message)

    async def used(self, room: str, message: str, word: str, event: str) -> None:
        """Somebody's tap was read. Theirs is taken back, or the next one on this word would only undo it; where we
        may not do that, the button gets another word."""
        if room not in self._powerless:
            end = await self._redact(room, event)
            if not isinstance(end, Failed | Gone):
                return
            self._powerless.add(room)
        known = self._read(room, message)
        if word in known.wanted:
            other = _fresh(word.rstrip(f" {AGAIN}"), known.words)
            words = {**known.words, other: known.words[word]}
            wanted = tuple(other if each == word else each for each in known.wanted)
            await self._write(room, message, replace(known, words=words, wanted=wanted))
            self._paint(room, message)

    async def go_on(self) -> None:
        """What was not finished when we were stopped."""
        for name in list(self._channel.world.keep.all()):
            if name.startswith("r:"):
                room, _, message = name.removeprefix("r:").partition(" ")
                known = self._read(room, message)
                if set(known.there) != set(known.wanted):
                    self._paint(room, message)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _paint(self, room: str, message: str) -> None:
        if (room, message) not in self._tasks:
            task = asyncio.create_task(self._bring(room, message))
            self._tasks[room, message] = task
            task.add_done_callback(lambda _: self._painted(room, message, task))

    def _painted(self, room: str, message: str, task: asyncio.Task[None]) -> None:
        del self._tasks[room, message]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: buttons could not be shown: %s", self._channel.name, type(error).__name__)

    async def _bring(self, room: str, message: str) -> None:
        """One step after the other, each from the newest that is known: what is not wanted any more goes first."""
        while True:
            known = self._read(room, message)
            old = next((word for word in known.there if word not in known.wanted), None)
            new = next((word for word in known.wanted if word not in known.there), None)
            if old is not None:
                done = await self._tried(lambda known=known, old=old: self._redact(room, known.there[old]))
                await self._change(room, message, old, None)
            elif new is not None:
                number = secrets.token_hex(8)
                done = await self._tried(lambda new=new, number=number: self._react(room, message, new, number))
                if not done:
                    return
                await self._change(room, message, new, done)
                # It has just come under somebody's thumb.
                self._channel.still.moved(room, self._channel.world.clock())
            else:
                return

    async def _redact(self, room: str, event: str) -> str | Later | Unclear | Failed | Gone:
        return await self._channel.api.redact(room, event, secrets.token_hex(8))

    async def _react(
        self, room: str, message: str, word: str, number: str
    ) -> str | Later | Unclear | Failed | Gone:
        about = {"rel_type": "m.annotation", "event_id": message, "key": word}
        return await self._channel.api.send(room, "m.reaction", {"m.relates_to": about}, number)

    async def _tried(self, do: Callable[[], Awaitable[str | Later | Unclear | Failed | Gone]]) -> str:
        """The event's id; empty if it could not be done. To do the same again does no harm."""
        for _ in range(TRIES):
            end = await do()
            if isinstance(end, str):
                return end
            if not isinstance(end, Later | Unclear):
                log.warning("%s: a button could not be shown: %s", self._channel.name, end.why)
                return ""
            await self._channel.world.sleep(max(end.after_s, 1.0) if isinstance(end, Later) else 1.0)
        return ""

    async def _change(self, room: str, message: str, word: str, event: str | None) -> None:
        known = self._read(room, message)  # it may be wanted otherwise by now
        there = {name: one for name, one in known.there.items() if name != word}
        await self._write(room, message, replace(known, there={**there, word: event} if event else there))

    # --- what is written down ------------------------------------------------------------------------------------

    def _read(self, room: Id, message: Id) -> Shown:
        data = self._channel.world.keep.get(f"r:{room} {message}")
        try:
            return msgspec.json.decode(data, type=Shown) if data else Shown()
        except msgspec.DecodeError:
            return Shown()

    async def _write(self, room: str, message: str, shown: Shown) -> None:
        await self._channel.world.keep.put(f"r:{room} {message}", msgspec.json.encode(shown))
        self._written += 1
        if self._written % TIDY_EVERY == 0:
            await self._tidy()

    async def _tidy(self) -> None:
        """What stood under messages that are forgotten."""
        keep = self._channel.world.keep
        for name in list(keep.all()):
            room, _, message = name.removeprefix("r:").partition(" ")
            forgotten = name.startswith("r:") and self._channel.book.placed(room, message) is None
            if forgotten and (room, message) not in self._tasks:
                await keep.put(name, None)


def _fresh(label: str, words: dict[str, str]) -> str:
    """The label, in a form that has not been under this message yet."""
    if label not in words:
        return label
    marked = (f"{label} {sign}" for sign in AGAIN)
    return next((each for each in marked if each not in words), f"{label} {secrets.token_hex(2)}")
