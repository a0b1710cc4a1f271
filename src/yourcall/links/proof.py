"""Looking after a prompt: its transcript, its session file, its process, until nothing is left to learn.

Rule: looks and tells, never decides. The signs are the agent's own files, which nobody promised to keep: each is
used if it is there and says what we know how to read, and its absence means nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from yourcall.agents.sightings import CallResult, CallSeen
from yourcall.agents.spec import Agent
from yourcall.core.identity import since as came_to
from yourcall.core.identity import unsettled
from yourcall.links import processes
from yourcall.links.event_sink import EventSink
from yourcall.links.screen.ownership import from_screen
from yourcall.links.terminals import busy, unread_answer
from yourcall.links.transcripts import MOST_AT_ONCE, Tail, status_of
from yourcall.model.events import AnyEvent, CallBound, CallSettled, DialogClosed, DialogStillOpen, SessionEnded
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.system.tasks import Turnstile

log = logging.getLogger(__name__)

EAGER_S = 0.04  # while somebody waits for a verdict
CALM_S = 0.5  # while the agent waits for a person, or a command runs
LOST_FOR_S = 2.0  # its holder has just gone: perhaps because it was answered
EAGER_FOR_S = 20.0  # a verdict that took longer than this belongs to a long command
DIRECT_S = 0.1  # no call runs, and no model says its last word, in less time than this
IGNORED_S = 3.0  # a dialog that is still the same this long after the agent read our answer has not taken it
RECORD_S = 2.0  # a finished call is in the transcript about 0.2 s later; after this we go by the hook alone
LAST_LOOK_S = 0.3
ABSENT_S = 10.0  # a session that is not known for so long ended before its prompt was told of
AT_ONCE = 8  # a look takes 0.3 ms; 200 prompts that came together would look together
PRESSED_S = 1.0  # who pressed a key has told by then what became of it


def reached(prompt: Prompt) -> bool:
    """A hook told of it, and it is answered on its screen: its record is read all the same."""
    return prompt.link == "screen" and not from_screen(prompt)


def unplugged(prompt: Prompt) -> bool:
    """A plugin told of it, and cannot say any more how it ends: what is left is the agent's record."""
    return prompt.link == "plugin" and prompt.state == "open" and not prompt.answerable and bool(prompt.call_id)


def recorded(prompt: Prompt, agent: Agent | None) -> bool:
    """A plugin told of it, and the agent's record tells how it ends."""
    plugin = agent.plugin if agent is not None and prompt.link == "plugin" else None
    return plugin is not None and plugin.recorded and bool(prompt.call_id)


def _around(call: CallSeen, prompt: Prompt) -> bool:
    """A call that may have raised this prompt while it ran."""
    return bool(call.alike) and prompt.fingerprint.startswith(call.alike)


