"""Carries each answer to its agent: one carrier for each kind of link.

Rules
  * An answer goes by the link that its prompt names, and by no other.
  * A carrier posts what became of the answer. An error of its own is posted here, so that no answer stays on its
    way for ever; nothing is sent twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Mapping

from yourcall.agents.script.requests import LINK as SCRIPT
from yourcall.agents.spec import Agent
from yourcall.links.event_sink import EventSink
from yourcall.links.hooks import Hooks
from yourcall.model.events import AnswerNotWritten, AnyCommand, Deliver, TraceLost
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

# Takes the answer and the stored request. It hands the answer over at once, or returns the work that does, or says
# why it can't.
Carrier = Callable[[Prompt, Answer, bytes], Coroutine[None, None, object] | Refused | None]


class Delivery:
    """Performs what the core decided. `carriers`: by the kind of link. `agents`: those that this version knows."""

    def __init__(
        self,
        events: EventSink,
        carriers: Mapping[str, Carrier],
        agents: Mapping[str, Agent],
        release: Callable[[str], None],
        barred: Callable[[Answer], Refused | None] = lambda _: None,
    ) -> None:
        """`barred`: why this answer may not go out any more; it may have waited for its hook, or for a restart."""
        self._barred = barred
        self._events, self._carriers, self._agents, self._release = events, carriers, agents, release
        self.tasks = Tasks()

    def perform(self, command: AnyCommand) -> None:
        if not isinstance(command, Deliver):
            self._release(command.prompt_id)
            return
        prompt = self._events.state.prompts.get(command.prompt_id)
        if prompt is None or prompt.state != "answering" or prompt.answer != command.answer:
            return  # it ended, or changed hands, while the fact was being written
        try:
            work = self._barred(command.answer) or self._carry(prompt, command.answer)
        except Exception as error:
            self.tasks.spawn(self._lost(prompt, error))
            return
        if isinstance(work, Refused):
            self.tasks.spawn(
                self._events.post(AnswerNotWritten(time.time(), prompt.id, command.answer.id, work.reason))
            )
        elif work is not None:
            self.tasks.spawn(self._carried(prompt, work))

    def _carry(self, prompt: Prompt, answer: Answer) -> Coroutine[None, None, object] | Refused | None:
        carrier = self._carriers.get(prompt.link)
        if prompt.agent not in self._agents and prompt.link != SCRIPT:
            return Refused(f"this version knows no agent {prompt.agent!r}; answer it at the desk")
        if carrier is None:
            return Refused(f"this version knows no link {prompt.link!r}; answer it at the desk")
        return carrier(prompt, answer, self._events.body(prompt.request) or b"")

    async def _carried(self, prompt: Prompt, work: Coroutine[None, None, object]) -> None:
        try:
            await work
        except Exception as error:
            await self._lost(prompt, error)

    async def _lost(self, prompt: Prompt, error: Exception) -> None:
        """An error of our own: how far the answer came is not known."""
        log.error("carrying the answer to %s failed", prompt.id, exc_info=error)
        await self._events.post(TraceLost(time.time(), prompt.id, "an error of yourcall's own; see its log"))


def by_hook(agents: Mapping[str, Agent], hooks: Hooks) -> Carrier:
    """The held hook prints the answer, as its agent spells it."""

    def carry(prompt: Prompt, answer: Answer, request: bytes) -> Refused | None:
        reply = agents[prompt.agent].reply(prompt, answer, request)
        if isinstance(reply, Refused):
            return reply
        hooks.deliver(prompt.id, answer.id, reply.output, reply.strict)
        return None

    return carry
