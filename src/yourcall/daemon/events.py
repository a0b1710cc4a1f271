"""Takes every event that a link reports, and does what follows from it before and after the core decides.

Rule: a new prompt meets the rules once, before anybody sees it; an error of theirs leaves it to a person.
"""

from __future__ import annotations

import logging
import time

from msgspec.structs import replace

from yourcall.core import plan_cooldown
from yourcall.core.state import State, Step
from yourcall.daemon.loop import Loop, to_its_end
from yourcall.daemon.rules.lazy_rules import LazyRules
from yourcall.links.agent_processes.ties import Ties
from yourcall.links.proof import PromptWatches
from yourcall.links.pty.runs import Runs
from yourcall.model.events import AnswerGiven, AnyEvent, PromptRaised, SessionSeen

log = logging.getLogger(__name__)


class Events:
    """The one sink of all links. What it passes events by is joined to it once it is built: those are links, too.

    `cool_down`: a plan that comes again too soon is refused without asking again.
    """

    runs: Runs
    ties: Ties
    rules: LazyRules
    watches: PromptWatches

    def __init__(self, loop: Loop, *, cool_down: bool) -> None:
        self._loop = loop
        self._cool_down = cool_down

    @property
    def state(self) -> State:
        return self._loop.state

    def body(self, id: str, /) -> bytes | None:
        return self._loop.store.body(id)

    async def post(self, event: AnyEvent, bodies: dict[str, bytes] | None = None) -> Step:
        """Take what a link tells, and do what follows from it."""
        return await to_its_end(self._post(event, bodies))

    async def _post(self, event: AnyEvent, bodies: dict[str, bytes] | None) -> Step:
        answer: AnswerGiven | None = None
        if isinstance(event, SessionSeen):
            event = replace(event, session=self.runs.linked(event.session))
            self.ties.note(event.session)
        if isinstance(event, PromptRaised):
            event, answer, _ = self.by_rule(event, bodies)
        done = await self.taken(event, bodies, answer)
        if isinstance(event, PromptRaised) and self._cool_down:
            await self._hasty(event)
        return done

    async def taken(self, event: AnyEvent, bodies: dict[str, bytes] | None, answer: AnswerGiven | None) -> Step:
        """Take an event together with a rule's answer to it."""
        done = await self._loop.post(event, bodies, answer)
        for prompt in done.prompts:
            self.watches.ensure(prompt)
        return done

    def by_rule(
        self, event: PromptRaised, bodies: dict[str, bytes] | None
    ) -> tuple[PromptRaised, AnswerGiven | None, str]:
        """What the rules say to a new prompt, and why a person must be asked if they insist on it. Their own
        mistake leaves it as it is, for a person to answer."""
        prompt = event.prompt
        if prompt.id in self.state.prompts or self._loop.store.newest(prompt.id) is not None:
            return event, None, ""  # told again: it was new once
        request = (bodies or {}).get(prompt.request) or self.body(prompt.request) or b""
        try:
            rule_decision = self.rules.told(prompt, request, time.time())
        except Exception:
            log.exception("the rules failed; prompt %s waits for a person", prompt.id)
            return event, None, "the rules failed; see its log"
        given = rule_decision.answer and AnswerGiven(time.time(), prompt.id, rule_decision.answer)
        return replace(event, prompt=rule_decision.prompt), given, rule_decision.insists

    async def _hasty(self, event: PromptRaised) -> None:
        """A plan that comes again too soon after "outline first" is refused without asking the person again."""
        if plan_cooldown.too_soon(self.state, event.prompt, event.at):
            await self.post(AnswerGiven(time.time(), event.prompt.id, plan_cooldown.refusal(event.prompt)))