class PromptWatch:
    """One prompt under observation. `nudge()` makes it look now."""

    def __init__(
        self, teller: EventSink, agent: Agent, prompt_id: str, turnstile: Turnstile | None = None
    ) -> None:
        """`turnstile`: of a crowd of prompts that are looked after, a few look in each turn of the loop."""
        self._teller = teller
        self._turnstile = turnstile or Turnstile(AT_ONCE)
        self._agent = agent
        self._id = prompt_id
        self._wake = asyncio.Event()
        self._calls: dict[str, CallSeen] = {}
        self._results: dict[str, CallResult] = {}
        self._tail: Tail | None = None
        self._tail_path = ""
        self._waited_at = 0.0  # when it was last seen to wait
        self._gone_at = 0.0
        self._read_at = 0.0  # when the agent was first seen to have read the answer
        self._alone_since = 0.0
        self._finished_at: dict[str, float] = {}

    def nudge(self, finished_call: str = "") -> None:
        if finished_call:
            self._finished_at.setdefault(finished_call, time.time())
        self._wake.set()

    async def run(self) -> None:
        while prompt := await self._looked():
            try:
                async with asyncio.timeout(self._pace(prompt)):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _looked(self) -> Prompt | None:
        await self._turnstile.turn()
        try:
            return await self.look()
        except Exception:  # not the last look for that: nobody else would see how it ends
            log.exception("looking after %s failed", self._id)
            return self._prompt()

    async def look(self) -> Prompt | None:
        """One look; None when nothing is left to look for."""
        self._wake.clear()
        prompt = self._prompt()
        session = self._teller.state.sessions.get(prompt.session_id) if prompt else None
        if prompt is None:
            return None
        if session is None:
            if prompt.answerable:
                return None  # who holds it would say how it ends
            now = time.monotonic()
            self._alone_since = self._alone_since or now
            if now - self._alone_since < ABSENT_S:
                return prompt  # it may be going from one name to another
            await self._teller.post(SessionEnded(time.time(), prompt.session_id))
            return None
        self._alone_since = 0.0
        for event in self._look(prompt, session, time.time()):
            await self._teller.post(event)
        return prompt

    def _prompt(self) -> Prompt | None:
        prompt = self._teller.state.prompts.get(self._id)
        looked_after = prompt is not None and (
            prompt.link != "plugin" or unplugged(prompt) or recorded(prompt, self._agent)
        )
        return prompt if prompt is not None and looked_after and unsettled(prompt) else None

    def _pace(self, prompt: Prompt) -> float:
        if prompt.state == "open" and prompt.answerable:
            return CALM_S
        eager_for = LOST_FOR_S if prompt.state == "open" else EAGER_FOR_S
        return EAGER_S if time.time() - prompt.history[-1].at < eager_for else CALM_S

    def _look(self, prompt: Prompt, session: Session, now: float) -> list[AnyEvent]:
        self._read_transcript(session, prompt)
        bound = prompt.call_id or self._bind(prompt)
        events: list[AnyEvent] = []
        if bound and not prompt.call_id:
            events.append(CallBound(now, prompt.id, bound))
        settled = self._settled(prompt, bound, now)
        told = self._dialog(prompt, session, now)
        if settled:
            # A record may say too little to settle anything: the ends that others see are told behind it.
            return [*events, settled, *([told] if isinstance(told, DialogClosed | SessionEnded) else [])]
        return [*events, told] if told else events

    # --- the transcript: which call is meant, and how it was decided ----------------------------------------

    def _read_transcript(self, session: Session, prompt: Prompt) -> None:
        path = self._agent.transcript_of(session, prompt)
        if not path:
            return
        if self._tail is None or path != self._tail_path:
            # The call itself was written shortly before the dialog opened: begin a good way back.
            self._tail, self._tail_path = Tail(Path(path), MOST_AT_ONCE), path
        for line in self._tail.new_lines():
            for found in self._agent.read_line(line):
                # A session makes thousands of calls; only what may be ours is kept.
                if isinstance(found, CallSeen):
                    if found.fingerprint == prompt.fingerprint or _around(found, prompt):
                        self._calls[found.call_id] = found
                elif found.call_id in self._calls or found.call_id == prompt.call_id:
                    self._results[found.call_id] = found

    def _bind(self, prompt: Prompt) -> str:
        """The oldest call alike that no other prompt has, and that was not over before this prompt opened."""
        if not self._calls:
            return ""
        taken = {p.call_id for p in self._teller.state.of_session(prompt.session_id) if p.id != prompt.id}
        ends = {call_id: result.at for call_id, result in self._results.items()}
        calls = [
            call
            for call in self._calls.values()
            if call.call_id not in taken and ends.get(call.call_id, prompt.opened_at) >= prompt.opened_at
        ]
        for call in calls:
            if call.fingerprint == prompt.fingerprint:
                return call.call_id
        # A form names no call. Of several that may have raised it, the last one to end is the one whose end proves
        # that the form was answered.
        around = [call for call in calls if _around(call, prompt)]
        running = [call for call in around if call.call_id not in ends]
        if not running:
            return max(around, key=lambda call: ends[call.call_id]).call_id if around else ""
        return running[0].call_id if len(running) == 1 else ""

    def _settled(self, prompt: Prompt, call_id: str, now: float) -> CallSettled | DialogClosed | None:
        if result := self._results.get(call_id):
            if reached(prompt) and prompt.answer is not None and result.source == "desk":
                # The record calls our keys the desk's. Who pressed sees the dialog close, and has the first word.
                if prompt.state != "accepted" or now - came_to(prompt) < PRESSED_S:
                    return None
                result = replace(result, source="unknown")
            call_settled = self._agent.settled(prompt, result, now)
            # The call is over, so what it asked is; how it was answered is for another sign to say.
            return (
                DialogClosed(now, prompt.id, "busy")
                if call_settled is None and prompt.state == "open"
                else call_settled
            )
        finished_at = self._finished_at.get(call_id, now)
        if now - finished_at > RECORD_S:
            return CallSettled(now, prompt.id, "allowed", "unknown", "it ran")
        return None

    # --- the session file and the process: is the dialog still there? ---------------------------------------

    def _dialog(self, prompt: Prompt, session: Session, now: float) -> AnyEvent | None:
        # Behind a socket its process is only a window: the server tells of the session's end.
        window = any(link.kind == "socket" for link in session.links)
        alive = window or not processes.absent(session.pid, session.pid_started)
        if session.pid and not alive:
            # Its last lines may still be on their way to us: the transcript is read once more before this is said.
            self._gone_at = self._gone_at or now
            return (
                SessionEnded(now, session.id, "its process is gone") if now - self._gone_at > LAST_LOOK_S else None
            )
        if (
            prompt.answerable
            or prompt.state not in ("open", "sent", "unsure")
            or prompt.subagent
            or not self._alone(prompt)
        ):
            return None
        status = status_of(self._agent, session)
        if status is None:
            return None
        if status.status == "waiting":
            if prompt.state == "open":
                self._waited_at = now
                return None
            since = came_to(prompt)
            # Waiting since before we wrote: our answer did nothing. Waiting since later: that is the next dialog.
            if status.since < since:
                return self._ignored(prompt, session, now)
            return DialogClosed(now, prompt.id, "busy") if prompt.state == "sent" else None
        if status.status not in ("busy", "idle"):
            return None
        # Never seen open by us: the file's own clock tells whether it changed since the prompt came up.
        stale = prompt.state == "open" and not self._waited_at and status.since <= prompt.opened_at
        if stale or prompt.state == "unsure":
            return None
        if status.status == "busy":
            return DialogClosed(now, prompt.id, "busy")
        # The turn was stopped, or it went on and ended between two looks.
        direct = status.since <= self._waited_at + DIRECT_S
        return DialogClosed(now, prompt.id, "idle" if direct else "over")

    def _ignored(self, prompt: Prompt, session: Session, now: float) -> DialogStillOpen | None:
        """The dialog stands as it was before our answer. That means something only once the agent has read the
        answer: a stopped or starved one still takes it, however late."""
        if unread_answer(session.pid):
            self._read_at = 0.0
            return None
        if self._read_at < came_to(prompt):
            self._read_at = now
        waited = now - self._read_at > IGNORED_S
        return DialogStillOpen(now, prompt.id) if waited and not busy(session.pid) else None

    def _alone(self, prompt: Prompt) -> bool:
        """With a second open prompt in the session, its file does not tell which of the two it speaks of."""
        others = (p for p in self._teller.state.of_session(prompt.session_id) if p.id != prompt.id)
        return not any(p.state == "open" and not p.answerable for p in others)


