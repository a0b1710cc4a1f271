"""Keeps the record true: what is not settled is looked at after a start, and old rows are deleted.

Rule: after a start everything that is not settled is looked at, and nothing is repeated.
"""

from __future__ import annotations

import asyncio
import logging
import time

from yourcall.core.identity import unsettled
from yourcall.daemon.events import Events
from yourcall.daemon.loop import Loop
from yourcall.links import processes
from yourcall.links.agent_server import LINK as SOCKET
from yourcall.links.hooks import Hooks
from yourcall.links.proof import PromptWatches
from yourcall.links.questions import ScriptQuestions
from yourcall.links.screen.announced_calls import AnnouncedCalls
from yourcall.links.stdio.records import Records
from yourcall.model.events import HolderLost
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

SWEEP_S = 5.0
HOLD = "hold"  # while this file is in the home, nothing of the record is forgotten
DAY_S = 86_400.0


class Upkeep:
    def __init__(
        self,
        loop: Loop,
        events: Events,
        keep_days: float,
        *,
        watches: PromptWatches,
        hooks: Hooks,
        asks: ScriptQuestions,
        calls: AnnouncedCalls,
        records: Records,
    ) -> None:
        self._loop, self._events, self._keep_days = loop, events, keep_days
        self._watches, self._hooks, self._asks = watches, hooks, asks
        self._calls, self._records = calls, records
        self.tasks = Tasks()

    async def let_go_of_the_dead(self) -> None:
        """Before anybody asks: what waited in a session whose process is gone can't be answered any more. How it
        ended is read from its record later, by its watch."""
        for prompt in list(self._loop.state.prompts.values()):
            session = self._loop.state.sessions.get(prompt.session_id)
            if not prompt.answerable or session is None or any(link.kind == SOCKET for link in session.links):
                continue
            if session.pid_started and processes.gone(session.pid, session.pid_started):
                await self._events.post(HolderLost(time.time(), prompt.id, "its process is gone"))

    async def recover(self) -> None:
        """After a start: look at everything that is not settled; repeat nothing."""
        await self._asks.recover()
        waiting = [p for p in self._loop.state.prompts.values() if p.answerable and p.link == "hook"]
        for prompt in list(self._loop.state.prompts.values()):
            if unsettled(prompt):
                self._watches.ensure(prompt)
        self.tasks.spawn(self._hooks.let_go_of_absent([p.id for p in waiting]))

    async def run(self) -> None:
        """Now and then: calls that nobody speaks of any more, and rows that are old enough to go."""
        pruned_at = 0.0
        while True:
            now = time.time()
            try:
                await self._calls.look_for_lost()
                if now - pruned_at > DAY_S and not (self._loop.store.path.parent / HOLD).exists():
                    pruned_at = now
                    await self._loop.store.prune(now - self._keep_days * DAY_S)
                    await asyncio.to_thread(self._records.prune, now - self._keep_days * DAY_S)
            except Exception:  # tidying up is never a reason to stop
                log.exception("sweeping failed")
            await asyncio.sleep(SWEEP_S)
