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

from yourcall.agents.screens import clean
from yourcall.model import TERMINALS, Prompt, Refused, Session
from yourcall.server.auth import Caller
from yourcall.server.needs import Desk, Lodging, Mirror, Records, Spawning, Voice, Workspaces
from yourcall.server.rpc_dialog import Dialog
from yourcall.server.rpc_shown import Standing, standing
from yourcall.server.rpc_wire import ClaudeLog, ClaudeMessage, PtyOutput, PtyStateChange, event

log = logging.getLogger(__name__)

MOST_WATCHED = 100
QUEUE = 2_000
FOLLOW_S = 0.2  # how often a transcript is looked at: one `stat` if nothing was added
LAST_LOOKS = 5  # its last lines are written a little after it is known to have ended
LOOK_S = 5.0
MOST_LOGGED = 2_000  # lines kept for a session whose start has not been replied to yet


class Tools(Struct, frozen=True):
    """What the methods work with. `quiet`: the sessions that were started as interactive ones."""

    desk: Desk
    conversations: Records
    voice: Voice
    starting: Spawning
    mirror: Mirror | None
    workspaces: Workspaces
    quiet: set[str]
    lodging: Lodging | None = None


class Watched:
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
        self.tasks: list[asyncio.Task[None]] = []


class Line:
    def __init__(self, tools: Tools, caller: Caller) -> None:
        self.tools, self.caller = tools, caller
        self.out: asyncio.Queue[object] = asyncio.Queue(QUEUE)
        self.lagged = asyncio.Event()
        self.watched: dict[str, Watched] = {}
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

    def emit(self, payload: Struct, at: float = 0.0) -> None:
        self.send(event(payload, at or time.time()))

    # --- what is watched ------------------------------------------------------------------------------------

    def watch(self, session: Session, place: tuple[int, str]) -> None:
        """From now on, what happens in this session is told here; how it stands, at once."""
        if session.id in self.watched:
            return
        watched = self.watched[session.id] = Watched(session.id, place)
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
        now = standing(self.tools.desk.store.session(session_id), self.tools.desk.store.live()[0])
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

    def show(self, watched: Watched) -> None:
        if watched.dialog is not None:
            self.emit(watched.dialog.shown(self.tools.desk.store))

    def _follow_on(self, session: Session) -> None:
        after = self.tools.desk.store.session(session.goes_on_as)
        if after is not None:
            if session.id in self.tools.quiet:
                self.tools.quiet.add(after.id)
            self.unwatch(session.id)
            self.watch(after, (0, ""))

    def _begin(self, watched: Watched, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(_complain)
        watched.tasks.append(task)

    # --- what is said there ---------------------------------------------------------------------------------

    async def _follow(self, watched: Watched) -> None:
        """The messages of its conversation, as they are written, to a little after its end."""
        left = LAST_LOOKS
        while left:
            session = self.tools.desk.store.session(watched.session_id)
            if session is not None:
                after, file = watched.place
                found = await self.tools.conversations.messages(session, after=after, file=file)
                if not isinstance(found, Refused):
                    watched.place = (found.end, found.file)
                    for said in found.found:
                        content = said.content
                        stop, compacts = said.stop_reason, said.is_context_compaction
                        message = ClaudeMessage(session.id, said.type, said.role, content, stop, compacts)
                        self.emit(message, said.at)
            left = left - 1 if session is None or session.state == "ended" else LAST_LOOKS
            await asyncio.sleep(FOLLOW_S)
        if self.watched.get(watched.session_id) is watched:
            self.unwatch(watched.session_id)

    async def _mirrored(self, watched: Watched) -> None:
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

    async def _spoken(self, watched: Watched) -> None:
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

    def _output(self, watched: Watched, plain: str, raw: str) -> None:
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