class PromptWatches:
    """A watch for every prompt that is not settled; started and ended with it."""

    def __init__(self, teller: EventSink, agent_of: Callable[[str], Agent | None]) -> None:
        self._teller = teller
        self._agent_of = agent_of
        self._turnstile = Turnstile(AT_ONCE)
        self._running: dict[str, PromptWatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ensure(self, prompt: Prompt) -> None:
        agent = self._agent_of(prompt.agent)
        alone = not reached(prompt) and not unplugged(prompt) and not recorded(prompt, agent)
        if prompt.link != "hook" and alone:
            return  # the link that raised it looks after it; a call that was told has a record besides
        if prompt.id in self._running:
            self._running[prompt.id].nudge()
        elif agent is not None and unsettled(prompt):
            watch = self._running[prompt.id] = PromptWatch(self._teller, agent, prompt.id, self._turnstile)
            task = asyncio.create_task(self._run(prompt.id, watch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, prompt_id: str, watch: PromptWatch) -> None:
        try:
            await watch.run()
        finally:
            # With its last look: a moment later the prompt may be back, and would be left to one that has gone.
            self._running.pop(prompt_id, None)

    async def last_look(self, session_id: str) -> None:
        """A session says that it ends: what its record still tells is read before it is believed."""
        for prompt in self._teller.state.of_session(session_id):
            if watch := self._running.get(prompt.id):
                await watch.look()

    def watching(self, session_id: str) -> bool:
        return any(p.id in self._running for p in self._teller.state.of_session(session_id))

    def finished(self, session_id: str, call_id: str) -> None:
        """A hook says that a tool call is over: whoever waits for its record looks now."""
        for prompt in self._teller.state.of_session(session_id):
            if watch := self._running.get(prompt.id):
                watch.nudge(call_id)
