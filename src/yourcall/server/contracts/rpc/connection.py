"""One JSON-RPC connection: which sessions it watches, what it was shown, and what is told to it.

Rule: a client that cannot keep up is let go (4008), our memory never grows with its slowness; what is told about a
session follows from the same rows that everybody else is shown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from yourcall.agents.kit.text import clean
from yourcall.model.prompts import Prompt, Refused
from yourcall.model.sessions import TERMINALS, Session
from yourcall.server.auth import Caller
from yourcall.server.contracts.rpc.dialog import Dialog
from yourcall.server.contracts.rpc.views import Names, Standing, standing, stop_reason
from yourcall.server.contracts.rpc.wire import ClaudeLog, ClaudeMessage, Payload, PtyOutput, PtyStateChange, event
from yourcall.server.ports import (
    Mirror,
    Orders,
    PrivateTerminals,
    Prompts,
    Records,
    Reviews,
    Sender,
    Spawning,
    Ties,
    Workspaces,
)

log = logging.getLogger(__name__)

MOST_WATCHED = 100
QUEUE = 2_000
FOLLOW_S = 0.2  # how often a transcript is looked at: one `stat` if nothing was added
LAST_LOOKS = 5  # its last lines are written a little after it is known to have ended
LOOK_S = 5.0
BEGINS_S = 15.0  # a turn is seen to begin within a second or two of its instruction
BEFORE_TURNS = frozenset({"trust", "startup"})  # the first turn begins when these are answered
MOST_LOGGED = 2_000  # lines kept for a session whose start has not been replied to yet


class Tools(Struct, frozen=True):
    """What the methods work with. `quiet`: the sessions that were started as interactive ones."""

    desk: Prompts
    conversations: Records
    voice: Sender
    starting: Spawning
    mirror: Mirror | None
    workspaces: Workspaces
    quiet: set[str]
    private_terminals: PrivateTerminals | None = None
    ties: Ties | None = None
    orders: Orders | None = None
    reviews: Reviews | None = None
    names: Names = msgspec.field(default_factory=Names)


class WatchedSession:
    """One session on one connection. `place`: where its conversation was read to."""

    def __init__(self, session_id: str, place: tuple[int, str]) -> None:
        self.session_id = session_id
        self.place = place
        self.standing: Standing | None = None
        self.dialog: Dialog | None = None
        self.last_shown = ""  # the prompt that was shown last, and when
        self.shown_at = 0.0
        self.sudden = False  # it took the place of one that was not answered here
        self.answered_here = ""
        self.begins_by = 0.0  # until then a turn is expected to begin, if not 0; it was told at `told_at`
        self.told_at = 0.0
        self.starting = False  # it has asked something before its first turn
        self.tasks: list[asyncio.Task[None]] = []


class Connection:
    def __init__(self, tools: Tools, caller: Caller) -> None:
        self.tools, self.caller = tools, caller
        self.certainty = ""  # of the author of what is said here; set before anything is changed
        self._client = caller.device_id or caller.by
        self.out: asyncio.Queue[object] = asyncio.Queue(QUEUE)
        self.lagged = asyncio.Event()
        self.watched: dict[str, WatchedSession] = {}
        self.order: dict[str, asyncio.Lock] = {}  # what is typed into one session goes there in its order
        self._starting = 0
        self._logged: list[tuple[str, bytes]] = []
        tools.starting.listeners.add(self._heard)

    def close(self) -> None:
        self.tools.starting.listeners.discard(self._heard)
        for watched in list(self.watched.values()):
            self.unwatch(watched.session_id)

    def send(self, message: object) -> None:
        try:
            self.out.put_nowait(message)
        except asyncio.QueueFull:
            self.lagged.set()

    def emit(self, payload: Payload, at: float = 0.0) -> None:
        self.send(event(replace(payload, session_id=self.name_of(payload.session_id)), at or time.time()))

    # --- what sessions are called here ----------------------------------------------------------------------

    def call(self, name: str, session_id: str) -> None:
        """From now on, this client's name for the session is this one."""
        self.tools.names.give(self._client, name, session_id)

    def name_of(self, session_id: str) -> str:
        return self.tools.names.name_of(self._client, session_id)

    def id_of(self, name: str) -> str:
        return self.tools.names.id_of(self._client, name)

    # --- what is watched ------------------------------------------------------------------------------------

    def watch(
        self,
        session: Session,
        place: tuple[int, str],
        before: WatchedSession | None = None,
        *,
        begins: bool = False,
    ) -> None:
        """From now on, what happens in this session is told here; how it stands, at once. `before`: what was told
        of it under another id. `begins`: it was just given an instruction."""
        if session.id in self.watched:
            return
        watched = self.watched[session.id] = WatchedSession(session.id, place)
        if before is not None:
            watched.standing = before.standing
            watched.begins_by, watched.told_at = before.begins_by, before.told_at
            if before.starting:  # what its screen showed while it started was no turn yet
                watched.begins_by = time.monotonic() + BEGINS_S
            self._begin(watched, self._look_later(watched))
        if begins:
            self.expect_turn(watched)
        self.look(session.id)
        self._begin(watched, self._follow(watched))
        if session.id not in self.tools.quiet:
            has_pane = any(link.kind in TERMINALS for link in session.links)
            self._begin(watched, self._mirrored(watched) if has_pane else self._spoken(watched))

    def unwatch(self, session_id: str) -> None:
        watched = self.watched.pop(session_id, None)
        for task in watched.tasks if watched else ():
            task.cancel()

    def changed(self, prompt: Prompt | None, session: Session | None) -> None:
        """A row changed: whoever watches its session sees how that stands now."""
        session_id = prompt.session_id if prompt is not None else session.id if session is not None else ""
        if session is not None and session.goes_on_as and session_id in self.watched:
            self._follow_on(session)
        if session_id in self.watched:
            self.look(session_id)

    def look(self, session_id: str, *, again: bool = False) -> None:
        """Tell what is new about how a session stands. `again`: the same prompt is shown anew."""
        watched = self.watched[session_id]
        now = standing(
            self.tools.desk.store.session(session_id), self.tools.desk.store.live()[0], self.tools.desk.store
        )
        if watched.begins_by:
            now = self._begun(watched, now)
        before, watched.standing = watched.standing, now
        if now.prompt is None:
            watched.dialog = None
        elif again or watched.dialog is None or _other(watched.dialog.prompt, now.prompt):
            watched.dialog = Dialog(now.prompt)
            if watched.last_shown != now.prompt.id:
                watched.sudden = watched.last_shown not in ("", watched.answered_here)
                watched.last_shown, watched.shown_at = now.prompt.id, time.monotonic()
            self.show(watched)
        told = (now.state, now.waiting, now.prompt_type)
        if before is None or told != (before.state, before.waiting, before.prompt_type):
            self.emit(PtyStateChange(now.state, now.waiting, now.prompt_type, session_id))

    def expect_turn(self, watched: WatchedSession) -> None:
        """It was given an instruction. Until its turn is seen to begin, `idle` would say that it is finished."""
        watched.begins_by, watched.told_at = time.monotonic() + BEGINS_S, time.time()
        self._begin(watched, self._look_later(watched))

    async def _look_later(self, watched: WatchedSession) -> None:
        while (left := watched.begins_by - time.monotonic()) > 0:  # noqa: ASYNC110 - it may be put off meanwhile
            await asyncio.sleep(left)
        if self.watched.get(watched.session_id) is watched:
            self.look(watched.session_id)

    def _begun(self, watched: WatchedSession, now: Standing) -> Standing:
        if now.prompt is not None and now.prompt.kind in BEFORE_TURNS:
            watched.begins_by, watched.starting = time.monotonic() + BEGINS_S, True
            return now
        session = self.tools.desk.store.session(watched.session_id)
        if now.state == "thinking" and session is not None and session.state == "waiting":
            return now  # it was just answered
        ready = any(
            prompt.session_id == watched.session_id
            and prompt.opened_at > watched.told_at
            and prompt.kind not in BEFORE_TURNS
            for prompt in self.tools.desk.store.live()[0]
        )
        over = session is None or session.state == "ended" or ready or time.monotonic() > watched.begins_by
        if now.state != "idle" or over:
            watched.begins_by = 0.0
            return now
        return Standing("thinking")

    def show(self, watched: WatchedSession) -> None:
        if watched.dialog is not None:
            self.emit(watched.dialog.shown(self.tools.desk.store))

    def _follow_on(self, session: Session) -> None:
        after = self.tools.desk.store.session(session.goes_on_as)
        if after is not None:
            if session.id in self.tools.quiet:
                self.tools.quiet.add(after.id)
            self.tools.names.moved(self._client, session.id, after.id)
            watched_session = self.watched[session.id]
            self.unwatch(session.id)
            self.watch(after, (0, ""), watched_session)

    def _begin(self, watched: WatchedSession, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_complain)
        watched.tasks.append(task)

    # --- what is said there ---------------------------------------------------------------------------------

    async def _follow(self, watched: WatchedSession) -> None:
        """The messages of its conversation, as they are written, to a little after its end."""
        left = LAST_LOOKS
        while left:
            session = self.tools.desk.store.session(watched.session_id)
            if session is not None:
                after, file = watched.place
                messages = await self.tools.conversations.messages(session, after=after, file=file)
                if not isinstance(messages, Refused):
                    watched.place = (messages.end, messages.file)
                    for said in messages.found:
                        content = said.content
                        stop, compacts = stop_reason(said), said.is_context_compaction
                        message = ClaudeMessage(session.id, said.type, said.role, content, stop, compacts)
                        self.emit(message, said.at)
            left = left - 1 if session is None or session.state == "ended" else LAST_LOOKS
            await asyncio.sleep(FOLLOW_S)
        if self.watched.get(watched.session_id) is watched:
            self.unwatch(watched.session_id)

    async def _mirrored(self, watched: WatchedSession) -> None:
        """What its terminal shows, line by line as it changes."""
        seen, before = "", list[str]()
        while self.tools.mirror is not None:
            session = self.tools.desk.store.session(watched.session_id)
            if session is None or session.state == "ended":
                return
            frame = await self.tools.mirror.frame(session, seen, LOOK_S)
            if isinstance(frame, Refused):
                await asyncio.sleep(1.0)
                continue
            if frame.tag != seen:
                lines = frame.screen.split("\n")
                fresh = [line for at, line in enumerate(lines) if at >= len(before) or line != before[at]]
                seen, before = frame.tag, lines
                self._output(watched, "\n".join(clean("\n".join(fresh))), "\n".join(fresh))
            else:
                await asyncio.sleep(FOLLOW_S)

    async def _spoken(self, watched: WatchedSession) -> None:
        """What a session without a terminal is saying, before the message is whole."""
        before = ""
        while True:
            session = self.tools.desk.store.session(watched.session_id)
            now = self.tools.starting.speaking(session) if session is not None else None
            text = now.text if now is not None else ""
            fresh = text[len(before) :] if text.startswith(before) else text
            before = text
            self._output(watched, fresh, fresh)
            await asyncio.sleep(FOLLOW_S)

    def _output(self, watched: WatchedSession, plain: str, raw: str) -> None:
        if plain.strip() and watched.standing is not None:
            self.emit(PtyOutput(plain, raw, watched.standing.state, watched.session_id))

    # --- a started session's own lines ----------------------------------------------------------------------

    def begins(self) -> None:
        """A session is being started here: its lines come before its id does."""
        self._starting += 1

    def began(self) -> None:
        self._starting -= 1
        kept, self._logged = self._logged, []
        for session_id, line in kept:
            self._heard(session_id, line)

    def _heard(self, session_id: str, line: bytes) -> None:
        if session_id in self.watched and session_id not in self.tools.quiet:
            self.emit(ClaudeLog(session_id, line.decode("utf-8", "replace"), "stdout", _parsed(line)))
        elif self._starting and len(self._logged) < MOST_LOGGED:
            self._logged.append((session_id, line))


def _other(shown: Prompt, now: Prompt) -> bool:
    """Is it another prompt, or the same with other things to choose? Then what was typed meant something else."""
    return shown.id != now.id or shown.questions != now.questions


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("watching a session failed", exc_info=error)


def _parsed(line: bytes) -> Raw | None:
    try:
        msgspec.json.decode(line)
        line.decode()
    except (ValueError, RecursionError):
        return None
    return Raw(line)
