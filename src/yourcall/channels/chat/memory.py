"""What a chat channel remembers over restarts: who is paired, what messages are about, half-made answers.

Rule: a chat and a person are paired by a code that works once; whoever is not in this book is nobody. Codes are
kept as hashes.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourcall.channels.channel import Keep
from yourcall.channels.chat.draft import Draft, key_of
from yourcall.channels.chat.wire import Id

T = TypeVar("T")

# Letters that nobody mixes up; eight of them are 40 bits, and only so many may be tried in an hour.
LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
CODE_LETTERS = 8
MOST_TRIES = 30  # for each person
TRIES_S = 3600.0
MOST_GUESSERS = 1000  # of 40 bits; a thousand accounts with thirty tries each find nothing in a lifetime
INVITE_S = 600.0

# Messages that can still be replied to. An older one is a page of history.
MOST_MESSAGES = 1000
TIDY_EVERY = 200

# News by its number: more than a platform holds back, and tells again, for whoever was away a moment.
MOST_SEEN = 300


class Chat(Struct, frozen=True):
    """`mode`: the permission mode of sessions started from here; `current`: the session that plain words go to.
    `person`: whose private chat it is, where people and chats go by different ids."""

    id: Id
    title: str = ""
    private: bool = True
    forum: bool = False
    mode: str = ""
    current: str = ""
    person: str = ""

    @property
    def owner(self) -> str:
        return (self.person or str(self.id)) if self.private else ""


class Placed(Struct, frozen=True):
    """What one message is about. `back`: how many answers to it were told to have come back. `face`, `since`: what
    it looks like, and since when, in milliseconds."""

    prompts: tuple[str, ...] = ()
    session: str = ""
    notice: str = ""
    at: float = 0.0
    back: int = 0
    face: str = ""
    since: int = 0


class Undone(Struct, frozen=True):
    """A message that asked for something whose end is not known yet."""

    chat: Id
    message_id: Id
    thread: Id = 0


class _Begun(Struct, frozen=True):
    """A draft, and the offer it is about: what was chosen for other questions says nothing about these."""

    offer: str
    draft: Draft


class _Named(Struct, frozen=True):
    prompt: str
    at: float


class Invite(Struct, frozen=True):
    hash: str
    until: float


def new_code() -> str:
    picked = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
    return f"{picked[:4]}-{picked[4:]}"


def code_hash(code: str) -> str:
    plain = "".join(char for char in code.upper() if char.isalnum())
    return sha256(plain.encode()).hexdigest()


class Memory:
    def __init__(self, keep: Keep, clock: Callable[[], float], code: str) -> None:
        self._keep = keep
        self._clock = clock
        self._code = code_hash(code) if code.strip() else ""
        self._wrong: dict[Id, list[float]] = {}  # when each of them tried a wrong code
        self._placed = 0

    async def belongs_to(self, bot: str) -> None:
        """Update numbers, messages and chats are one bot's own: with another one the book begins anew."""
        known = self._read("bot", str)
        if known not in (None, bot):
            for name in self._keep.all():
                await self._keep.put(name, None)
        if known != bot:
            await self._write("bot", bot)

    # --- who is paired -------------------------------------------------------------------------------------------

    def chats(self) -> dict[str, Chat]:
        return self._read("chats", dict[str, Chat]) or {}

    def chat(self, target: Id) -> Chat | None:
        chats = self.chats()
        return chats.get(str(target)) or chats.get(str(self._id(f"moved:{target}")))

    def sender(self, user_id: Id) -> str | None:
        """The person's name, if paired."""
        return (self._read("senders", dict[str, str]) or {}).get(str(user_id))

    def people(self) -> dict[str, str]:
        return self._read("senders", dict[str, str]) or {}

    async def drop_person(self, person: str) -> None:
        """Not heard any more, nor told in private; nor let in by a code that may have been made for later."""
        await self._write("invites", [])
        await self._write("senders", {one: name for one, name in self.people().items() if one != person})
        chats = self.chats()
        kept = {target: chat for target, chat in chats.items() if chat.owner != person}
        if len(kept) < len(chats):
            await self._write("chats", kept)

    async def pair(self, code: str, chat: Chat, user_id: Id, name: str) -> str:
        """Empty if it worked; else why not."""
        now = self._clock()
        if self.tried_too_often(user_id):
            return "Too many wrong codes were tried. Wait an hour."
        text, used = code_hash(code), self._read("used", list[str]) or []
        invites = [one for one in self._read("invites", list[Invite]) or [] if one.until > now]
        known = [*(one.hash for one in invites), *([self._code] if self._code else [])]
        if not any(hmac.compare_digest(text, each) for each in known) or text in used:
            self._count_wrong(user_id, now)
            return "This code is wrong, or was used before. A new one comes from /invite in a paired chat."
        # Used up first: a restart in between costs a new code, never lets two in.
        await self._write("used", [*used, text][-200:])
        invites = self._read("invites", list[Invite]) or []  # one may have been made meanwhile
        await self._write("invites", [one for one in invites if one.hash != text and one.until > now])
        senders = self._read("senders", dict[str, str]) or {}
        await self._write("senders", {**senders, str(user_id): name})
        await self.put_chat(self.chat(chat.id) or chat)
        return ""

    def tried_too_often(self, user_id: Id) -> bool:
        """Each for itself: a stranger who guesses must not keep out whoever has the right code."""
        lately = [at for at in self._wrong.get(user_id, ()) if at > self._clock() - TRIES_S]
        return len(lately) >= MOST_TRIES

    def _count_wrong(self, user_id: Id, now: float) -> None:
        if len(self._wrong) >= MOST_GUESSERS:
            self._wrong.pop(next(iter(self._wrong)))
        before = self._wrong.pop(user_id, [])
        self._wrong[user_id] = [*before, now][-MOST_TRIES:]

    async def invite(self) -> str:
        code = new_code()
        now = self._clock()
        live = [one for one in self._read("invites", list[Invite]) or [] if one.until > now]
        await self._write("invites", [*live, Invite(code_hash(code), now + INVITE_S)][-10:])
        return code

    async def put_chat(self, chat: Chat) -> None:
        await self._write("chats", {**self.chats(), str(chat.id): chat})

    async def drop_chat(self, target: str, person: bool = False) -> None:
        """The chat goes; with `person`, whoever it is a private one with goes too."""
        chats = self.chats()
        gone = chats.pop(target, None)
        await self._write("chats", chats)
        if gone is not None and gone.private and person:
            senders = self._read("senders", dict[str, str]) or {}
            senders.pop(gone.owner, None)
            await self._write("senders", senders)

    async def move_chat(self, target: str, to: Id) -> None:
        """A group that became a supergroup has another id."""
        chats = self.chats()
        old = chats.pop(target, None)
        if old is not None:
            chats[str(to)] = replace(old, id=to)
            await self._write("chats", chats)
            await self._write(f"moved:{target}", to)

    # --- what each message is about ------------------------------------------------------------------------------

    def seal_key(self) -> bytes:
        """What buttons are sealed with; empty before the first message."""
        return self._keep.get("seal") or b""

    async def name_prompt(self, prompt_id: str) -> None:
        """Written before a message goes out: a button may be pressed before we hear that it was sent."""
        if not self.seal_key():
            await self._keep.put("seal", secrets.token_hex(16).encode())
        if self.prompt_of(key_of(prompt_id)) is None:
            await self._write(f"k:{key_of(prompt_id)}", _Named(prompt_id, self._clock()))

    def prompt_of(self, key: str) -> str | None:
        named = self._read(f"k:{key}", _Named)
        return named.prompt if named else None

    async def place(self, chat: str, message_id: Id, placed: Placed) -> None:
        await self._write(f"m:{chat}:{message_id}", replace(placed, at=self._clock()))
        self._placed += 1
        if self._placed % TIDY_EVERY == 0:
            await self.tidy()

    def placed(self, chat: Id, message_id: Id) -> Placed | None:
        return self._read(f"m:{chat}:{message_id}", Placed)

    def draft(self, chat: Id, prompt_id: str, offer: str) -> Draft:
        begun = self._read(f"d:{key_of(prompt_id)}:{chat}", _Begun)
        return begun.draft if begun is not None and begun.offer == offer else Draft()

    async def put_draft(self, chat: Id, prompt_id: str, draft: Draft, offer: str) -> None:
        await self._write(f"d:{key_of(prompt_id)}:{chat}", _Begun(offer, draft))

    async def drop_draft(self, chat: Id, prompt_id: str) -> None:
        name = f"d:{key_of(prompt_id)}:{chat}"
        if self._keep.get(name) is not None:
            await self._keep.put(name, None)

    async def tidy(self) -> None:
        """The oldest messages are forgotten, so that the book stays small."""
        for prefix, kind in (("m:", Placed), ("k:", _Named)):
            found = [(name, self._read(name, kind)) for name in self._keep.all() if name.startswith(prefix)]
            found.sort(key=lambda pair: pair[1].at if pair[1] else 0.0)
            for name, _ in found[:-MOST_MESSAGES]:
                await self._keep.put(name, None)

    async def put_undone(self, number: Id, undone: Undone | None) -> None:
        await self._keep.put(f"u:{number}", msgspec.json.encode(undone) if undone else None)

    def doing(self) -> Id | None:
        """The piece of news that was read last."""
        return self._id("doing")

    async def put_doing(self, number: Id) -> None:
        await self._write("doing", number)

    async def take_undone(self) -> list[Undone]:
        names = [name for name in self._keep.all() if name.startswith("u:")]
        found = [self._read(name, Undone) for name in names]
        for name in names:
            await self._keep.put(name, None)
        return [each for each in found if each is not None]

    def seen(self, number: Id) -> bool:
        """Whether this piece of news was handled before: platforms that push tell some of it twice."""
        return str(number) in self.all_seen()

    def all_seen(self) -> list[str]:
        return self._read("seen", list[str]) or []

    async def put_seen(self, number: Id) -> None:
        await self._write("seen", [*self.all_seen(), str(number)][-MOST_SEEN:])

    # --- small facts ---------------------------------------------------------------------------------------------

    def number(self, name: str) -> int:
        return self._read(name, int) or 0

    async def put_number(self, name: str, value: int | None) -> None:
        await self._keep.put(name, None if value is None else str(value).encode())

    def _id(self, name: str) -> Id | None:
        data = self._keep.get(name)
        try:
            return msgspec.json.decode(data, type=int | str) if data else None
        except msgspec.DecodeError:
            return None

    def _read(self, name: str, kind: type[T]) -> T | None:
        data = self._keep.get(name)
        try:
            return msgspec.json.decode(data, type=kind) if data else None
        except msgspec.DecodeError:
            return None

    async def _write(self, name: str, value: object) -> None:
        await self._keep.put(name, msgspec.json.encode(value))
