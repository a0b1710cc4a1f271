"""The commands that a paired person can give in a chat.

Rule: each says what became of it, and never more than is known; what a device may not do from afar is refused
where sessions are started, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourcall.agents.registry import CONNECTED, USUAL
from yourcall.agents.session_spec import StartOptions
from yourcall.channels.chat.memory import INVITE_S, Chat, Placed
from yourcall.channels.chat.progress import BEGINNING, Mark, Progress
from yourcall.channels.chat.sessions import find, find_ended, listed, name_of, resumable, run_of, speak
from yourcall.channels.chat.text import Span, short
from yourcall.channels.chat.wire import Id
from yourcall.channels.context import ChannelContext
from yourcall.channels.notice import WORDS
from yourcall.core.queue_order import in_order
from yourcall.core.redact import masked
from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Prompt, Refused, Verdict
from yourcall.model.sessions import Session

if TYPE_CHECKING:
    from yourcall.channels.chat.channel import ChatChannel

COMMANDS: dict[str, str] = {
    "list": "what runs, and what waits",
    "start": "[agent] folder, then what to do: start a session",
    "resume": "session, then what to do: go on with one that ended; alone it lists them",
    "steer": "session, then your words: speak to it",
    "queue": "session, then your words: for when its turn has ended; alone it lists; /queue drop 1, /queue go",
    "review": "agent, then your question: another agent's opinion; /review alone shows it, /review send",
    "interrupt": "session: stop its turn",
    "stop": "session: end one that was started from here",
    "mode": "mode for new sessions of this chat; or session and mode",
    "pause": "decide nothing by rule; /pause off ends it",
    "invite": "a code to pair another chat or person; in a private chat",
    "unpair": "forget this chat",
    "help": "this list",
}

MOST_LISTED = 20
MOST_RESUMED = 10

# One line of a list; more of them fit into a message then.
LONGEST_LINE = 120


LONGEST_REVIEW = 3_000
_SENT = [Span("Sent back: it is the next in its queue.")]


class Commands:
    def __init__(self, channel: ChatChannel, desk: ChannelContext, progress: Progress) -> None:
        self._channel = channel
        self._desk = desk
        self._progress = progress

    async def run(self, command: str, text: str, chat: Chat, by: str, message_id: Id, thread: Id) -> None:
        chat = self._channel.book.chat(chat.id) or chat
        match command:
            case "list":
                spans = self._list()
            case "start" if text:
                spans = await self._start(text, chat, thread)
            case "resume":
                spans = await self._resume(text, chat, thread)
            case "steer":
                spans = await self._steer(text, chat, by, thread)
            case "queue":
                spans = await self._queue(text, chat, by)
            case "review":
                spans = await self._review(text, chat, by)
            case "interrupt" | "stop":
                spans = await self._halt(command, text, chat)
            case "mode":
                spans = await self._mode(text, chat)
            case "pause":
                spans = self._pause(text, by)
            case "invite" if not chat.private:
                spans = [
                    Span(
                        "Ask me for it in a private chat: a code that is shown here lets anybody in who reads it."
                    )
                ]
            case "invite":
                code = await self._channel.book.invite()
                spans = [
                    Span(f"Within {INVITE_S / 60:.0f} minutes, and once:\n"),
                    Span(f"/pair {code}", "command"),
                ]
            case "unpair":
                await self._channel.book.drop_chat(str(chat.id), person=True)
                spans = [Span("Forgotten. Nothing is told here any more.")]
            case _:
                spans = [Span("\n".join(f"/{name}: {words}" for name, words in COMMANDS.items()))]
        told = await self._channel.reply(chat, spans, message_id, thread)
        current = (self._channel.book.chat(chat.id) or chat).current
        if told and current and command in ("start", "resume", "steer"):
            await self._channel.book.place(str(chat.id), told, Placed(session=current))

    def _list(self) -> list[Span]:
        alive = listed(self._desk)
        if not alive:
            return [Span("Nothing runs. To begin: /start folder, then what to do")]
        waiting: dict[str, Prompt] = {}  # by session, what blocks it most
        for prompt in in_order(self._desk.loop.store.live()[0]):
            if prompt.state == "open":
                waiting.setdefault(prompt.session_id, prompt)
        # A session keeps its number, wherever it stands in the list.
        numbered = {session.id: (number, session) for number, session in enumerate(alive, 1)}
        order = [
            *(each for each in waiting if each in numbered),
            *(each for each in numbered if each not in waiting),
        ]
        spans: list[Span] = []
        for number, session in (numbered[each] for each in order[:MOST_LISTED]):
            asked = waiting.get(session.id)
            text = ", ".join([session.state, *([session.permission_mode] if session.permission_mode else [])])
            spans += [Span(f"{number}. "), Span(name_of(session), "code"), Span(" · ")]
            spans += [
                Span(f"{session.agent}, {text}", "code"),
                Span(" · "),
                Span(session.id[:8], "code"),
                Span("\n"),
            ]
            if asked is not None:
                spans += [Span("   waits: "), Span(self._asked(asked), "code"), Span("\n")]
        if len(alive) > MOST_LISTED:
            spans.append(Span(f"and {len(alive) - MOST_LISTED} more"))
        return spans

    def _asked(self, prompt: Prompt) -> str:
        bare = self._channel.world.titles_only
        return WORDS[prompt.kind] if bare else short(masked(prompt.title), LONGEST_LINE)

    async def _start(self, text: str, chat: Chat, thread: Id) -> list[Span]:
        agent, rest = USUAL, text
        first, _, more = text.partition(" ")
        name = first.lower()  # a phone begins with a capital letter
        # A connected agent is meant as such even if it is not here: then that is said.
        if name in CONNECTED or (more and "/" not in name and name in await self._desk.starting.offers()):
            agent, rest = name, more.strip()
        # A folder on a line of its own may have spaces in it.
        line, _, below = rest.partition("\n")
        folder, what = (line.strip(), below.strip()) if below.strip() else _two(line)
        if not what:
            return [Span("Say where and what: "), Span("/start /home/me/shop fix the tests", "command")]
        options = StartOptions(self._folder(folder), what, chat.mode)
        return await self._begin(agent, options, chat, thread)

    def _folder(self, text: str) -> str:
        """A whole path, or the name of a project that runs."""
        if text.startswith("/"):
            return text
        places = {session.cwd for session in listed(self._desk) if name_of(session).lower() == text.lower()}
        return places.pop() if len(places) == 1 else text

    async def _resume(self, text: str, chat: Chat, thread: Id) -> list[Span]:
        word, what = _two(text)
        if not word:
            return self._ended_ones()
        if not what:
            return [Span("Say which and what: "), Span("/resume 1a2b3c4d go on", "command")]
        before = find_ended(self._desk, word)
        if isinstance(before, Refused):
            return [Span(before.reason, "command")]
        options = StartOptions(before.cwd, what, chat.mode, resume=before.id)
        return await self._begin(before.agent, options, chat, thread)

    def _ended_ones(self) -> list[Span]:
        over = resumable(self._desk, MOST_RESUMED)
        if not over:
            return [Span("No session has ended here yet.")]
        spans = [Span("To go on with one: "), Span("/resume 1 go on", "command"), Span("\n")]
        for number, session in enumerate(over, 1):
            ago = span_of(self._channel.world.clock() - session.seen_at)
            spans += [Span(f"{number}. "), Span(name_of(session), "code"), Span(" · ")]
            spans += [Span(f"{session.agent}, {ago} ago", "code"), Span(" · "), Span(session.id[:8], "code")]
            spans.append(Span("\n"))
        return spans

    async def _begin(self, agent: str, options: StartOptions, chat: Chat, thread: Id) -> list[Span]:
        mark = await self._progress.mark(options.resume) if options.resume else BEGINNING
        begun = await self._desk.starting.start(agent, options, remote=True)
        if isinstance(begun, Refused):
            return [Span("Not started: "), Span(begun.reason, "code")]
        await self._attend(chat, begun, thread, mark)
        return [Span("Started: "), Span(begun[:8], "code"), Span(" in "), Span(options.cwd, "code")]

    async def _steer(self, text: str, chat: Chat, by: str, thread: Id) -> list[Span]:
        word, what = _two(text)
        session = find(self._desk, word) if word else Refused("Say which and what: /steer 1 go on")
        if isinstance(session, Refused) or not what:
            current = run_of(self._desk, chat.current)
            if current is None or not text:
                return [
                    Span(session.reason if isinstance(session, Refused) else "Say what to do as well.", "command")
                ]
            session, what = current, text
        mark = await self._progress.mark(session.id)
        verdict, _ = await speak(self._desk, session.id, what, by, self._channel.name)
        if verdict.result in ("refused", "unsure", "too_late"):
            return _ended(verdict)
        await self._attend(chat, session.id, thread, mark)
        return _ended(verdict)

    async def _queue(self, text: str, chat: Chat, by: str) -> list[Span]:
        orders = self._desk.orders
        if orders is None:
            return [Span("There are no queues here.")]
        word, what = _two(text)
        current = run_of(self._desk, chat.current)
        if word in ("go", "drop") and (word == "go") == (not what):
            session = self._one("", chat)
            if isinstance(session, Refused):
                return [Span(session.reason, "command")]
            if word == "go":
                return _queued(await orders.resume(session.id))
            waiting = [each for each in orders.queue(session.id).orders if each.state == "waiting"]
            if not what.isdecimal() or not 0 < int(what[:4]) <= len(waiting):
                return [Span(f"{len(waiting)} wait there. To remove the first: /queue drop 1", "command")]
            return _queued(await orders.remove(session.id, waiting[int(what[:4]) - 1].id))
        session = find(self._desk, word) if word else self._one("", chat)
        if isinstance(session, Refused) and current is not None and current.state != "ended" and word:
            session, what = current, text
        if isinstance(session, Refused):
            return [Span(session.reason, "command")]
        if not what:
            return _queued(orders.queue(session.id))
        certainty = "chat account"
        return _queued(await orders.add(session, what, by, self._channel.name, certainty=certainty))

    async def _review(self, wording: str, chat: Chat, by: str) -> list[Span]:
        """Of the session that this chat speaks to."""
        reviews, session = self._desk.reviews, self._one("", chat)
        if reviews is None:
            return [Span("There are no reviews here.")]
        if isinstance(session, Refused):
            return [Span(session.reason, "command")]
        word, question = _two(wording)
        latest = next((r for r in reversed(reviews.of(session.id)) if r.session_id == session.id), None)
        if not word or word == "send":
            if latest is None:
                known = ", ".join(await reviews.reviewers()) or "none that is installed"
                return [Span("It was not reviewed. Who can: "), Span(known, "code")]
            if word == "send":
                done = await reviews.send_back(latest, question, by, self._channel.name, "", "chat account")
                return [Span("Not sent: "), Span(done.reason, "code")] if isinstance(done, Refused) else _SENT
            text = masked(await reviews.text_of(latest)) or latest.detail or "nothing yet"
            return [Span(f"{latest.reviewer}, {latest.state}: "), Span(short(text, LONGEST_REVIEW), "code")]
        begun = await reviews.start(session, word.lower(), by, self._channel.name, question=question, remote=True)
        if isinstance(begun, Refused):
            return [Span("Not started: "), Span(masked(begun.reason), "code")]
        return [Span(f"{begun.reviewer} reads it now. To see what it says: "), Span("/review", "command")]

    async def _attend(self, chat: Chat, session_id: str, thread: Id, mark: Mark) -> None:
        newest = self._channel.book.chat(chat.id)
        if newest is None:
            return  # it was unpaired while this was under way, and stays so
        await self._channel.book.put_chat(replace(newest, current=session_id))
        await self._progress.follow(chat, session_id, thread, mark)

    async def _halt(self, command: str, text: str, chat: Chat) -> list[Span]:
        session = self._one(text, chat)
        if isinstance(session, Refused):
            return [Span(session.reason, "command")]
        if command == "stop":
            return _ended(await self._desk.voice.stop(session))
        return _ended(await self._desk.voice.interrupt(session))

    def _one(self, text: str, chat: Chat) -> Session | Refused:
        """The session that is named; without a name the one this chat speaks to, or the only one."""
        if text:
            return find(self._desk, text)
        current = run_of(self._desk, chat.current)
        alive = listed(self._desk)
        if current is not None and current.state != "ended":
            return current
        return alive[0] if len(alive) == 1 else Refused("Say which: its number in /list.")

    async def _mode(self, text: str, chat: Chat) -> list[Span]:
        word, mode = _two(text)
        if mode:
            session = find(self._desk, word)
            if isinstance(session, Refused):
                return [Span(session.reason, "command")]
            return _ended(await self._desk.starting.change(session, "mode", mode, remote=True))
        if not word:
            return [Span("New sessions of this chat: "), Span(chat.mode or "as the configuration says", "code")]
        if not word.isalpha() or len(word) > 40:
            return [Span("That is no permission mode.")]
        kept = "" if word in ("off", "none") else word
        await self._channel.book.put_chat(replace(chat, mode=kept))
        return [Span("New sessions of this chat: "), Span(kept or "as the configuration says", "code")]

    def _pause(self, text: str, by: str) -> list[Span]:
        rules = self._desk.rules
        if rules is None:
            return [Span("There are no rules here.")]
        if text.lower() == "off":
            rules.desk().resume(by)
            return [Span("Rules decide again.")]
        rules.desk().pause(by)
        return [Span("Paused: nothing is decided by rule. To end it: /pause off")]


def _queued(done: OrderQueue | Refused) -> list[Span]:
    if isinstance(done, Refused):
        return [Span("Not done: "), Span(masked(done.reason), "code")]
    waiting = [each for each in done.orders if each.state == "waiting"]
    spans: list[Span] = []
    for number, order in enumerate(waiting[:MOST_LISTED], 1):
        spans += [Span(f"{number}. "), Span(short(masked(order.text), LONGEST_LINE), "code"), Span("\n")]
    if done.held:
        spans += [
            Span("Held: "),
            Span(masked(done.held), "code"),
            Span("\nTo let it go on: "),
            Span("/queue go", "command"),
        ]
    elif waiting:
        spans.append(Span("The first is given when its turn has ended well."))
    return spans or [Span("Nothing waits there.")]


def _two(text: str) -> tuple[str, str]:
    parts = text.split(maxsplit=1)
    return (parts[0] if parts else ""), (parts[1].strip() if len(parts) > 1 else "")


def _ended(verdict: Verdict) -> list[Span]:
    word = {"confirmed": "Done", "accepted": "Taken", "sent": "Sent", "taken": "On its way", "unsure": "Not sure"}
    spans = [Span(word.get(verdict.result, "Not done"))]
    return [*spans, Span(": "), Span(masked(verdict.detail), "code")] if verdict.detail else spans


def span_of(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return "a moment"
