"""The loop and its links: what links see becomes events, and what the core wishes goes out by the right link.

Rule: it decides nothing that the core could decide; it knows which link carries what, and in which order a hook's
call is told.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

from msgspec.structs import replace

from yourcall.agents.acp.agent import ACP
from yourcall.agents.agent import Agent
from yourcall.agents.claude.agent import CLAUDE, DEMO
from yourcall.agents.claude.keys import CLAUDE_SCREEN
from yourcall.agents.codex.agent import CODEX
from yourcall.agents.codex.keys import CODEX_SCREEN
from yourcall.agents.endings import ended, nudged
from yourcall.agents.gemini.agent import GEMINI
from yourcall.agents.gemini.keys import GEMINI_SCREEN
from yourcall.agents.generic.agent import GENERIC
from yourcall.agents.generic.screen import GENERIC_SCREEN
from yourcall.agents.on_screen import OnScreen
from yourcall.agents.sightings import Heard, HookCall
from yourcall.config import Config
from yourcall.core import outline
from yourcall.core.identity import unsettled
from yourcall.core.state import State, Step
from yourcall.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnyCommand,
    AnyEvent,
    Deliver,
    HolderLost,
    PromptRaised,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.links import names, processes
from yourcall.links.acp import Records
from yourcall.links.asks import Asks
from yourcall.links.codex import CONTROL, CodexServers
from yourcall.links.codex import LINK as SOCKET
from yourcall.links.codex import homes as codex_homes
from yourcall.links.filling import Filling
from yourcall.links.hooks import Hooks
from yourcall.links.lodgers import Lodgers
from yourcall.links.presence import typed_at
from yourcall.links.pressing import Keyboard
from yourcall.links.runs import Runs
from yourcall.links.screens import Screens
from yourcall.links.servers import Servers
from yourcall.links.speak import Speaker
from yourcall.links.started import Policy, Started
from yourcall.links.told import Calls
from yourcall.links.watch import Watches
from yourcall.loop import Loop, to_its_end
from yourcall.model import Answer, Prompt, Refused, Session
from yourcall.rulebook.cover import Rules
from yourcall.sockets import short_folder
from yourcall.store.sqlite import Store

log = logging.getLogger(__name__)

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (CLAUDE, CODEX, GEMINI, GENERIC, *ACP, DEMO)}
SCREENS: dict[str, OnScreen] = {
    CLAUDE.name: CLAUDE_SCREEN,
    CODEX.name: CODEX_SCREEN,
    GEMINI.name: GEMINI_SCREEN,
    GENERIC.name: GENERIC_SCREEN,
}

SWEEP_S = 5.0


class Switchboard:
    """The loop with its links: hooks come in, answers go out, prompts are looked after."""

    def __init__(self, store: Store, config: Config, stop: Callable[[], None], home: Path | None = None) -> None:
        self.config = config
        self._home = home
        self.loop = Loop(store, self._perform, self._failed)
        self._stop = stop
        self.failed = False
        self.hooks = Hooks(self)
        self.watches = Watches(self, AGENTS.get)
        self.tmux = Servers()
        self.calls = Calls(self, lambda session_id: self.speaker.reaches(session_id))
        self.screens = Screens(self, self.tmux, SCREENS.get, self.calls)
        self.runs = Runs(self, self.tmux, self.screens, short_folder(home, "pty") if home else None, AGENTS.get)
        self.keyboard = Keyboard(self, self.tmux, self.screens, SCREENS.get)
        self.filling = Filling(self, self.tmux, self.screens, SCREENS.get)
        self.speaker = Speaker(self, self.tmux, self.screens, SCREENS.get)
        self.records = Records(store.path.parent / "acp")
        others = {CODEX.name: _codex_policy(config), **{agent.name: Policy() for agent in ACP}}
        self.started = Started(self, AGENTS, _policy(config), others, self.records)
        self.lodgers = Lodgers(self, self.screens, self.started, AGENTS.get, home)
        self.asks = Asks(self, store)
        self.codex = CodexServers(self, CODEX, self._codex_sockets, lambda session: typed_at(session, self.tmux))
        self.rules = Rules(
            store.path.parent, store, AGENTS.get, lambda: self.config.rules.per_minute, self._folder_of
        )
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def state(self) -> State:
        return self.loop.state

    def body(self, id: str, /) -> bytes | None:
        return self.loop.store.body(id)

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Step:
        """Take what a link tells, and do what follows from it."""
        return await to_its_end(self._post(event, bodies))

    async def _post(self, event: AnyEvent, bodies: dict[str, bytes] | None) -> Step:
        answer: AnswerGiven | None = None
        if isinstance(event, SessionSeen):
            event = replace(event, session=self.runs.linked(event.session))
        if isinstance(event, PromptRaised):
            event, answer, _ = self._by_rule(event, bodies)
        done = await self._taken(event, bodies, answer)
        if isinstance(event, PromptRaised) and self.config.claude.outline_cool_down:
            await self._hasty(event)
        return done

    async def _taken(self, event: AnyEvent, bodies: dict[str, bytes] | None, answer: AnswerGiven | None) -> Step:
        done = await self.loop.post(event, bodies, answer)
        for prompt in done.prompts:
            self.watches.ensure(prompt)
        return done

    def _by_rule(
        self, event: PromptRaised, bodies: dict[str, bytes] | None
    ) -> tuple[PromptRaised, AnswerGiven | None, str]:
        """What the rules say to a new prompt, and why a person must be asked if they insist on it. Their own
        mistake leaves it as it is, for a person to answer."""
        prompt = event.prompt
        if prompt.id in self.state.prompts or self.loop.store.newest(prompt.id) is not None:
            return event, None, ""  # told again: it was new once
        request = (bodies or {}).get(prompt.request) or self.body(prompt.request) or b""
        try:
            told = self.rules.told(prompt, request, time.time())
        except Exception:
            log.exception("the rules failed; prompt %s waits for a person", prompt.id)
            return event, None, "the rules failed; see its log"
        given = told.answer and AnswerGiven(time.time(), prompt.id, told.answer)
        return replace(event, prompt=told.prompt), given, told.insists

    def _folder_of(self, session_id: str) -> str:
        session = self.state.sessions.get(session_id)
        return session.cwd if session is not None else ""

    async def _hasty(self, event: PromptRaised) -> None:
        """A plan that comes again too soon after "outline first" is refused without asking the person again."""
        if outline.too_soon(self.state, event.prompt, event.at):
            await self.post(AnswerGiven(time.time(), event.prompt.id, outline.refusal(event.prompt)))

    async def hook(self, agent: str, call: HookCall) -> bool:
        """A hook call came in; True if its request is to be held."""
        known = AGENTS.get(agent)
        if known is None:
            return False
        heard = known.read_hook(call)
        if heard.problem:
            log.warning("%s", heard.problem)
        held, goes_by = False, ""
        for event in heard.events:
            match event:
                case SessionSeen(session=session):
                    session = replace(session, pid_started=processes.started(session.pid))
                    if not heard.begins and self._left(session):
                        return False
                    goes_by = await self._seen(known, replace(event, session=session), heard)
                case PromptRaised(prompt=prompt) if call.event == "Rules":
                    held = await self._before(event, heard)
                case PromptRaised(prompt=p) if p.link == "speech" and goes_by not in ("", p.session_id):
                    pass  # the end of a turn in a conversation that the session has left since
                case PromptRaised(prompt=prompt):
                    held = self._may_hold(prompt, call)
                    raised = replace(prompt, held=held, session_id=goes_by or prompt.session_id)
                    done = await self.post(replace(event, prompt=raised), heard.bodies)
                    # A rule's answer goes through the hook even where a person's could not: nobody has to wait.
                    held = held or any(p.id == prompt.id and p.held for p in done.prompts)
                case SessionEnded(session_id=session_id):
                    if self._is_process_of(session_id, call.env.get("CLAUDE_PID", "")):
                        await self.watches.last_look(session_id)
                        await self.post(event)
                case _:
                    await self.post(event)
            if isinstance(event, SessionSeen):
                await self._aside(event.session.id, heard)
        return held

    async def _before(self, event: PromptRaised, heard: Heard) -> bool:
        """Asked before a tool runs: it becomes a prompt only if a rule answers it, and at once. Where the rules
        insist on a person, the agent is told to ask, and its request is a prompt of its own."""
        event, answer, why = self._by_rule(event, heard.bodies)
        if answer is None:
            agent = AGENTS.get(event.prompt.agent)
            if not why or agent is None or agent.insist is None:
                return False
            self.hooks.deliver(event.prompt.id, "ask", agent.insist(why), strict=False)
            return True
        await to_its_end(self._taken(event, heard.bodies, answer))
        return True

    async def _seen(self, agent: Agent, event: SessionSeen, heard: Heard) -> str:
        """A session spoke; the id its process goes by now, which may be another one than it spoke under."""
        session = event.session
        goes_by = names.current(agent, self.state, session, begins=heard.begins)
        if goes_by != session.id:
            return goes_by
        before = names.others(self.state, session)
        await self.post(event)
        for other in before:
            await self.watches.last_look(other.id)
            await names.follow(self, other, session.id, heard.anew)
        return goes_by

    async def _aside(self, session_id: str, heard: Heard) -> None:
        """What a hook call tells besides: calls and pauses that are over, and reminders."""
        now = time.time()
        if heard.turn:
            self.calls.new_turn(session_id, heard.turn)
        if heard.told is not None:
            await self.calls.heard(session_id, heard.told)
            if heard.told.asked:
                self.screens.hurry()
        if heard.finished:
            self.watches.finished(session_id, heard.finished)
        for ending in heard.endings:
            self.speaker.heard(session_id, ending.said)
            for event in ended(self.state, ending, now):
                await self.post(event)
        if heard.nudged:
            for event in nudged(self.state, session_id, heard.nudged, now):
                await self.post(event)

    async def agent_died(self, prompt_id: str) -> None:
        """Its holder says so. Another process may have taken the session up since (`--resume`): that one lives.

        Of an agent that never told its process only that much is sure: the request is not held any more.
        """
        prompt = self.state.prompts.get(prompt_id)
        session = self.state.sessions.get(prompt.session_id) if prompt else None
        if prompt is None:
            return
        if session is None:  # it ended while this was being told of it: nobody else would end it
            await self.post(SessionEnded(time.time(), prompt.session_id, "its process is gone"))
        elif not session.pid or (session.pid_started and not processes.gone(session.pid, session.pid_started)):
            await self.post(HolderLost(time.time(), prompt_id, "its hook has left"))
        else:
            await self.watches.last_look(session.id)
            await self.post(SessionEnded(time.time(), session.id, "its process is gone"))

    def _is_process_of(self, session_id: str, pid: str) -> bool:
        session = self.state.sessions.get(session_id)
        return session is None or not session.pid or not pid or str(session.pid) == pid

    def _left(self, session: Session) -> bool:
        """A word from a process that is gone, about a session that is over: hooks are programs of their own, and
        what was said last may come in first."""
        if session.id in self.state.sessions or not session.pid or session.pid_started:
            return False
        before = self.loop.store.session(session.id)
        return before is not None and before.pid == session.pid

    def _failed(self, error: Exception) -> None:
        """Without a disk nothing is sure: better no yourcall than a wrong one; the dialogs are all there."""
        log.error("stopping, because nothing can be written any more: %s", error)
        self.failed = True
        self._stop()

    def _may_hold(self, prompt: Prompt, call: HookCall) -> bool:
        """Two kinds of request show no dialog while they are held: only while nobody is at the desk."""
        if prompt.link == "speech":
            return self.speaker.reaches(prompt.session_id)
        if (not prompt.subagent and prompt.kind != "elicitation") or prompt.agent == DEMO.name:
            return True
        if not prompt.questions:
            return False  # nobody could answer it from afar, and at the desk it would not be seen
        try:
            return float(call.env.get("idle", "-1")) >= self.config.claude.away_after_s
        except ValueError:
            return False

    def _perform(self, command: AnyCommand) -> None:
        if not isinstance(command, Deliver):
            self.hooks.release(command.prompt_id)
            return
        prompt = self.state.prompts.get(command.prompt_id)
        if prompt is None or prompt.state != "answering" or prompt.answer != command.answer:
            return  # it ended, or changed hands, while the fact was being written
        try:
            self._carry(prompt, command.answer)
        except Exception as error:
            self.spawn(self._lost(prompt, error))

    def _carry(self, prompt: Prompt, answer: Answer) -> None:
        if prompt.link == "ask":
            self.asks.deliver(prompt, answer)
            return
        agent = AGENTS.get(prompt.agent)
        if agent is None:
            why = f"this version knows no agent {prompt.agent!r}; answer it at the desk"
            self.spawn(self.post(AnswerNotWritten(time.time(), prompt.id, answer.id, why)))
            return
        if prompt.link in ("screen", "speech"):
            carrier = self.filling if self.filling.takes(prompt, answer) else self.keyboard
            carrier = carrier if prompt.link == "screen" else self.speaker
            self.spawn(self._carried(prompt, carrier.deliver(prompt, answer)))
            return
        request = self.loop.store.body(prompt.request) or b""
        if prompt.link == "socket":
            self.spawn(self._carried(prompt, self.codex.deliver(prompt, answer, request)))
            return
        if prompt.link == "stdio":
            self.started.deliver(prompt, answer, request)
            return
        plan = agent.plan(prompt, answer, request)
        if isinstance(plan, Refused):
            self.spawn(self.post(AnswerNotWritten(time.time(), prompt.id, answer.id, plan.reason)))
        else:
            self.hooks.deliver(prompt.id, answer.id, plan.output, plan.strict)

    async def _carried(self, prompt: Prompt, work: Coroutine[None, None, object]) -> None:
        try:
            await work
        except Exception as error:
            await self._lost(prompt, error)

    async def _lost(self, prompt: Prompt, error: Exception) -> None:
        """An error of our own: how far the answer came is not known, and it is not left on its way for ever."""
        log.error("carrying the answer to %s failed", prompt.id, exc_info=error)
        await self.post(TraceLost(time.time(), prompt.id, "an error of yourcall's own; see its log"))

    def _codex_sockets(self) -> list[Path]:
        """Where Codex's app-servers may listen. With discovery off, or below one process, only where told to."""
        looks = self.config.discovery.mode != "off"
        anywhere = looks and not self.config.discovery.root_pid
        own = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") if anywhere else None
        seen = self.state.sessions.values() if looks else ()
        started = short_folder(self._home, "codex").glob("*.sock") if self._home else ()
        return [*started, *(home / CONTROL for home in codex_homes(self.config.codex.homes, own, seen))]

    def spawn(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Whatever is under way is left as it is: the next start looks at it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.tmux.close()

    async def recover(self) -> None:
        """After a start: look at everything that is not settled; repeat nothing."""
        await self.started.end_those_of_before()
        await self.asks.recover()
        waiting = [p for p in self.state.prompts.values() if p.held and p.link == "hook"]
        for prompt in list(self.state.prompts.values()):
            if unsettled(prompt):
                self.watches.ensure(prompt)
        self.spawn(self.hooks.let_go_of_absent([p.id for p in waiting]))

    async def sweep(self) -> None:
        """Now and then: sessions whose process is gone, and rows that are old enough to go."""
        pruned_at = 0.0
        while True:
            now = time.time()
            try:
                await self._end_the_gone(now)
                await self.calls.look_for_lost()
                if now - pruned_at > 86_400:
                    pruned_at = now
                    await self.loop.store.prune(now - self.config.keep.days * 86_400)
                    await asyncio.to_thread(self.records.prune, now - self.config.keep.days * 86_400)
            except Exception:  # tidying up is never a reason to stop
                log.exception("sweeping failed")
            await asyncio.sleep(SWEEP_S)

    async def _end_the_gone(self, now: float) -> None:
        for session_id in list(self.state.sessions):
            await asyncio.sleep(0)  # a thousand sessions are looked at between people's requests, not before them
            session = self.state.sessions.get(session_id)
            if session is None or self.watches.watching(session_id):
                continue  # a watch looks more closely, and reads its last lines first
            if any(link.kind == SOCKET for link in session.links):
                continue  # its process is a window; the server behind it tells of its end
            if session.pid_started and processes.gone(session.pid, session.pid_started):
                await self.post(SessionEnded(now, session.id, "its process is gone"))


def _policy(config: Config) -> Policy:
    claude = config.claude
    return Policy(
        model=claude.model,
        allowed_tools=tuple(claude.allowed_tools),
        permission_mode=claude.permission_mode,
        api_billing=claude.use_api_billing,
        skip_permissions=claude.dangerously_skip_permissions,
        cool_down=claude.outline_cool_down,
    )


def _codex_policy(config: Config) -> Policy:
    return Policy(model=config.codex.model, permission_mode=config.codex.permission_mode)
