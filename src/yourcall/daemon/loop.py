"""The loop around the core: step, record, then perform and tell; in this order and never another.

Rule: a command is performed, and a change is shown to anybody, only after the fact behind it is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from yourcall.agents.assess import edited
from yourcall.core.outcomes import final, verdict_of
from yourcall.core.replay import prompt_of, recall
from yourcall.core.safety import ALLOWING, LONGEST_INPUT, chosen
from yourcall.core.state import State, Step
from yourcall.model.events import (
    AnswerGiven,
    AnyCommand,
    AnyEvent,
    ApprovalGiven,
    PromptDismissed,
    PromptRaised,
)
from yourcall.model.prompts import Answer, Prompt, Verdict
from yourcall.model.sessions import TERMINALS
from yourcall.rules.may_answer import Agreed
from yourcall.store.facts import Encoded, encode
from yourcall.store.problem import StoreProblem
from yourcall.store.sqlite import Change, Fact, Store
from yourcall.system.tasks import Turnstile

T = TypeVar("T")

# A client that is this many changes behind is not reading; it is told to resync instead of growing our memory.
QUEUE = 1_000

# A dialog that a hook let go is drawn and read within a second; on a busy machine it takes longer.
DRAWN_S = 3.0

# An agent's hook that got its answer often waits for the very processor that we run on.
give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


_begun: set[asyncio.Future[Any]] = set()


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What was begun is done, even if whoever asked for it hangs up meanwhile: a fact that is written and never
    performed would be an answer that reaches nobody."""
    task = asyncio.ensure_future(work)
    _begun.add(task)
    task.add_done_callback(_begun.discard)
    return await asyncio.shield(task)


class Subscription:
    """One reader's bounded queue of changes: `async with loop.subscribe(after) as changes: async for …`."""

    def __init__(self, loop: Loop, after: int | None) -> None:
        self._loop = loop
        self._waiting: deque[Change] = deque()
        self._wake = asyncio.Event()
        self.lagged = False
        self.seq = loop.store.last_seq if after is None else after
        self._after = after

    async def __aenter__(self) -> Self:
        self._loop.subscribers.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.subscribers.discard(self)

    def offer(self, change: Change) -> None:
        if len(self._waiting) >= QUEUE:
            self.lagged = True
            self._waiting.clear()
        elif not self.lagged:
            self._waiting.append(change)
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[Change]:
        # Registered before the backlog is read, so nothing falls in between; what is in both is sent once.
        if self._after is not None:
            while backlog := self._loop.store.changes_after(self.seq, QUEUE):
                for change in backlog:
                    self.seq = change.seq
                    yield change
        while not self.lagged:
            while self._waiting:
                change = self._waiting.popleft()
                if change.seq > self.seq:
                    self.seq = change.seq
                    yield change
            self._wake.clear()
            if not self._waiting and not self.lagged:
                await self._wake.wait()


