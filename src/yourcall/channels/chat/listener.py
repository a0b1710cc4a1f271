"""What people say and tap in a chat, and what it means: an answer, an instruction, a command, or nothing at all.

Rule: only a paired person in a paired chat is heard. A tap answers the very prompt it was shown with, as long as
nothing about it has changed, and only after the message has stood for a second and a second after the person's
last tap; nobody is told "approved" here: the message is brought to its outcome when the agent has moved on.
An update is done with before it is marked as read; one whose end nobody saw is repeated only if that is harmless.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from yourcall.agents.assess import unconfirmed
from yourcall.channels.chat.commands import Commands
from yourcall.channels.chat.draft import (
    ALL,
    Press,
    answer_of,
    as_shown,
    offer_key,
    paged,
    pressed,
    read_press,
    settles,
    written,
)
from yourcall.channels.chat.files import FORWARDED, ONLY_WORDS, kept
from yourcall.channels.chat.memory import Chat, Placed, Undone
from yourcall.channels.chat.progress import BEGINNING, Progress
from yourcall.channels.chat.sessions import speak
from yourcall.channels.chat.tap_timing import AWAY, CHANGED
from yourcall.channels.chat.text import SENDING, Span, clean
from yourcall.channels.chat.wire import Attached, ButtonTap, Id, IncomingMessage, News, RepliedTo
from yourcall.channels.context import ChannelContext
from yourcall.core.prompt_version import digest_of
from yourcall.core.redact import masked
from yourcall.core.safety import too_late
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict

if TYPE_CHECKING:
    from yourcall.channels.chat.channel import ChatChannel

log = logging.getLogger(__name__)

# An instruction that lay unread for longer may not hold any more: its giver is asked again.
STALE_S = 900.0

# Strangers who were told once that this bot is private are not told again.
MOST_STRANGERS = 1000


FAILED = "Something went wrong here, and it is not known whether this was done. Look, and do it again if not."
RESTARTED = "I was restarted in the middle of this, and did not do it again. Say it again if it was not done."


class Listener:
    def __init__(self, channel: ChatChannel, desk: ChannelContext) -> None:
        self._channel = channel
        self._desk = desk
        self._book = channel.book
        self._strangers: set[Id] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self.progress = Progress(channel, desk)
        self._commands = Commands(channel, desk, self.progress)

    async def run(self) -> None:
        if not self._channel.account:
            log.error("%s: %s", self._channel.name, self._channel.deaf)
            await asyncio.Event().wait()
        await self._book.belongs_to(self._channel.account)
        try:
            if self._channel.progress:
                self._spawn(self.progress.run())
            await self._book.tidy()
            await self._own_up()
            await self._channel.read(self._do, self._failed)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _own_up(self) -> None:
        """What was begun and not finished when we were stopped is told, never done again."""
        for undone in await self._book.take_undone():
            chat = self._book.chat(undone.chat)
            if chat is not None:
                self._tell(chat, undone.message_id, undone.thread, RESTARTED)

    async def _begin(
        self, number: Id, chat: Chat, message_id: Id, thread: Id, work: Coroutine[Any, Any, object]
    ) -> None:
        """Work that takes its time: the next update does not wait for it."""

        async def whole() -> None:
            try:
                await work
            except Exception:
                self._tell(chat, message_id, thread, FAILED)
                await self._book.put_undone(number, None)
                raise
            await self._book.put_undone(number, None)

        await self._book.put_undone(number, Undone(chat.id, message_id, thread))
        self._spawn(whole())

    # --- reading -------------------------------------------------------------------------------------------------

    async def _do(self, news: News) -> None:
        if isinstance(news, ButtonTap):
            await self._tap(news)
        else:
            # A tap done twice is one answer, by its id. An instruction done twice is two.
            begun = self._book.doing() == news.number
            await self._book.put_doing(news.number)
            await self._hear(news, begun)

    def _failed(self, news: News) -> None:
        """Whoever is heard here is told: it said that it is being sent."""
        chat = self._book.chat(news.place.id) if news.place else None
        if chat is not None and self._book.sender(news.sender.id):
            self._tell(chat, news.message, news.thread, FAILED)

    # --- taps ----------------------------------------------------------------------------------------------------

    async def _tap(self, tapped: ButtonTap) -> None:
        number, message_id = tapped.number, tapped.message
        chat = self._book.chat(tapped.place.id) if tapped.place else None
        by = self._book.sender(tapped.sender.id)
        if chat is None or by is None:
            self._toast(tapped, "You are not paired with this bot.", alert=True)
            return
        press, still = read_press(tapped.data), self._channel.still
        hasty = still.hasty(chat.id, tapped.sender.id, press, number)
        prompt_id = self._book.prompt_of(press.prompt) if press else None
        if press is None or prompt_id is None:
            self._toast(tapped, "This button is too old. Look for a newer message.", alert=True)
            return
        if prompt_id.startswith("test-"):
            self._toast(tapped, "This was a test, and it works.")
            self._desk.tried(prompt_id)
            return
        row = self._desk.loop.store.prompt(prompt_id)
        late = too_late(row) if row else Verdict("too_late", "this is over")
        if row is None or late is not None:
            self._toast(tapped, _sentence(late.detail if late else ""), alert=True)
            if row is not None:
                self._spawn(self._channel.catch_up(chat, message_id, row))
            return
        if not self._channel.seal(chat).fits(press):
            self._toast(tapped, "This button is too old. Look at the message again.", alert=True)
            self._show(chat, message_id, row)
            return
        if offer_key(digest_of(row)) != press.offer:
            self._toast(tapped, "What is asked has changed since. Read it again.", alert=True)
            async with self._channel.sending(chat):  # what is being sent may be this very message
                self._channel.renew(chat, message_id, row)
            await self._book.drop_draft(chat.id, row.id)
            self._show(chat, message_id, row)
            return
        if still.face(chat.id, message_id) is None:
            async with self._channel.sending(chat):
                pass  # it is being sent, and then known since when it stands; or its sending was never heard of
        early = still.too_early(chat.id, message_id, press) or hasty
        if early:
            self._toast(tapped, early)
            if early == AWAY:  # a toast for a tap of long ago is shown to nobody
                self._tell(chat, message_id, 0, AWAY)
            elif early == CHANGED:
                self._show(chat, message_id, row)
            return
        await self._pressed(number, tapped, chat, message_id, row, press, by)

    async def _pressed(
        self, number: Id, tapped: ButtonTap, chat: Chat, message_id: Id, row: Prompt, press: Press, by: str
    ) -> None:
        draft = self._book.draft(chat.id, row.id, press.offer)
        if not as_shown(draft, press):
            self._toast(tapped, "What is chosen has changed since. Read it again.", alert=True)
            self._show(chat, message_id, row)
            return
        if not settles(row, press):
            after = pressed(row, draft, press)
            self._toast(tapped, "" if after else "This button is too old.")
            if after is not None and after != draft:
                await self._book.put_draft(chat.id, row.id, after, press.offer)
                self._show(chat, message_id, row)
            return
        choices, texts, sure = answer_of(row, draft, press)
        body = self._desk.loop.store.body(row.request) if row.request else None
        why = unconfirmed(row, body, choices)
        if why and not sure:
            self._toast(tapped, f"{why} Tap again to confirm.")
            asked = replace(draft, sure_of=ALL if press.verb == "s" else press.what)
            await self._book.put_draft(chat.id, row.id, asked, press.offer)
            self._show(chat, message_id, row)
            return
        self._toast(tapped, SENDING)
        if sure:  # said for this once: if it comes back, all is asked anew
            await self._book.put_draft(chat.id, row.id, replace(draft, sure_of=""), press.offer)
        await self._answer(number, chat, message_id, row, by, choices, texts, sure)

    async def _answer(
        self,
        number: Id,
        chat: Chat,
        message_id: Id,
        row: Prompt,
        by: str,
        choices: dict[str, tuple[str, ...]],
        texts: dict[str, str],
        sure: bool = False,
        thread: Id = 0,
    ) -> None:
        name = self._channel.name  # two bots may count alike
        answer = Answer(
            f"{name}{number}-{row.id}"[:64], by, name, choices, texts, sure=sure, author_certainty="chat account"
        )
        goes_on = row.kind in ("ready", "problem")
        mark = await self.progress.mark(row.session_id) if goes_on else BEGINNING
        now = self._desk.loop.prompt(row.id)  # what is on disk may have been asked before
        if now is not None and now.questions != row.questions:
            self._tell(chat, message_id, thread, "Not sent: what is asked has changed since. Read it again.")
            return
        verdict, _ = await self._desk.loop.answer(row.id, answer, 0)
        if verdict.result in ("refused", "too_late", "unsure"):
            # It may repeat the agent's own words.
            why = "" if self._channel.world.titles_only else masked(verdict.detail)
            self._tell(chat, message_id, thread, "Not sent: ", why or "it was refused")
        elif goes_on:
            await self.progress.follow(chat, row.session_id, thread, mark)

    # --- words ---------------------------------------------------------------------------------------------------

    async def _hear(self, message: IncomingMessage, begun: bool) -> None:
        number, where = message.number, message.place
        command, _, rest = message.text.partition(" ") if message.text.startswith("/") else ("", "", "")
        command = command.split("\n")[0].removeprefix("/")
        chat, by = self._book.chat(where.id), self._book.sender(message.sender.id)
        if command in ("pair", "start") and (chat is None or by is None):
            await self._pair(message, rest.strip())
            return
        if command == "invite" and chat is None and by is not None and where.private:
            chat = Chat(where.id)  # paired in a group: a code is only given in private
            work = self._commands.run(command, "", chat, by, message.message, 0)
            await self._begin(number, chat, message.message, 0, work)
            return
        if chat is None or by is None:
            await self._stranger(message)
            return
        chat = await self._channel.note_place(chat, where, message.sender)
        # In a group people speak to each other, too; and in a topic, all of it is a reply to the topic's first.
        replied = message.reply_to
        ours = chat.private or (replied is not None and await self._replied(chat, replied) is not None)
        if not ours and not command:
            return
        if message.forwarded:
            self._tell(chat, message.message, message.thread, FORWARDED)
            return
        if message.file is None and not message.text:
            if message.unreadable:
                self._tell(chat, message.message, message.thread, ONLY_WORDS)
            return
        if begun:
            self._tell(chat, message.message, message.thread, RESTARTED)
            return
        if self._channel.world.clock() - message.at > STALE_S:
            text = "This came while yourcall was away. Say it again if it still holds."
            self._tell(chat, message.message, message.thread, text)
            return
        if message.file is not None:
            work = self._with_file(message, message.file, chat, by)
            await self._begin(number, chat, message.message, message.thread, work)
            return
        await self._act(number, message, chat, by)

    async def _act(self, number: Id, message: IncomingMessage, chat: Chat, by: str) -> None:
        thread = message.thread
        name = message.text.partition(" ")[0] if message.text.startswith("/") else ""
        command = name.split("\n")[0].removeprefix("/")
        if command:
            text = message.text.removeprefix(name.split("\n")[0]).strip()
            # Starting a session takes a minute; taps must not wait for it.
            work = self._commands.run(command.lower(), text, chat, by, message.message, thread)
            await self._begin(number, chat, message.message, thread, work)
            return
        await self._words(number, message, chat, by)

    async def _with_file(self, message: IncomingMessage, file: Attached, chat: Chat, by: str) -> None:
        """A picture or a file, with its words: it is stored, and the agent is told where."""
        thread = message.thread
        if message.album and not message.text:
            self._tell(chat, message.message, thread, "Not taken: send further pictures one by one, with words.")
            return
        path = await kept(self._channel.fetch, self._desk.uploads, file)
        if isinstance(path, Refused):
            self._tell(chat, message.message, thread, "Not taken: ", path.reason)
            return
        text = f"{message.text}\n\nThe file for this:\n{path}".strip()
        # Another name: this work has the number itself, and what follows from it is another.
        await self._act(f"{message.number}f", replace(message, text=text), chat, by)

    async def _words(self, number: Id, message: IncomingMessage, chat: Chat, by: str) -> None:
        replied, thread = message.reply_to, message.thread
        placed = await self._replied(chat, replied) if replied else None
        if placed is None and chat.current and chat.private:
            placed = Placed(session=chat.current)
        if placed is None:
            if chat.private:
                hint = "Reply to a message of mine to answer it, or say /steer and what to do. All commands: /help"
                self._tell(chat, message.message, thread, hint)
            return
        if len(placed.prompts) > 1:
            hint = "Several sessions are in that message. Speak to one of them with /steer; /list shows them."
            self._tell(chat, message.message, thread, hint)
            return
        row = self._desk.loop.store.prompt(placed.prompts[0]) if placed.prompts else None
        if row is not None and row.state == "open" and replied is not None:
            await self._reply(number, message, replied.message, chat, by, row)
            return
        late = too_late(row) if row is not None and row.kind not in ("ready", "problem") else None
        if late is not None and replied is not None:
            # Meant for that prompt: typed to the agent, a yes would be an answer to something else.
            text = "Not sent (to speak to the session, say /steer): "
            self._tell(chat, message.message, thread, text, late.detail)
            return
        work = self._say_to(placed.session, message, chat, by, thread)
        await self._begin(number, chat, message.message, thread, work)

    async def _replied(self, chat: Chat, replied: RepliedTo) -> Placed | None:
        """What the message is about that is replied to; if its sending was never heard of, its buttons tell."""
        placed = self._book.placed(chat.id, replied.message)
        if placed is None:
            async with self._channel.sending(chat):
                placed = self._book.placed(chat.id, replied.message)
        press = next((found for data in replied.buttons if (found := read_press(data))), None)
        prompt_id = self._book.prompt_of(press.prompt) if press and placed is None else None
        return Placed((prompt_id,)) if prompt_id else placed

    async def _reply(
        self, number: Id, message: IncomingMessage, message_id: Id, chat: Chat, by: str, row: Prompt
    ) -> None:
        """Words to a prompt that waits: they answer it, or go along with the button that will be pressed."""
        thread = message.thread
        offer = offer_key(digest_of(row))
        draft = self._book.draft(chat.id, row.id, offer)
        after = written(row, draft, message.text) if row.answerable and row.questions else None
        if after is None:
            why = (
                "Text isn't accepted here: use the buttons."
                if row.answerable
                else "It can only be answered at the desk."
            )
            self._tell(chat, message.message, thread, why)
            return
        decides = any(o.effect not in ("choose", "reply") for q in row.questions for o in q.options)
        if len(row.questions) == 1 and not decides and not paged(row):
            texts = {row.questions[0].id: message.text}
            await self._answer(number, chat, message.message, row, by, {}, texts, thread=thread)
            return
        await self._book.put_draft(chat.id, row.id, after, offer)
        self._show(chat, message_id, row)
        text = "Saved. It is sent with the button you press." if decides else "Saved. Now go on, or press Submit."
        self._tell(chat, message_id, thread, text)

    async def _say_to(self, session_id: str, message: IncomingMessage, chat: Chat, by: str, thread: Id) -> None:
        mark = await self.progress.mark(session_id)
        verdict, session = await speak(self._desk, session_id, message.text, by, self._channel.name)
        if session is not None and verdict.result not in ("refused", "unsure"):
            await self.progress.follow(chat, session.id, thread, mark)
            return
        why = masked(verdict.detail) or "the session is not there"
        self._tell(chat, message.message, thread, "Not said: ", why)

    # --- pairing -------------------------------------------------------------------------------------------------

    async def _pair(self, message: IncomingMessage, code: str) -> None:
        if not code:
            await self._stranger(message)
            return
        where = message.place
        person = str(message.sender.id) if where.private else ""
        chat = Chat(where.id, clean(where.title)[:80], where.private, where.forum, person=person)
        name = " ".join(clean(message.sender.name).split())[:40] or "somebody"
        wrong = await self._book.pair(code, chat, message.sender.id, name)
        text = wrong or "Paired. What waits for you is told here from now on. All commands: /help"
        if wrong and self._book.tried_too_often(message.sender.id) and where.id in self._strangers:
            return  # it was said; whoever goes on guessing must not use up what the bot may send
        if wrong and len(self._strangers) < MOST_STRANGERS:
            self._strangers.add(where.id)
        self._tell(chat, message.message, message.thread, text)
        self._desk.wake()

    async def _stranger(self, message: IncomingMessage) -> None:
        """Told once, and only in private: a group's chatter is none of our business."""
        if not message.place.private or message.place.id in self._strangers:
            return
        if len(self._strangers) < MOST_STRANGERS:
            self._strangers.add(message.place.id)
            text = "This bot is private. If it is yours, send /pair and the code you were given at the machine."
            self._tell(Chat(message.place.id), message.message, 0, text)

    # --- small things --------------------------------------------------------------------------------------------

    def _tell(self, chat: Chat, reply_to: Id, thread: Id, text: str, theirs: str = "") -> None:
        """Our words to a person, and behind them somebody else's. Nothing waits for it."""
        self._spawn(self._channel.reply(chat, [Span(text), Span(theirs, "code")], reply_to, thread))

    def _toast(self, tapped: ButtonTap, text: str, alert: bool = False) -> None:
        """The button shows that it was heard at once. Whether that gets through decides nothing."""
        self._spawn(self._channel.toast(tapped, text[:200], alert))

    def _show(self, chat: Chat, message_id: Id, row: Prompt) -> None:
        notice = self._channel.notice_at(str(chat.id), message_id, row)
        self._spawn(self._channel.show(chat, message_id, notice))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: something failed: %s", self._channel.name, type(error).__name__)


def _sentence(wording: str) -> str:
    text = wording.strip() or "This is over"
    return f"{text[:1].upper()}{text[1:]}."
