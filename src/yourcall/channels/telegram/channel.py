"""Telegram: each prompt a message with buttons under it, brought to its outcome; people answer and speak there.

This module is the channel's face: what is sent and edited. What comes back is read in `telegram_listen.py`.

Rule: only paired chats are told. A message is edited by one hand at a time, always from the newest that is known,
so that a late tick of a box never covers an outcome. Since when a message looks as it does is written down: a
button counts only after it has stood for a moment.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from yourcall.channels.channel import (
    Abilities,
    Carried,
    Channel,
    Failed,
    Gone,
    Later,
    Notice,
    Rung,
    Sent,
    Unclear,
    World,
)
from yourcall.channels.context import ChannelContext
from yourcall.channels.notice import notice as notice_of
from yourcall.channels.telegram.api import Api, Refusal, Said, Trouble, carried
from yourcall.channels.telegram.draft import Draft, Keys, Seal, keyboard, offer_key, stands_as
from yourcall.channels.telegram.memory import Chat, Memory, Placed
from yourcall.channels.telegram.tap_timing import NEVER, Still
from yourcall.channels.telegram.text import File, Message, Span, compose, told
from yourcall.model.prompts import Prompt

log = logging.getLogger(__name__)

SECRETS = ("token", "code")

LACKS = "there is no token: put it into secrets.toml, under [{}]"

MOVED = "the group has another id now: what was told before stays as it is"

# More ways to answer than any prompt has: they are rows under a message, not keys on a lock screen.
MOST_BUTTONS = 40

# A file whose turn has not come within this stays out; the message says where the rest is.
FILE_WAIT_S = 20.0

# A deed has half a minute. Files that are not there before it is over stay out: the message is there, and its id
# must not be lost with them, or it would keep its buttons for ever.
SEND_S = 25.0

# Some minutes of bad luck; who still looks at the chat then has asked again.
REPLY_TRIES = 6

# After Telegram said that we may make no topics there, General has to do for so long.
NO_TOPICS_S = 3600.0


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """`topics`: in a group with topics, one for each project. `progress`: show a running turn as it goes."""

    server: Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/[^\s?#]*)?$")] = "https://api.telegram.org"
    topics: bool = True
    progress: bool = True
    rung: Rung = "chat"


class _Drawn(Struct, frozen=True):
    message: Message
    files: list[File]
    keys: Keys
    face: str
    since: int


class _Sent(Struct):
    message_id: int


class _Topic(Struct):
    message_thread_id: int


class Telegram:
    def __init__(self, name: str, settings: Settings, world: World) -> None:
        self.name = name
        self.abilities = Abilities(
            settings.rung, buttons=MOST_BUTTONS, free_text=True, edit=True, knows_who=True, twice=True
        )
        self.settings = settings
        self.world = world
        self.has_token = bool(world.secrets.get("token"))
        self.api = Api(world, settings.server, world.secrets.get("token", ""))
        self.book = Memory(world.keep, world.clock, world.secrets.get("code", ""))
        self._desk: ChannelContext | None = None
        self._notices: dict[tuple[str, int], Notice] = {}
        self._locks: dict[tuple[str, int], asyncio.Lock] = {}
        self._sending: dict[int, asyncio.Lock] = {}
        self._topics = asyncio.Lock()
        self.deaf = "" if self.has_token else LACKS.format(name)
        self._no_topics: dict[str, float] = {}
        self.still = Still(self.book, world.clock)

    def targets(self) -> Sequence[str]:
        return list(self.book.chats()) if self.has_token else ()

    def people(self) -> Mapping[str, str]:
        return self.book.people()

    async def unpair(self, person: str) -> None:
        await self.book.drop_person(person)

    async def listen(self, desk: ChannelContext) -> None:
        from yourcall.channels.telegram.listener import Listener

        self._desk = desk
        try:
            await Listener(self, desk).run()
        except Exception as error:
            self.deaf = f"it stopped listening ({type(error).__name__}), and tries again"
            raise

    # --- notices -------------------------------------------------------------------------------------------------

    def rendered(self, notice: Notice) -> str:
        labels = [button.label for button in notice.buttons]
        return "\n".join([told(notice)[0].text, *labels])

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
            if not isinstance(end, int):
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
                    await self._send_file(chat, file, end, thread)
        except TimeoutError:
            log.warning("%s: a file could not be sent in time", self.name)
        return Sent(str(end) if str(chat.id) == target else f"{chat.id}:{end}")

    def sending(self, chat: Chat) -> asyncio.Lock:
        """Held until it is written down what a new message is about: somebody may reply at once."""
        return self._sending.setdefault(chat.id, asyncio.Lock())

    async def update(self, target: str, receipt: str, notice: Notice) -> Carried:
        chat = self.book.chat(target)
        if chat is None:
            return Gone("this chat is not paired any more")
        where, _, number = receipt.rpartition(":")
        if not number.isdecimal():
            return Sent(receipt)
        if (where or target) != str(chat.id):
            return Failed(MOVED)  # there, another message may have its number
        target, message_id = str(chat.id), int(number)
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

    def notice_at(self, target: str, message_id: int, prompt: Prompt) -> Notice:
        """What that message shows; after a restart worked out again."""
        return self._notices.get((target, message_id)) or self.fresh(prompt)

    def fresh(self, prompt: Prompt) -> Notice:
        body = self._desk.loop.store.body(prompt.request) if self._desk and prompt.request else None
        return notice_of(prompt.id, [prompt], url=self.world.url, titles_only=self.world.titles_only, body=body)

    async def catch_up(self, chat: Chat, message_id: int, prompt: Prompt) -> None:
        """Somebody tapped what is over: a message whose sending nobody saw the end of loses its buttons then."""
        notice = self.fresh(prompt)
        if notice.standing == "over" and (str(chat.id), message_id) not in self._notices:
            await self.edit(chat, message_id, told(notice)[0])

    async def _came_back(self, chat: Chat, message_id: int, notice: Notice) -> Later | None:
        """An edit makes no sound, and whoever tapped has put the phone away."""
        placed = self.book.placed(chat.id, message_id) or Placed()
        if notice.back <= placed.back:
            return None
        spans = [Span(notice.outcome or "An answer came back", "code"), Span(". Answer the message above again.")]
        end = await self.say(chat, compose(spans), reply_to=message_id)
        if isinstance(end, Later):
            return end
        told = replace(placed, back=notice.back)
        await self.book.place(str(chat.id), message_id, told)
        if isinstance(end, int):
            await self.book.place(str(chat.id), end, told)
        return None

    def renew(self, chat: Chat, message_id: int, prompt: Prompt) -> None:
        """What is asked has changed without a word that others show: the message is to show it."""
        known = self._notices.get((str(chat.id), message_id))
        if known is not None and len(known.prompts) == 1:
            self._notices[str(chat.id), message_id] = replace(
                self.fresh(prompt), id=known.id, reminder=known.reminder
            )

    async def show(self, chat: Chat, message_id: int, fallback: Notice | None = None) -> Trouble | None:
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

    def _drawn(self, chat: Chat, notice: Notice, message_id: int = 0) -> _Drawn:
        """The message and its buttons. While it looks the same, its buttons keep their time."""
        draft = self._draft(str(chat.id), notice)
        bare = replace(notice, partly=False)
        now = int(self.world.clock() * 1000)
        seal = Seal(self.book.seal_key(), chat.id, now)
        message, files = told(bare, draft)
        keys = keyboard(bare, draft, seal, message.text)
        if keys.partly:
            message, files = told(replace(notice, partly=True), draft)
        face = stands_as(message.text, keys, notice.offer)
        known = self.still.face(chat.id, message_id)
        if known is not None and known.key == face and known.since != NEVER:
            seal = replace(seal, at=known.since)
            keys = keyboard(bare, draft, seal, told(bare, draft)[0].text)
        return _Drawn(message, files, keys, face, seal.at)

    def seal(self, chat: Chat) -> Seal:
        return Seal(self.book.seal_key(), chat.id, 0)

    # --- messages ------------------------------------------------------------------------------------------------

    async def say(
        self,
        chat: Chat,
        message: Message,
        *,
        keys: list[list[dict[str, Any]]] | None = None,
        thread: int = 0,
        reply_to: int = 0,
    ) -> int | Trouble:
        """The new message's id, or why there is none."""
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "text": message.text,
            "entities": message.entities,
            "link_preview_options": {"is_disabled": True},
        }
        if keys:
            fields["reply_markup"] = {"inline_keyboard": keys}
        if thread:
            fields["message_thread_id"] = thread
        if reply_to:
            fields["reply_parameters"] = {"message_id": reply_to, "allow_sending_without_reply": True}
        sent_at, began = self.world.clock(), time.monotonic()
        end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and keys and _about_link(end):
            fields["reply_markup"] = {"inline_keyboard": _without_links(keys)}
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and "message thread not found" in end.words.lower() and thread:
            await self._forget_thread(chat, thread)
            del fields["message_thread_id"]
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and "topic_closed" in end.words.lower() and thread:
            fields.pop("message_thread_id", None)  # somebody closed it, and may open it again
            end = await self.api.call("sendMessage", fields)
        if isinstance(end, Refusal) and end.moved_to:
            await self.book.move_chat(str(chat.id), end.moved_to)
            end = await self.api.call("sendMessage", {**fields, "chat_id": end.moved_to})
        if isinstance(end, Said):
            self.still.moved(chat.id, sent_at + time.monotonic() - began)
            try:
                return msgspec.json.decode(end.result, type=_Sent).message_id
            except msgspec.DecodeError:
                return Unclear("it took the message, and did not say which it is")
        return await self._ended(chat, end)

    async def reply(self, chat: Chat, spans: Sequence[Span], reply_to: int, thread: int = 0) -> int:
        """A word to a person who waits for it: tried again if it surely did not arrive. Its id; 0 if it failed."""
        message, why = compose(spans), ""
        for _ in range(REPLY_TRIES):
            end = await self.say(chat, message, reply_to=reply_to, thread=thread)
            if isinstance(end, int):
                return end
            why = end.why
            if not isinstance(end, Later):
                break
            await self.world.sleep(max(end.after_s, 1.0))
        log.warning("%s: a reply could not be sent: %s", self.name, why)
        return 0

    async def edit(
        self, chat: Chat, message_id: int, message: Message, keys: list[list[dict[str, Any]]] | None = None
    ) -> Trouble | None:
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "message_id": message_id,
            "text": message.text,
            "entities": message.entities,
            "link_preview_options": {"is_disabled": True},
            "reply_markup": {"inline_keyboard": keys or []},
        }
        end = await self.api.call("editMessageText", fields)
        if isinstance(end, Refusal) and keys and _about_link(end):
            fields["reply_markup"] = {"inline_keyboard": _without_links(keys)}
            end = await self.api.call("editMessageText", fields)
        if isinstance(end, Said):
            return None
        if isinstance(end, Refusal):
            words = end.words.lower()
            # It says so already; or a person has deleted it, and nothing is left to be told there.
            if "message is not modified" in words or "message to edit not found" in words:
                return None
            if "message can't be edited" in words:
                return None
        return await self._ended(chat, end)

    async def _ended(self, chat: Chat, end: Refusal | Trouble) -> Trouble:
        if isinstance(end, Refusal) and end.moved_to:
            await self.book.move_chat(str(chat.id), end.moved_to)
            return Failed(MOVED)
        done = carried(end)
        if isinstance(done, Gone):
            await self.book.drop_chat(str(chat.id))
        return done

    async def _send_file(self, chat: Chat, file: File, reply_to: int, thread: int) -> None:
        """Tried twice at most: the message it belongs to is there, and must not be sent again because of it."""
        fields: dict[str, Any] = {
            "chat_id": chat.id,
            "reply_parameters": {"message_id": reply_to, "allow_sending_without_reply": True},
            "disable_notification": True,
        }
        if thread:
            fields["message_thread_id"] = thread
        content = ("document", file.name, file.text.encode("utf-8", "replace") or b"\n")
        end = await self.api.call("sendDocument", fields, file=content)
        if isinstance(end, Later) and end.after_s <= FILE_WAIT_S:
            await self.world.sleep(max(end.after_s, 1.0))
            end = await self.api.call("sendDocument", fields, file=content)
        if isinstance(end, Said):
            with suppress(msgspec.DecodeError):  # without its id, nobody can reply to it; that is all
                message_id = msgspec.json.decode(end.result, type=_Sent).message_id
                await self.book.place(str(chat.id), message_id, self.book.placed(chat.id, reply_to) or Placed())
        else:
            log.warning("%s: a file could not be sent: %s", self.name, carried(end).why)

    # --- topics --------------------------------------------------------------------------------------------------

    async def thread(self, chat: Chat, cwd: str, project: str) -> int:
        """The topic of this project in a group that has topics; 0: General, or no topics at all."""
        if not chat.forum or not self.settings.topics or not cwd:
            return 0
        name = f"topic:{chat.id}:{sha256(cwd.encode('utf-8', 'replace')).hexdigest()[:16]}"
        async with self._topics:
            known = self.book.number(name)
            if known or self._no_topics.get(str(chat.id), 0.0) > self.world.clock():
                return known
            title = "".join(char for char in project if char.isprintable())[:120] or "project"
            end = await self.api.call("createForumTopic", {"chat_id": chat.id, "name": title})
            if not isinstance(end, Said):
                if isinstance(end, Refusal):
                    self._no_topics[str(chat.id)] = self.world.clock() + NO_TOPICS_S
                    log.warning("%s: no topic could be made: %s", self.name, end.words[:120])
                return 0
            try:
                thread = msgspec.json.decode(end.result, type=_Topic).message_thread_id
            except msgspec.DecodeError:
                return 0
            await self.book.put_number(name, thread)
            return thread

    async def _forget_thread(self, chat: Chat, thread: int) -> None:
        for name in list(self.world.keep.all()):
            if name.startswith(f"topic:{chat.id}:") and self.book.number(name) == thread:
                await self.book.put_number(name, None)

    async def note_forum(self, chat: Chat, forum: bool) -> None:
        if chat.forum != forum:
            await self.book.put_chat(replace(chat, forum=forum))


def _about_link(end: Refusal) -> bool:
    """Telegram takes no link to a host without a dot, and refuses the whole message for it."""
    return "url" in end.words.lower()


def _without_links(keys: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    rows = [[key for key in row if "url" not in key] for row in keys]
    return [row for row in rows if row]


def make(name: str, settings: Settings, world: World) -> Channel:
    return Telegram(name, settings, world)
