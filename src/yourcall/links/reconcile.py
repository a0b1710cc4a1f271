"""Puts sessions and prompts right after we were away: at a start, after a suspend, after a stop of this process.

Rule: looks and tells. What an agent's own process, session file and transcript say now comes before what we heard
last; where they say nothing, nothing is told. That a turn goes on is never taken from a record: a turn that was
broken off may have left it so. A hook that was kept waiting while we slept is heard first.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.sightings import AgentStatus, TurnMark
from yourcall.agents.spec import Agent
from yourcall.core.identity import WENT_ON
from yourcall.core.step import PAUSES
from yourcall.links import processes, transcripts
from yourcall.links.event_sink import EventSink
from yourcall.links.screen.servers import pane_of
from yourcall.links.transcripts import Tail
from yourcall.model.conversation import STOPPED, AssistantText, Notice, UserMessage
from yourcall.model.events import AnyEvent, PromptRaised, PromptWithdrawn, SessionEnded, SessionSeen
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.system.peer import boot_seconds

log = logging.getLogger(__name__)

TICK_S = 1.0
LATE_S = 3.0  # a busy machine wakes us a second late; more than this was a suspend, or a stop
HOOKS_FIRST_S = 0.3  # what waited at our socket is heard within this
AGAIN_S = 0.25  # a prompt that was answered meanwhile is settled by its watch first
LOOKED_FOR_S = 5.0
GONE_EVERY_S = 5.0
UNCLEAR_S = 600.0  # how long a busy machine may keep a screen or a record from showing the end of a turn
SAME = 1_000  # letters of a last message by which two turns are told apart
SETTLED_S = 1.0  # an agent's words are followed by its call within a moment
QUIET_S = 0.7  # between the end of a command and the word of it in the record
CLOCK_S = 1.5  # when a process began is known to the second
LAST_WORDS = 256 * 1024  # of a transcript: where the last message of a turn is

# Whose link tells by itself how they stand.
TOLD_BY_LINK = frozenset({"stdio", "socket", "ask"})


class Reconcile:
    def __init__(
        self,
        teller: EventSink,
        agent_of: Callable[[str], Agent | None],
        watching: Callable[[str], bool],
        reaches: Callable[[str], bool],
        shown: Callable[[Session], Awaitable[str]],
        asked_at: Callable[[str], float],
    ) -> None:
        """`watching`: somebody looks at this session more closely, and tells of its end. `reaches`: can it be
        spoken to? `shown`: what its screen says that it is at; empty if it has none that can be looked at.
        `asked_at`: when its newest prompt was raised, closed or not; 0 if it had none."""
        self._teller = teller
        self._agent_of = agent_of
        self._watching = watching
        self._reaches = reaches
        self._shown = shown
        self._asked_at = asked_at
        self._were: dict[str, str] = {}  # how each session stood when we began to look
        self._quiet: dict[str, float] = {}  # since when nothing was seen to run in it
        self.looking = True  # what was missed while we were away is not known yet
        self._homeless: set[str] = set()  # prompts that were seen without their session
        self._unclear: set[str] = set()  # sessions whose last turn may have ended while we were away
        self._looked_at = 0.0

    async def run(self) -> None:
        """At once, and whenever we woke late; and now and then for those whose process is gone."""
        looked_at = 0.0
        await self._safely(self.look())
        woke_at = boot_seconds()  # the look itself takes its time
        while True:
            await asyncio.sleep(TICK_S)
            now = boot_seconds()
            late, woke_at = now - woke_at - TICK_S, now
            if late > LATE_S:
                log.info("woke %.0f s late: looking at every session anew", late)
                await self._safely(self.look())
                woke_at = boot_seconds()
            elif now - looked_at > GONE_EVERY_S:
                looked_at = now
                await self._safely(self.end_the_gone())
                await self._safely(self._look_again())

    async def _safely(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:  # the rest of yourcall does without; the next look may go well
            log.exception("looking at sessions anew failed")

    async def look(self) -> None:
        """Every session as it is now."""
        self.looking = True
        try:
            await self._look()
        finally:
            self.looking = False

    async def _look(self) -> None:
        await asyncio.sleep(HOOKS_FIRST_S)
        self._looked_at = time.time()
        self._were = {s.id: s.state for s in self._teller.state.sessions.values()}
        self._quiet.clear()
        await self.end_the_gone()
        self._unclear = set(self._teller.state.sessions)
        deadline = time.monotonic() + LOOKED_FOR_S
        while self._unclear and time.monotonic() < deadline:
            await self._put_right_unclear()
            await asyncio.sleep(AGAIN_S)
        log.info("looked at every session")

    async def _look_again(self) -> None:
        """At those that showed nothing yet, until something newer is known of them."""
        if time.time() - self._looked_at > UNCLEAR_S:
            self._unclear.clear()
        self._unclear = {each for each in self._unclear if self._asked_at(each) < self._looked_at}
        await self._put_right_unclear()

    async def _put_right_unclear(self) -> None:
        for session_id in list(self._unclear):
            if await self._put_right(session_id):
                self._unclear.discard(session_id)

    async def end_the_gone(self) -> None:
        state = self._teller.state
        for session in list(state.sessions.values()):
            await asyncio.sleep(0)  # a thousand sessions are looked at between people's requests, not before them
            if self._watching(session.id) or any(link.kind in TOLD_BY_LINK for link in session.links):
                continue
            if processes.absent(session.pid, session.pid_started):
                await self._teller.post(SessionEnded(time.time(), session.id, "its process is gone"))
        # A prompt without its session: a word of the session's that came after its end.
        homeless = {p.id for p in state.prompts.values() if p.session_id not in state.sessions and p.link != "ask"}
        for prompt_id in homeless & self._homeless:
            prompt = state.prompts.get(prompt_id)
            if prompt is not None and not (prompt.answerable and prompt.link == "hook"):
                await self._teller.post(SessionEnded(time.time(), prompt.session_id, "its process is gone"))
        self._homeless = homeless

    async def _put_right(self, session_id: str) -> bool:
        """True if there is no more to be learnt about it now."""
        session = self._teller.state.sessions.get(session_id)
        agent = self._agent_of(session.agent) if session is not None else None
        if session is None or agent is None or any(link.kind in TOLD_BY_LINK for link in session.links):
            return True
        status = await asyncio.to_thread(transcripts.status_of, agent, session)
        if status is None and agent.read_turn is not None:
            status = await self._from_record(agent, session, agent.read_turn)
            if status is None:
                return False
        if status is None:
            return True
        session = self._teller.state.sessions.get(session_id) or session
        prompts = self._teller.state.of_session(session_id)
        if any(p.kind not in PAUSES and p.state in ("open", "answering", "sent", "unsure") for p in prompts):
            return status.status == "waiting"  # its watch looks more closely, and has the first word
        for event in await self._events(agent, session, status):
            await self._teller.post(event)
        return True

    async def _from_record(
        self, agent: Agent, session: Session, read_turn: Callable[[bytes], TurnMark | None]
    ) -> AgentStatus | None:
        """How the turn ended, as the record says; None if it says nothing, or not yet enough."""
        if not any(link.kind == "hook" for link in session.links):
            return None  # nothing would tell when the next turn begins
        mark = await asyncio.to_thread(_last_mark, agent, session, read_turn)
        if mark is None or mark.state == "on":
            return None
        if mark.state == "said" and not await self._at_rest_since(session, mark.at):
            return None
        return AgentStatus(session.id, "stopped" if mark.state == "stopped" else "idle", mark.at)

    async def _at_rest_since(self, session: Session, at: float) -> bool:
        """Were these its last words? Its screen shows it; where there is none, nothing runs that began later."""
        if time.time() - at < SETTLED_S:
            return False
        text = await self._shown(session)
        if text:
            return text == "idle"
        if pane_of(session) is not None:
            return False
        if await asyncio.to_thread(_runs_something, session.pid, at):
            self._quiet[session.id] = math.inf  # those were not its last words, also when that has ended
        return time.monotonic() - self._quiet.setdefault(session.id, time.monotonic()) > QUIET_S

    async def _events(self, agent: Agent, session: Session, status: AgentStatus) -> list[AnyEvent]:
        now = time.time()
        open_pauses = [
            p for p in self._teller.state.of_session(session.id) if p.kind in PAUSES and p.state == "open"
        ]
        match status.status:
            case "busy":
                over = [p for p in open_pauses if p.opened_at < status.since]
                events: list[AnyEvent] = [PromptWithdrawn(now, p.id, WENT_ON) for p in over]
                if session.state != "working":
                    events.append(SessionSeen(now, replace(session, state="working", seen_at=now)))
                return events
            case "idle":
                return await self._at_rest(agent, session, status, open_pauses, now)
            case "stopped":
                over = [p for p in open_pauses if p.kind == "ready" and p.opened_at < status.since]
                known: list[AnyEvent] = [PromptWithdrawn(now, p.id, WENT_ON) for p in over]
                if session.state != "idle":
                    known.append(SessionSeen(now, replace(session, state="idle", seen_at=now)))
                return known
            case "waiting" if session.state != "waiting":
                return [SessionSeen(now, replace(session, state="waiting", seen_at=now))]
            case _:
                return []

    async def _at_rest(
        self, agent: Agent, session: Session, status: AgentStatus, pauses: list[Prompt], now: float
    ) -> list[AnyEvent]:
        """Its turn is over. If we heard neither of that nor of a later turn, it is ready now."""
        seen = replace(session, state="idle", seen_at=now)
        known: list[AnyEvent] = [SessionSeen(now, seen)] if session.state != "idle" else []
        if agent.rested is None:
            return known
        turn = await asyncio.to_thread(_last_turn, agent, session)
        prompts = [p for p in pauses if p.kind == "ready"]
        if turn.stopped_at:
            over = [p for p in prompts if p.opened_at < turn.stopped_at]
            return [*known, *(PromptWithdrawn(now, p.id, WENT_ON) for p in over)]
        # The agent's file may leave out a short turn; its record does not.
        since = max(status.since, turn.at)
        # Its screen may have been looked at before us; that tells of no prompt.
        missed = not pauses and (
            self._were.get(session.id, session.state) in ("working", "waiting") or self._unheard(session, turn.at)
        )
        older = any(p.opened_at < since for p in prompts)
        if not (missed or older):
            return known
        if older and any(p.body.startswith(turn.said[:SAME].strip()) for p in pauses):
            return known  # the turn that this prompt tells of
        prompt = agent.rested(seen, turn.said, since, now)
        if prompt is None:
            return known
        # There was a turn that we did not hear of.
        known += [PromptWithdrawn(now, p.id, WENT_ON) for p in prompts if p.opened_at < since]
        return [*known, PromptRaised(now, replace(prompt, answerable=self._reaches(session.id)))]

    def _unheard(self, session: Session, at: float) -> bool:
        """Did it say its last words after all that we know of it? It was at rest then, and it is now."""
        hooked = any(link.kind == "hook" for link in session.links)
        return hooked and at > max(session.seen_at, self._asked_at(session.id))


class LastTurn(Struct, frozen=True):
    """What the agent said last in its newest turn, and when; or when a person stopped that turn. 0: it did not."""

    said: str = ""
    at: float = 0.0
    stopped_at: float = 0.0


def _last_mark(agent: Agent, session: Session, read_turn: Callable[[bytes], TurnMark | None]) -> TurnMark | None:
    path = agent.conversation_of(session, "")
    lines = Tail(Path(path), LAST_WORDS).new_lines() if path else []
    return next((mark for line in reversed(lines) if (mark := read_turn(line)) is not None), None)


def _runs_something(pid: int, since: float) -> bool:
    """Has it started a program since, which still runs? Such as the command of a call."""
    started = (processes.one(each) for each in processes.below(pid) if each != pid)
    return any(each is not None and each.started_at > since - CLOCK_S for each in started)


def _last_turn(agent: Agent, session: Session) -> LastTurn:
    path = agent.conversation_of(session, "")
    turn = LastTurn()
    for line in Tail(Path(path), LAST_WORDS).new_lines() if path else ():
        for entry in agent.read_entry(line):
            if isinstance(entry, UserMessage) and not entry.text.startswith("/"):
                turn = LastTurn()  # a command of the program's own begins no turn
            elif isinstance(entry, AssistantText) and not entry.subagent:
                turn = LastTurn(entry.text, entry.at)
            elif isinstance(entry, Notice) and entry.text == STOPPED and not entry.subagent:
                turn = LastTurn(stopped_at=entry.at)
    return turn
