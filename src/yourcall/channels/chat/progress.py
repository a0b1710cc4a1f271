"""A running turn, shown in one message that is edited as it goes: what is done, and what is being said.

Rule: only sessions that were started or spoken to from a chat are shown there. One message for a turn, edited at
most every few seconds; a reply to it goes to the session. Its end is the agent's own, never guessed from silence.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.channel import Later, Unclear
from yourcall.channels.chat.memory import Chat, Placed
from yourcall.channels.chat.sessions import name_of, run_of
from yourcall.channels.chat.text import Message, Span, short
from yourcall.channels.chat.wire import Id
from yourcall.channels.context import ChannelContext
from yourcall.core.redact import masked
from yourcall.model.conversation import Action, AssistantText, Page, UserMessage
from yourcall.model.sessions import Session

if TYPE_CHECKING:
    from yourcall.channels.chat.channel import ChatChannel, Trouble

log = logging.getLogger(__name__)

# The strictest platform allows twenty messages a minute in a group, edits included; prompts need some of them.
EVERY_S = 4.0

MOST_ACTIONS = 8
LONGEST_SPEECH = 2400
LONGEST_ACTION = 140
PAGE = 60

# A session that says nothing and is not known to work for so long is not followed any more.
SILENT_S = 6 * 3600.0


# A place in a record, and the record's name; -1: not known.
Mark = tuple[int, str]

BEGINNING: Mark = (0, "")


class Follow(Struct, frozen=True):
    """`after`: where its record stood when the turn began; `begun`: it was seen working."""

    chat: Id
    session: str
    at: float
    thread: Id = 0
    message_id: Id = 0
    after: int = -1
    file: str = ""
    begun: bool = False


class Progress:
    def __init__(self, channel: ChatChannel, desk: ChannelContext) -> None:
        self._channel = channel
        self._desk = desk
        self._shown: dict[str, str] = {}
        self._last: dict[str, list[Span]] = {}

    async def mark(self, session_id: str) -> Mark:
        """Where its record stands; taken before anything is said to it, for a short turn is over at once."""
        session = run_of(self._desk, session_id) if self._channel.progress else None
        page = await self._page(session, None, "", 1) if session else None
        return (page.end, page.file) if page else (-1, "")

    async def follow(self, chat: Chat, session_id: str, thread: Id, mark: Mark) -> None:
        """Show what it does from this mark on, until its turn is over."""
        if not self._channel.progress or not session_id:
            return
        new = Follow(chat.id, session_id, self._channel.world.clock(), thread, 0, *mark)
        before = next((each for each in self._all() if self._name(each) == self._name(new)), None)
        session = run_of(self._desk, session_id)
        if before is not None and before.message_id and session is not None:
            said = self._last.get(self._name(new))
            if said is not None:
                spans = [Span("Went on below ", "bold"), Span(name_of(session), "code"), Span("\n"), *said]
                await self._channel.edit(chat, before.message_id, self._channel.compose(spans))
        await self._put(new)

    async def run(self) -> None:
        while True:
            for each in self._all():
                try:
                    await self._look(each)
                except Exception as error:
                    log.error("%s: a turn could not be shown: %s", self._channel.name, type(error).__name__)
                    with suppress(Exception):  # a busy disk, say; the other turns, and later ones, are still shown
                        await self._drop(each)
            await self._channel.world.sleep(self._channel.pace)

    async def _look(self, follow: Follow) -> None:
        chat, session = self._channel.book.chat(follow.chat), run_of(self._desk, follow.session)
        now = self._channel.world.clock()
        if chat is None or chat.id != follow.chat or session is None or now - follow.at > SILENT_S:
            await self._drop(follow)
            return
        works = session.state == "working"
        over = session.state == "ended" or (follow.begun and session.state == "idle") or self._ready(session)
        if over and not follow.begun and now - follow.at < self._channel.pace:
            return  # what it waits for may be what was just answered
        if works and not follow.begun:
            follow = replace(follow, begun=True)
            if self._still(follow):
                await self._put(follow)
        message = await self._message(follow, session, over, now)
        end = await self._show(follow, chat, message) if message is not None else None
        if isinstance(end, Later):
            await self._channel.world.sleep(end.after_s)
        elif isinstance(end, Unclear) and follow.message_id:
            pass  # editing it again does no harm
        elif over or end is not None:
            await self._drop(follow)

    def _ready(self, session: Session) -> bool:
        prompts, _ = self._desk.loop.store.live()
        return any(
            p.session_id == session.id and p.kind in ("ready", "problem") and p.state == "open" for p in prompts
        )

    async def _show(self, follow: Follow, chat: Chat, message: Message) -> Trouble | None:
        name = self._name(follow)
        if self._shown.get(name) == message.text:
            return None
        if follow.message_id:
            end = await self._channel.edit(chat, follow.message_id, message)
        else:
            end = await self._channel.say(chat, message, thread=follow.thread)
            if isinstance(end, int | str):
                await self._channel.book.place(str(chat.id), end, Placed(session=follow.session))
                if self._still(follow):
                    await self._put(replace(follow, message_id=end))
                end = None
        if end is None and self._still(follow):
            self._shown[name] = message.text
        return end

    async def _message(self, follow: Follow, session: Session, over: bool, now: float) -> Message | None:
        page = await self._page(session, follow.after if follow.after >= 0 else None, follow.file, PAGE)
        entries = page.entries if page else ()
        calls: dict[str, Action] = {}
        said = ""
        for entry in entries:
            if isinstance(entry, Action):
                known = calls.get(entry.call_id)
                calls[entry.call_id] = replace(entry, title=entry.title or (known.title if known else ""))
            elif isinstance(entry, AssistantText) and entry.text.strip():
                said = entry.text
            elif isinstance(entry, UserMessage) and follow.after < 0 and not entry.by:
                calls, said = {}, ""  # where we began is not known: the last instruction is a good place
        speaking = self._desk.starting.speaking(session) if not over else None
        said = (speaking.text if speaking else "") or said
        if not calls and not said and not over:
            return None
        word = "Turn over in " if over else "Working in "
        head = [Span(word, "bold"), Span(name_of(session), "code"), Span("\n")]
        if self._channel.world.titles_only:
            return self._channel.compose(head)
        spans: list[Span] = []
        lines = [_line(action) for action in list(calls.values())[-MOST_ACTIONS:]]
        if len(calls) > MOST_ACTIONS:
            lines.insert(0, f"… {len(calls) - MOST_ACTIONS} before")
        if lines:
            spans += [Span("\n".join(lines), "pre"), Span("\n")]
        if said:
            # Its end is what is new; what leads there was shown before.
            tail = masked(said)
            cut = tail if len(tail) <= LONGEST_SPEECH else "…" + tail[-LONGEST_SPEECH:]
            spans.append(Span(cut, "pre"))
        self._last[self._name(follow)] = spans
        return self._channel.compose([*head, *spans])

    async def _page(self, session: Session, after: int | None, file: str, limit: int) -> Page | None:
        if self._desk.records is None:
            return None
        page = await self._desk.records.page(session, "", before=None, after=after, file=file, limit=limit)
        return page if isinstance(page, Page) else None

    # --- what is followed ----------------------------------------------------------------------------------------

    def _all(self) -> list[Follow]:
        found = [data for name, data in self._channel.world.keep.all().items() if name.startswith("f:")]
        return [each for data in found if (each := _read(data)) is not None]

    def _name(self, follow: Follow) -> str:
        return f"f:{follow.session}:{follow.chat}"

    async def _put(self, follow: Follow) -> None:
        self._shown.pop(self._name(follow), None)
        await self._channel.world.keep.put(self._name(follow), msgspec.json.encode(follow))

    def _still(self, follow: Follow) -> bool:
        """Nobody has spoken to it since: a newer turn goes by the same name, and must not end with this one."""
        data = self._channel.world.keep.get(self._name(follow))
        known = _read(data) if data is not None else None
        return known is not None and known.at == follow.at

    async def _drop(self, follow: Follow) -> None:
        if not self._still(follow):
            return
        self._shown.pop(self._name(follow), None)
        self._last.pop(self._name(follow), None)
        await self._channel.world.keep.put(self._name(follow), None)


def _read(data: bytes) -> Follow | None:
    try:
        return msgspec.json.decode(data, type=Follow)
    except msgspec.DecodeError:
        return None  # of another version


def _line(action: Action) -> str:
    mark = "✗" if action.is_error else "✓" if action.phase == "completed" else "…"
    text = " ".join((action.title or action.detail or action.tool).split())
    return short(
        f"{mark} {action.tool}: {masked(text)}" if action.tool else f"{mark} {masked(text)}", LONGEST_ACTION
    )
