"""Sessions that a program asked for with a terminal: started in a private tmux, found by their process.

Rule: what may be started is decided where every start is. Only the process that was started here is looked at.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from yourcall.agents.session_spec import StartOptions
from yourcall.agents.spec import Agent
from yourcall.links.discover import Discovery
from yourcall.links.event_sink import EventSink
from yourcall.links.private_tmux import server
from yourcall.links.screen.tmux import Gone
from yourcall.links.screen.watcher import ScreenWatcher
from yourcall.links.session_ids import STRANGER
from yourcall.links.stdio.sessions import RUNS_ALREADY, StdioSessions
from yourcall.model.events import SessionEnded
from yourcall.model.prompts import Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.system.sockets import short_folder

NAMED_S = 30.0  # it tells its id within a second or two; MCP servers may come first
LOOK_S = 0.2


class PrivateSessions:
    def __init__(
        self,
        teller: EventSink,
        screens: ScreenWatcher,
        started: StdioSessions,
        agent_of: Callable[[str], Agent | None],
        home: Path | None,
    ) -> None:
        self._teller, self._screens, self._started = teller, screens, started
        self._agent_of, self._home = agent_of, home
        self._begun: set[asyncio.Task[str | Refused]] = set()
        self._resuming: set[str] = set()  # sessions that are just being begun again

    def offers(self, agent: str) -> bool:
        """Can a session of this agent have a terminal here?"""
        known = self._agent_of(agent)
        able = known is not None and known.headless is not None and known.headless.in_terminal is not None
        return able and self._home is not None and shutil.which("tmux") is not None

    async def start(self, agent: str, options: StartOptions, *, remote: bool) -> str | Refused:
        """Start a session; its id. One that asks something before it tells its own has one of ours until then.

        To its end, even if whoever asked hangs up: it would run, and nobody would see what it asks.
        """
        if options.resume in self._resuming:
            return RUNS_ALREADY
        resumes = {options.resume} if options.resume else set[str]()
        self._resuming |= resumes
        task = asyncio.create_task(self._start(agent, options, remote))
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        task.add_done_callback(lambda _: self._resuming.difference_update(resumes))
        return await asyncio.shield(task)

    async def _start(self, agent: str, options: StartOptions, remote: bool) -> str | Refused:
        known = self._agent_of(agent)
        if known is None or known.headless is None or known.headless.in_terminal is None or self._home is None:
            return Refused(f"yourcall cannot start a session of {agent[:40]!r} in a terminal.")
        ready = await self._started.prepared(agent, known.headless, options, remote=remote)
        if isinstance(ready, Refused):
            return ready
        program, env, options = ready
        argv, cwd = [program, *known.headless.in_terminal(options)], Path(options.cwd)
        started = await asyncio.to_thread(server.start, self._home, argv, {**env, "PWD": options.cwd}, cwd)
        if isinstance(started, Refused):
            return started
        seen = await self._screens.watch(str(started.socket), started.pane, agent)
        if isinstance(seen, Gone):
            return Refused(f"{program} ended at once: {seen.why}.")
        return await self._named(known, seen)

    async def _named(self, agent: Agent, seen: Session) -> str | Refused:
        finding = Discovery(self._teller, {agent.name: agent}, "tmux", seen.pid)
        deadline = time.monotonic() + NAMED_S
        while time.monotonic() < deadline:
            state = self._teller.state
            run = (seen.pid, seen.pid_started)
            mine = [s for s in state.sessions.values() if (s.pid, s.pid_started) == run]
            if text := next((s.id for s in mine if not s.id.startswith(STRANGER)), ""):
                return text
            if not mine:
                return Refused(f"{agent.name} ended before its session began.")
            if any(state.of_session(s.id) for s in mine):
                break
            await finding.look()
            await asyncio.sleep(LOOK_S)
        return seen.id

    def has(self, session: Session) -> bool:
        """Was it started in a terminal of ours, here or by `yourcall run --detach`?"""
        return self._socket(session) is not None

    async def stop(self, session: Session) -> Verdict:
        """End the session and all that it runs."""
        socket = self._socket(session)
        if socket is None:
            return Verdict("refused", "This session was not started by yourcall, or it has ended.")
        wrong = await asyncio.to_thread(server.end, socket)
        if wrong is not None:
            return Verdict("refused", wrong.reason)
        await self._teller.post(SessionEnded(time.time(), session.id, "it was stopped"))
        return Verdict("confirmed", "the session has ended")

    def _socket(self, session: Session) -> Path | None:
        folder = str(short_folder(self._home, "tmux")) if self._home is not None else ""
        servers = [Path(link.server) for link in session.links if link.kind == "tmux"]
        return next((each for each in servers if str(each.parent) == folder), None)
