"""A chat: each prompt a message with buttons under it, brought to its outcome; people answer and speak there.

This is what all chats have in common: what is sent and edited. A platform's folder adds how (`say`, `edit`,
`read` …); what comes back means the same everywhere (`listener.py`).

Rule: only paired chats are told. A message is edited by one hand at a time, always from the newest that is known,
so that a late tick of a box never covers an outcome. Since when a message looks as it does is written down: a
button counts only after it has stood for a moment.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.channel import Abilities, Carried, Failed, Gone, Later, Notice, Rung, Sent, Unclear, World
from yourcall.channels.chat.commands import COMMANDS
from yourcall.channels.chat.draft import Draft, Keys, Rows, Seal, keyboard, offer_key, stands_as
from yourcall.channels.chat.memory import Chat, Memory, Placed
from yourcall.channels.chat.progress import EVERY_S
from yourcall.channels.chat.tap_timing import NEVER, Still
from yourcall.channels.chat.text import LONGEST_TEXT, File, Message, Span, compose, told
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, News, Place, Sender
from yourcall.channels.context import ChannelContext
from yourcall.channels.notice import notice as notice_of
from yourcall.model.prompts import Prompt, Refused

log = logging.getLogger(__name__)

Trouble = Later | Unclear | Failed | Gone

MOVED = "the group has another id now: what was told before stays as it is"

# More ways to answer than any prompt has: they are rows under a message, not keys on a lock screen.
MOST_BUTTONS = 40

# Whatever markup costs, this much has room everywhere.
SHORTEST = 300

# A deed has half a minute. Files that are not there before it is over stay out: the message is there, and its id
# must not be lost with them, or it would keep its buttons for ever.
SEND_S = 25.0

# A file whose turn has not come within this stays out; the message says where the rest is.
FILE_WAIT_S = 20.0

# Some minutes of bad luck; who still looks at the chat then has asked again.
REPLY_TRIES = 6

# Our commands as our own words name them. On platforms that keep `/` for themselves, they begin with another sign.
_COMMAND = re.compile(rf"(?<![\w/])/(?=(?:{'|'.join((*COMMANDS, 'pair'))})\b)")


class _Drawn(Struct, frozen=True):
    message: Message
    files: list[File]
    keys: Keys
    face: str
    since: int


class ChatChannel(ABC):
    """`account`: which bot this is, which is no secret; empty if there is none. `sign` begins a command.
    `longest`: what one message holds, in UTF-16 units. `most_keys`: buttons under it, links included. `pace`: how
    often a running turn may be edited, in seconds."""

    sign = "/"
    longest = LONGEST_TEXT
    most_keys = MOST_BUTTONS
    pace = EVERY_S

    def __init__(self, name: str, rung: Rung, world: World, *, account: str, progress: bool) -> None:
        self.name = name
        self.abilities = Abilities(
            rung, buttons=self.most_keys, free_text=True, edit=True, knows_who=True, twice=True
        )
        self.world = world
        self.account = account
        self.progress = progress
        self.book = Memory(world.keep, world.clock, world.secrets.get("code", ""))
        self.still = Still(self.book, world.clock)
        self.deaf = ""
        self._desk: ChannelContext | None = None
        self._notices: dict[tuple[str, Id], Notice] = {}
        self._locks: dict[tuple[str, Id], asyncio.Lock] = {}
        self._sending: dict[Id, asyncio.Lock] = {}

    # --- what a platform adds ------------------------------------------------------------------------------------

    @abstractmethod
    async def read(self, do: Callable[[News], Awaitable[None]], failed: Callable[[News], None]) -> None:
        """What people say and tap, one after the other, until cancelled. `failed`: what could not be handled."""

    @abstractmethod
    async def say(
        self, chat: Chat, message: Message, *, keys: Rows | None = None, thread: Id = 0, reply_to: Id = 0
    ) -> Id | Trouble:
        """The new message's id, or why there is none."""

    @abstractmethod
    async def edit(
        self, chat: Chat, message_id: Id, message: Message, keys: Rows | None = None
    ) -> Trouble | None: ...

    @abstractmethod
    async def upload(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> Id | Trouble:
        """Below a message that is there already. Its id; 0 or empty if nobody can reply to it."""

    @abstractmethod
    async def toast(self, tapped: ButtonTap, text: str, alert: bool) -> None:
        """A word to whoever tapped, and to nobody else."""

    @abstractmethod
    async def fetch(self, file: Attached, most: int) -> bytes | Refused: ...

    def open(self) -> None:  # noqa: B027
        """Before anything is read, or said in reply."""

    async def close(self) -> None:  # noqa: B027
        """Also when it ends before `read` began: a reply may have opened a connection by then."""

    async def thread(self, chat: Chat, cwd: str, project: str) -> Id:
        """The part of this chat that is about this project; 0: there are no parts."""
        return 0

    async def note_place(self, chat: Chat, place: Place, sender: Sender) -> Chat:
        """The chat, with what is known of it by now."""
        return chat

    def parse_receipt(self, receipt: str) -> tuple[str, Id]:
        """The chat, if it is not the target's own any more, and the message."""
        return "", receipt

    def fits(self, message: Message) -> bool:
        """Whether it has room in one message, with all markup that the platform needs."""
        return True

    # --- who is there --------------------------------------------------------------------------------------------

    def targets(self) -> Sequence[str]:
        return list(self.book.chats()) if self.account else ()

    def people(self) -> Mapping[str, str]:
        return self.book.people()

    async def unpair(self, person: str) -> None:
        await self.book.drop_person(person)

    async def listen(self, desk: ChannelContext) -> None:
        from yourcall.channels.chat.listener import Listener

        self._desk = desk
        self.open()
        try:
            await Listener(self, desk).run()
        except Exception as error:
            self.deaf = f"it stopped listening ({type(error).__name__}), and tries again"
            raise
        finally:
            await self.close()

    def complain(self, why: str) -> None:
        """Kept where people look for it (`yourcall channels`, `doctor`); empty when all is well again."""
        if why and why != self.deaf:
            log.warning("%s: %s", self.name, why)
        self.deaf = why

    # --- notices -------------------------------------------------------------------------------------------------

    def rendered(self, notice: Notice) -> str:
        labels = [button.label for button in notice.buttons]
        return "\n".join([self._told(notice)[0].text, *labels])

    async def send(self, target: str, notice: Notice) -> Carried:
        chat = self.book.chat(target)
        if chat is None:
            return Gone("this chat is not paired any more")
        until = asyncio.get_running_loop().time() + SEND_S
        first = notice.prompts[0] if notice.prompts else None
        turn = self.sending(chat)
        try:
            async with asyncio.timeout_at(until):
                for prompt in notice.prompts:
                    await self.book.name_prompt(prompt.id)
                thread = await self.thread(chat, first.cwd, notice.project) if first else 0
                await turn.acquire()
        except TimeoutError:
            return Later("others were sent first, and took too long")  # nothing of this one was said
        try:
            drawn = self._drawn(chat, notice)
            files = drawn.files
            began = time.monotonic()
            end = await self.say(chat, drawn.message, keys=drawn.keys.rows, thread=thread)
            if not isinstance(end, int | str):
                return end
            before, took = chat.id, time.monotonic() - began
            chat = self.book.chat(target) or chat  # a group may have got another id on the way
            self._notices[str(chat.id), end] = notice
            session = first.session_id if first and len(notice.prompts) == 1 else ""
            placed = Placed(tuple(prompt.id for prompt in notice.prompts), session, notice.id, back=notice.back)
            await self.book.place(str(chat.id), end, placed)
            since = drawn.since if chat.id == before else NEVER  # the buttons are sealed for the id it had
            await self.still.stands(chat.id, end, drawn.face, since, took)
        finally:
            turn.release()
        if chat.id != before:
            await self.show(chat, end)
        try:
            async with asyncio.timeout_at(until):
                for file in files:
                    await self.send_file(chat, file, end, thread)
        except TimeoutError:
            log.warning("%s: a file could not be sent in time", self.name)
        return Sent(str(end) if str(chat.id) == target else f"{chat.id}:{end}")

    async def send_file(self, chat: Chat, file: File, reply_to: Id, thread: Id) -> None:
        """Tried twice at most: the message it belongs to is there, and must not be sent again because of it."""
        end = await self.upload(chat, file, reply_to, thread)
        if isinstance(end, Later) and end.after_s <= FILE_WAIT_S:
            await self.world.sleep(max(end.after_s, 1.0))
            end = await self.upload(chat, file, reply_to, thread)
        if not isinstance(end, int | str):
            log.warning("%s: a file could not be sent: %s", self.name, end.why)
        elif end:
            await self.book.place(str(chat.id), end, self.book.placed(chat.id, reply_to) or Placed())

    def sending(self, chat: Chat) -> asyncio.Lock:
        """Held until it is written down what a new message is about: somebody may reply at once."""
        return self._sending.setdefault(chat.id, asyncio.Lock())

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        chat = self.book.chat(target)
        if chat is None:
            return Gone("this chat is not paired any more")
        if not receipt:
            return Sent(receipt)
        where, message_id = self.parse_receipt(receipt)
        if (where or target) != str(chat.id):
            return Failed(MOVED)  # there, another message may have its number
        target = str(chat.id)
        self._notices[target, message_id] = notice
        end = await self.show(chat, message_id)
        if end is None and notice.standing == "open":
            end = await self._came_back(chat, message_id, notice)
        if notice.standing == "over" and end is None:
            self._notices.pop((target, message_id), None)
            self._locks.pop((target, message_id), None)
            for prompt in notice.prompts:
                if notice.outcome != "Asked again below":
                    await self.book.drop_draft(target, prompt.id)
        return end or Sent(receipt)

    async def withdraw(self, target: str, receipt: str, notice: Notice) -> Carried:
        return await self.update(target, receipt, notice)

    def notice_at(self, target: str, message_id: Id, prompt: Prompt) -> Notice:
        """What that message shows; after a restart worked out again."""
        return self._notices.get((target, message_id)) or self.fresh(prompt)

    def fresh(self, prompt: Prompt) -> Notice:
        body = self._desk.loop.store.body(prompt.request) if self._desk and prompt.request else None
        return notice_of(prompt.id, [prompt], url=self.world.url, titles_only=self.world.titles_only, body=body)

    async def catch_up(self, chat: Chat, message_id: Id, prompt: Prompt) -> None:
        """Somebody tapped what is over: a message whose sending nobody saw the end of loses its buttons then."""
        notice = self.fresh(prompt)
        if notice.standing == "over" and (str(chat.id), message_id) not in self._notices:
            await self.edit(chat, message_id, self._told(notice)[0])

    async def _came_back(self, chat: Chat, message_id: Id, notice: Notice) -> Later | None:
        """An edit makes no sound, and whoever tapped has put the phone away."""
        placed = self.book.placed(chat.id, message_id) or Placed()
        if notice.back <= placed.back:
            return None
        spans = [Span(notice.outcome or "An answer came back", "code"), Span(". Answer the message above again.")]
        end = await self.say(chat, self.compose(spans), reply_to=message_id)
        if isinstance(end, Later):
            return end
        again = replace(placed, back=notice.back)
        await self.book.place(str(chat.id), message_id, again)
        if isinstance(end, int | str):
            await self.book.place(str(chat.id), end, again)
        return None

    def renew(self, chat: Chat, message_id: Id, prompt: Prompt) -> None:
        """What is asked has changed without a word that others show: the message is to show it."""
        known = self._notices.get((str(chat.id), message_id))
        if known is not None and len(known.prompts) == 1:
            self._notices[str(chat.id), message_id] = replace(
                self.fresh(prompt), id=known.id, reminder=known.reminder
            )

    async def show(self, chat: Chat, message_id: Id, fallback: Notice | None = None) -> Trouble | None:
        """Bring a message to what is known now."""
        target = str(chat.id)
        async with self._locks.setdefault((target, message_id), asyncio.Lock()):
            notice = self._notices.get((target, message_id)) or self._still_open(fallback)
            if notice is None:
                return None
            drawn = self._drawn(chat, notice, message_id)
            before = self.still.edits(chat.id, message_id, drawn.face, drawn.since)
            began = time.monotonic()
            end = await self.edit(chat, message_id, drawn.message, drawn.keys.rows)
            if end is None:
                took = time.monotonic() - began
                await self.still.stands(chat.id, message_id, drawn.face, drawn.since, took, before)
            else:
                self.still.failed(chat.id, message_id, before)
            return end

    def _still_open(self, notice: Notice | None) -> Notice | None:
        """What was worked out a moment ago must not cover an outcome that was shown since."""
        row = self._desk.loop.store.prompt(notice.prompts[0].id) if notice and self._desk else None
        return notice if row is not None and row.state == "open" else None

    def _draft(self, target: str, notice: Notice) -> Draft:
        if len(notice.prompts) != 1:
            return Draft()
        return self.book.draft(target, notice.prompts[0].id, offer_key(notice.offer))

    def _drawn(self, chat: Chat, notice: Notice, message_id: Id = 0) -> _Drawn:
        """The message and its buttons. While it looks the same, its buttons keep their time."""
        draft = self._draft(str(chat.id), notice)
        bare = replace(notice, partly=False)
        now = int(self.world.clock() * 1000)
        seal = Seal(self.book.seal_key(), chat.id, now)
        message, files = self._told(bare, draft)
        keys = keyboard(bare, draft, seal, message.text, self.most_keys)
        if keys.partly:
            message, files = self._told(replace(notice, partly=True), draft)
        face = stands_as(message.text, keys, notice.offer)
        known = self.still.face(chat.id, message_id)
        if known is not None and known.key == face and known.since != NEVER:
            seal = replace(seal, at=known.since)
            keys = keyboard(bare, draft, seal, self._told(bare, draft)[0].text, self.most_keys)
        return _Drawn(message, files, keys, face, seal.at)

    def seal(self, chat: Chat) -> Seal:
        return Seal(self.book.seal_key(), chat.id, 0)

    # --- messages ------------------------------------------------------------------------------------------------

    def compose(self, spans: Sequence[Span]) -> Message:
        return self._fitted(lambda longest: (compose(spans, longest), []))[0]

    def _told(self, notice: Notice, draft: Draft | None = None) -> tuple[Message, list[File]]:
        return self._fitted(lambda longest: told(notice, draft, longest))

    def _fitted(self, made: Callable[[int], tuple[Message, list[File]]]) -> tuple[Message, list[File]]:
        """Cut until it has room: what is cut here is known to be cut, and then offers no yes."""
        longest = self.longest
        while True:
            message, files = made(longest)
            message = self._ours(message)
            if self.fits(message) or longest < SHORTEST:
                return message, files
            longest = longest * 4 // 5

    def _ours(self, message: Message) -> Message:
        """Our own words name commands as they are given here."""
        if self.sign == "/":
            return message
        spans = tuple(
            span if span.style in ("code", "pre") else replace(span, text=_COMMAND.sub(self.sign, span.text))
            for span in message.spans
        )
        return Message("".join(span.text for span in spans), spans)

    async def reply(self, chat: Chat, spans: Sequence[Span], reply_to: Id, thread: Id = 0) -> Id:
        """A word to a person who waits for it: tried again if it surely did not arrive. Its id; 0 if it failed."""
        message, why = self.compose(spans), ""
        for _ in range(REPLY_TRIES):
            end = await self.say(chat, message, reply_to=reply_to, thread=thread)
            if isinstance(end, int | str):
                return end
            why = end.why
            if not isinstance(end, Later):
                break
            await self.world.sleep(max(end.after_s, 1.0))
        log.warning("%s: a reply could not be sent: %s", self.name, why)
        return 0