class _Turn:
    """The place of one fact among those that are told; an answer may be on disk while the one before it waits."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.over = False


class Loop:
    """The one owner of `State`. `perform` turns a command into the world; it must return at once.

    `failed` is told when a fact could not be written: what is in memory is then ahead of the disk, and only a
    new start can put that right.
    """

    def __init__(
        self,
        store: Store,
        perform: Callable[[AnyCommand], None],
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self.store = store
        self.state = State()
        self.subscribers: set[Subscription] = set()
        self._turns: deque[_Turn] = deque()
        self._ahead: Exception | None = None  # why the state is not what is on disk
        self._perform = perform
        self._turnstile = Turnstile()
        self._failed = failed
        self.authority: Callable[[Prompt, Answer], Answer | Agreed | Verdict] = lambda _prompt, answer: answer
        prompts, sessions = store.live()
        self.state.take(Step(prompts=tuple(prompts), sessions=tuple(sessions)))

    async def post(
        self, event: AnyEvent, bodies: Mapping[str, bytes] | None = None, answer: AnswerGiven | None = None
    ) -> Step:
        """Take one event; when this returns, what it changed is on disk and its commands are on their way.

        `answer`: what a rule says to the prompt that is raised by this, if it changes anything. The agent waits
        for that, so the two are written together.
        """
        if self._ahead is not None:
            # What follows from a fact that was never written must not be written either.
            raise StoreProblem(str(self._ahead)) from self._ahead
        if answer is not None:
            encode(answer)  # what cannot be written is found before the prompt is taken
        done, facts = self._decide(event, bodies)
        if answer is not None and done.changed:
            given, more = self._decide(answer)
            commands = (*done.commands, *given.commands)
            done = Step((*done.prompts, *given.prompts), done.sessions, commands, given.verdict)
            facts += more
        # Prompts and their answers are few, and for each a person or an agent waits.
        urgent = isinstance(event, PromptRaised | AnswerGiven)
        if facts:
            # No await between step and record: facts reach the log in the order in which they were decided.
            await self._record(facts, urgent)
            # Those that one commit has written go on one after the other, with other people's requests in between.
            await self._turnstile.turn()
        for command in done.commands:
            self._perform(command)
        if urgent and done.commands:
            await asyncio.sleep(0)  # what goes to the agent is sent now
            give_way()  # and read, before we begin to tell others about it
        self._tell()
        return done

    def _decide(self, event: AnyEvent, bodies: Mapping[str, bytes] | None = None) -> tuple[Step, list[Encoded]]:
        """What follows from it, and what is to be written of it, if anything."""
        prompt_id = prompt_of(event)
        settled = self.store.newest(prompt_id) if prompt_id and prompt_id not in self.state.prompts else None
        done = recall(self.state, event, settled)
        # What cannot be written (half a letter in a folder's name) is its teller's error, and nothing happened.
        facts = [Encoded(Fact(event, done.prompts, done.sessions, dict(bodies or {})))] if done.changed else []
        self.state.take(done)
        return done, facts

    async def _record(self, facts: list[Encoded], at_once: bool) -> None:
        turn = _Turn()
        self._turns.append(turn)
        try:
            turn.changes = await self.store.record(facts, at_once=at_once)
        except Exception as error:
            self._ahead = error
            self._failed(error)
            raise
        finally:
            turn.over = True
            if not turn.changes:
                self._tell()  # nobody waits behind one that failed

    def _tell(self) -> None:
        """Everybody, in the order of the log: whoever is told of a change takes no earlier one any more."""
        while self._turns and self._turns[0].over:
            for change in self._turns.popleft().changes:
                for subscriber in self.subscribers:
                    subscriber.offer(change)

    async def answer(self, prompt_id: str, answer: Answer, wait: float) -> tuple[Verdict, Prompt | None]:
        """Take an answer and stay with it, for at most `wait` seconds, until its verdict is final."""
        return await to_its_end(self._answer(prompt_id, answer, wait))

    async def _answer(self, prompt_id: str, answer: Answer, wait: float) -> tuple[Verdict, Prompt | None]:
        await self._drawn(prompt_id)
        unconfirmed = self._unconfirmed(self.prompt(prompt_id), answer)
        if unconfirmed is not None:
            return unconfirmed, self.prompt(prompt_id)
        async with self.subscribe(None) as changes:
            # Asked right before the answer is taken, with no await in between: what was revoked or changed a
            # moment ago counts.
            prompt = self.prompt(prompt_id)
            judged = self.authority(prompt, answer) if prompt is not None and prompt.state == "open" else answer
            if isinstance(judged, Verdict):
                return judged, prompt
            if isinstance(judged, Agreed):
                agreed = ApprovalGiven(time.time(), prompt_id, answer, judged.approval, judged.given, judged.of)
                done = await self.post(agreed)
                return done.verdict or Verdict("refused", "There is no such prompt."), self.prompt(prompt_id)
            answer = judged
            done = await self.post(AnswerGiven(time.time(), prompt_id, answer))
            verdict = done.verdict or Verdict("refused", "There is no such prompt.")
            prompt = self.prompt(prompt_id)
            if verdict.result != "taken" or prompt is None or wait <= 0:
                return verdict, prompt
            try:
                async with asyncio.timeout(wait):
                    async for change in changes:
                        if change.prompt is None or change.prompt.id != prompt_id:
                            continue
                        if not any(moment.answer_id == answer.id for moment in change.prompt.history):
                            continue  # recorded just before our answer was: it cannot speak of it
                        prompt = change.prompt
                        if final(verdict_of(prompt, answer.id)):
                            break
            except TimeoutError:
                pass
            return verdict_of(prompt, answer.id), prompt

    async def _drawn(self, prompt_id: str) -> None:
        """A request whose hook let it go because somebody is at the desk can be answered once its dialog has been
        read from the screen: what is said in the moment before waits for that."""
        async with self.subscribe(None) as changes:
            if not self._about_to_be_drawn(prompt_id):
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAWN_S):
                    async for change in changes:
                        if change.prompt is None or change.prompt.id != prompt_id:
                            continue
                        if change.prompt.answerable or change.prompt.state != "open":
                            return

    def _about_to_be_drawn(self, prompt_id: str) -> bool:
        prompt = self.state.prompts.get(prompt_id)
        if prompt is None or prompt.state != "open" or prompt.answerable:
            return False
        session = self.state.sessions.get(prompt.session_id)
        on_screen = session is not None and any(link.kind in TERMINALS for link in session.links)
        hidden = bool(prompt.subagent) or prompt.kind == "elicitation"
        return on_screen and hidden and prompt.questions != () and time.time() - prompt.opened_at < DRAWN_S

    def _unconfirmed(self, prompt: Prompt | None, answer: Answer) -> Verdict | None:
        """Nobody has judged an edited input before: a risky one is taken only once the person has confirmed it."""
        if prompt is None or prompt.state != "open" or answer.input is None or answer.sure:
            return None
        if len(answer.input) > LONGEST_INPUT or not any(o.effect in ALLOWING for o in chosen(prompt, answer)):
            return None  # refused for that
        risk = edited(prompt, answer.input.encode("utf-8", "surrogatepass")).risk
        if risk.level == "low":
            return None
        return Verdict("refused", f"{risk.reason} Confirm it: answer it again, and say that you are sure.")

    async def dismiss(self, prompt_id: str, by: str) -> Verdict:
        """Take a prompt off the list, without a word to its agent."""
        done = await to_its_end(self.post(PromptDismissed(time.time(), prompt_id, by)))
        return done.verdict or Verdict("refused", "There is no such prompt.")

    def prompt(self, prompt_id: str) -> Prompt | None:
        """As it is now, without a look at the disk if it is not settled."""
        return self.state.prompts.get(prompt_id) or self.store.prompt(prompt_id)

    def subscribe(self, after: int | None) -> Subscription:
        return Subscription(self, after)
