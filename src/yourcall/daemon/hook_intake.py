"""Takes the calls of agents' hooks: what each one means is posted in order, and its request is held if it may be.

Rule: it decides nothing that the core could decide. The calls of one process stay in the order in which they came.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from yourcall.agents.endings import ended, nudged
from yourcall.agents.registry import AGENTS
from yourcall.agents.sightings import HookCall, HookResult
from yourcall.agents.spec import Agent
from yourcall.daemon.config import Config
from yourcall.daemon.events import Events
from yourcall.daemon.loop import Loop, to_its_end
from yourcall.links import processes, session_ids
from yourcall.links.agent_processes.ties import Ties
from yourcall.links.hooks import Hooks
from yourcall.links.proof import PromptWatches
from yourcall.links.screen.announced_calls import AnnouncedCalls
from yourcall.links.screen.send_text import TextSender
from yourcall.links.screen.watcher import ScreenWatcher
from yourcall.links.stdio.launch import OWNED
from yourcall.links.stdio.sessions import StdioSessions
from yourcall.model.events import AnyEvent, HolderLost, PromptRaised, SessionEnded, SessionSeen
from yourcall.model.prompts import Prompt, Refused
from yourcall.model.sessions import Session

log = logging.getLogger(__name__)

# A hook's payload that is longer than this is read on another thread; one of this size takes a few milliseconds.
LARGE_PAYLOAD = 64 * 1024


class HookIntake:
    """`hooks`: the socket that the calls come by, and that answers to held requests go out by."""

    def __init__(
        self,
        loop: Loop,
        events: Events,
        config: Config,
        *,
        watches: PromptWatches,
        ties: Ties,
        calls: AnnouncedCalls,
        screens: ScreenWatcher,
        speaker: TextSender,
        started: StdioSessions,
    ) -> None:
        self._loop, self._events, self._config = loop, events, config
        self._watches, self._ties = watches, ties
        self._calls, self._screens, self._speaker, self._started = calls, screens, speaker, started
        informing = frozenset(name for name, agent in AGENTS.items() if not agent.holds)
        self.hooks = Hooks(self, informing)
        self.barred: Callable[[], Refused | None] = lambda: None  # why no request may be held now
        # Who hears what a session was told, wherever that was said.
        self.spoken: Callable[[str, str], Awaitable[None]] | None = None
        # By the process of an agent whose large payload is being read: its later calls wait for that.
        self._reading: dict[str, asyncio.Lock] = {}
        self._readers: Counter[str] = Counter()

    async def post(self, event: AnyEvent) -> object:
        return await self._events.post(event)

    async def hook(self, agent: str, call: HookCall) -> bool:
        """A hook call came in; True if its request is to be held."""
        known = AGENTS.get(agent)
        if known is None:
            return False
        process = call.process
        large = len(call.payload) > LARGE_PAYLOAD
        if not large and process not in self._reading:
            return await self._told_by_hook(known, call, known.read_hook(call))
        lock = self._reading.setdefault(process, asyncio.Lock())
        self._readers[process] += 1
        try:
            async with lock:  # the calls of one process stay in the order in which they came
                result = await asyncio.to_thread(known.read_hook, call) if large else known.read_hook(call)
                return await self._told_by_hook(known, call, result)
        finally:
            self._readers[process] -= 1
            if not self._readers[process]:
                del self._readers[process], self._reading[process]

    async def _told_by_hook(self, known: Agent, call: HookCall, result: HookResult) -> bool:
        """What a hook call said, once it is read; True if its request is to be held."""
        if result.problem:
            log.warning("%s", result.problem)
        if call.event == "Rules":
            return await self._ruled(known, call, result)
        if self._owned(call, result):
            return False
        held, goes_by = False, ""
        for event in result.events:
            match event:
                case SessionSeen(session=session):
                    session = replace(session, pid_started=processes.started(session.pid))
                    if not result.begins and self._left(session):
                        return False
                    self._ties.claimed(session, call.callers)
                    goes_by = await self._seen(known, replace(event, session=session), result)
                case PromptRaised(prompt=prompt) if self._only_for_rules(call):
                    held = await self._before(event, result, insist=False)
                case PromptRaised(prompt=p) if p.link == "speech" and goes_by not in ("", p.session_id):
                    pass  # the end of a turn in a conversation that the session has left since
                case PromptRaised(prompt=prompt):
                    held = self._may_hold(prompt, call)
                    raised = replace(prompt, answerable=held, session_id=goes_by or prompt.session_id)
                    done = await self._events.post(replace(event, prompt=raised), result.bodies)
                    # A rule's answer goes through the hook even where a person's could not: nobody has to wait.
                    held = held or any(p.id == prompt.id and p.answerable for p in done.prompts)
                case SessionEnded(session_id=session_id):
                    if self._still_asks(session_id):
                        log.warning("the end of session %.40r is not believed: it waits for an answer", session_id)
                    elif self._is_process_of(session_id, call.process):
                        await self._watches.last_look(session_id)
                        await self._events.post(event)
                case _:
                    await self._events.post(event)
            if isinstance(event, SessionSeen):
                await self._aside(event.session.id, result)
        return held

    async def _ruled(self, agent: Agent, call: HookCall, result: HookResult) -> bool:
        """Asked before a tool runs; True if the rules say something to it. Only what was read can be let pass."""
        if result.problem:
            raise ValueError(result.problem)  # the hook is hung up on, and looks itself
        held = False
        for event in result.events:
            if isinstance(event, SessionSeen):
                session = replace(event.session, pid_started=processes.started(event.session.pid))
                if not self._left(session) and not self._owned(call, result):
                    self._ties.claimed(session, call.callers)
                    await self._seen(agent, replace(event, session=session), result)
            elif isinstance(event, PromptRaised):
                held = await self._before(event, result)
        return held

    def _owned(self, call: HookCall, result: HookResult) -> bool:
        """Is this the hook of a session that we started and speak with? We hear of that one without it."""
        seen = next((event.session for event in result.events if isinstance(event, SessionSeen)), None)
        ended = next((event.session_id for event in result.events if isinstance(event, SessionEnded)), "")
        pid = call.process
        return self._started.owns(call.env.get(OWNED, ""), seen.id if seen else ended, pid)

    async def _before(self, event: PromptRaised, result: HookResult, *, insist: bool = True) -> bool:
        """Asked before a tool runs: it becomes a prompt only if a rule answers it, and at once. Where the rules
        insist on a person, the agent is told to ask, and its request is a prompt of its own."""
        event, answer, why = self._events.by_rule(event, result.bodies)
        if answer is None:
            agent = AGENTS.get(event.prompt.agent)
            if not insist or not why or agent is None or agent.insist is None:
                return False
            self.hooks.deliver(event.prompt.id, "ask", agent.insist(why), strict=False)
            return True
        await to_its_end(self._events.taken(event, result.bodies, answer))
        return True

    async def _seen(self, agent: Agent, event: SessionSeen, result: HookResult) -> str:
        """A session spoke; the id its process goes by now, which may be another one than it spoke under."""
        session = event.session
        goes_by = session_ids.current(agent, self._loop.state, session, begins=result.begins)
        if goes_by != session.id:
            return goes_by
        before = session_ids.others(self._loop.state, session)
        await self._events.post(event)
        for other in before:
            await self._watches.last_look(other.id)
            await session_ids.follow(self._events, other, session.id, result.anew)
        return goes_by

    async def _aside(self, session_id: str, result: HookResult) -> None:
        """What a hook call tells besides: calls and pauses that are over, and reminders."""
        now = time.time()
        if result.turn:
            self._calls.new_turn(session_id, result.turn)
        if result.told is not None:
            await self._calls.heard(session_id, result.told)
            if result.told.asked:
                self._screens.hurry()
        if result.finished:
            self._watches.finished(session_id, result.finished)
        for ending in result.endings:
            self._speaker.heard(session_id, ending.said)
            if ending.said and self.spoken is not None:
                await self.spoken(session_id, ending.said)
            for event in ended(self._loop.state, ending, now):
                await self._events.post(event)
        if result.nudged:
            for event in nudged(self._loop.state, session_id, result.nudged, now):
                await self._events.post(event)

    async def agent_died(self, prompt_id: str) -> None:
        """Its holder says so. Another process may have taken the session up since (`--resume`): that one lives.

        Of an agent that never told its process only that much is sure: the request is not held any more.
        """
        prompt = self._loop.state.prompts.get(prompt_id)
        session = self._loop.state.sessions.get(prompt.session_id) if prompt else None
        if prompt is None:
            return
        if session is None:  # it ended while this was being told of it: nobody else would end it
            await self._events.post(SessionEnded(time.time(), prompt.session_id, "its process is gone"))
        elif not session.pid or (session.pid_started and not processes.gone(session.pid, session.pid_started)):
            await self._events.post(HolderLost(time.time(), prompt_id, "its hook has left"))
        else:
            await self._watches.last_look(session.id)
            await self._events.post(SessionEnded(time.time(), session.id, "its process is gone"))

    def _still_asks(self, session_id: str) -> bool:
        """Any program of the user's can run our hook and say that a session is over. While its process lives, and
        a hook of it holds a request, it is not; once the process is gone, the holder says so."""
        session = self._loop.state.sessions.get(session_id)
        alive = (
            session is not None and session.pid_started and not processes.gone(session.pid, session.pid_started)
        )
        return bool(alive) and any(
            prompt.answerable and prompt.link == "hook" for prompt in self._loop.state.of_session(session_id)
        )

    def _is_process_of(self, session_id: str, pid: str) -> bool:
        session = self._loop.state.sessions.get(session_id)
        return session is None or not session.pid or not pid or str(session.pid) == pid

    def _left(self, session: Session) -> bool:
        """A word from a process that is gone, about a session that is over: hooks are programs of their own, and
        what was said last may come in first."""
        if session.id in self._loop.state.sessions or not session.pid or session.pid_started:
            return False
        before = self._loop.store.session(session.id)
        return before is not None and before.pid == session.pid

    def _only_for_rules(self, call: HookCall) -> bool:
        """A request of a run that shows no dialog, while no person wants to be asked for those."""
        return "headless" in call.env and not self._config.holds_headless

    def _may_hold(self, prompt: Prompt, call: HookCall) -> bool:
        """Two kinds of request show no dialog while they are held: only while nobody is at the desk."""
        if self.barred() is not None:
            return False  # nobody could answer it through us: its own dialog is there
        if prompt.link == "speech":
            return self._speaker.reaches(prompt.session_id)
        if "headless" in call.env:
            return bool(prompt.questions)
        if (not prompt.subagent and prompt.kind != "elicitation") or AGENTS[prompt.agent].scripted:
            return True
        if not prompt.questions:
            return False  # nobody could answer it from afar, and at the desk it would not be seen
        try:
            return float(call.env.get("idle", "-1")) >= self._config.away_after_s
        except ValueError:
            return False
