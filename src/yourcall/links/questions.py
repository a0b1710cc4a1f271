"""Questions of scripts: raised, answered into a box that is on disk, and taken out by whoever asked.

Rules
  * *Sent* means that the answer is in the box, *confirmed* that the script said it has it.
  * A question whose script is gone is withdrawn: nobody is asked for nothing. After a start of ours, and after
    a broken connection, the script has a while to come back.
  * A question that nobody attends stays until it is answered; its box is its end.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Coroutine
from typing import Protocol

from yourcall.agents.kit.prompts import LETTERS
from yourcall.agents.script import requests
from yourcall.agents.script.requests import LINK, Ask
from yourcall.core.lifecycle import CLOSED
from yourcall.links.event_sink import EventSink
from yourcall.model.events import (
    AnswerWritten,
    CallSettled,
    HolderConnected,
    PromptRaised,
    PromptWithdrawn,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Refused

log = logging.getLogger(__name__)

# A client that waits comes back within a second; one that was suspended for longer asks again with the same id.
AWAY_S = 12.0
TICK_S = 1.0
# Each is a line on somebody's phone: a loop gone mad must not fill it.
MOST = 200
KEPT = "kept for the script to look up"


class QuestionRows(Protocol):
    def prompt(self, id: str, /) -> Prompt | None: ...
    def body(self, id: str, /) -> bytes | None: ...


class ScriptQuestions:
    def __init__(self, teller: EventSink, rows: QuestionRows) -> None:
        self._teller = teller
        self._rows = rows
        self._waiting: dict[str, int] = {}  # how many wait for this one right now
        self._left_at: dict[str, float] = {}  # when the last of them left, on the clock that never jumps
        self._news: dict[str, asyncio.Event] = {}
        self._asking = asyncio.Lock()
        self._tasks: set[asyncio.Task[object]] = set()

    async def ask(self, ask: Ask, raised_by: tuple[str, ...] = ()) -> Prompt | Refused:
        """Raise it; told again with the same id, it is the same question, of whoever asked it first."""
        id = ask.id or "".join(secrets.choice(LETTERS) for _ in range(10))
        made = requests.asked(ask, id, time.time(), raised_by)
        if isinstance(made, Refused):
            return made
        session, prompt, body = made
        async with self._asking:  # two that come at once with one id: the second meets what the first asked
            if self._rows.prompt(id) is None:
                if len(self._mine()) >= MOST:
                    return Refused(f"{MOST} questions of scripts are waiting; answer or withdraw some first.")
                await self._teller.post(SessionSeen(prompt.opened_at, session))
                await self._teller.post(PromptRaised(prompt.opened_at, prompt), {prompt.request: body})
                self._left_at[id] = time.monotonic()
            known = self._rows.prompt(id)
        if known is None:
            return Refused("It could not be kept.")
        same = (known.agent, known.fingerprint) == (prompt.agent, prompt.fingerprint)
        return known if same else Refused("Another question has this id; take a new one.")

    async def wait(self, prompt_id: str, seconds: float) -> Prompt | None:
        """Its row as soon as it is answered or over, or after this long. To wait is to be there."""
        self._waiting[prompt_id] = self._waiting.get(prompt_id, 0) + 1
        news = self._news.setdefault(prompt_id, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                while (row := self._row(prompt_id)) is not None and row.state in ("open", "answering"):
                    news.clear()
                    await news.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting[prompt_id] -= 1
            self._left_at[prompt_id] = time.monotonic()
            if not self._waiting[prompt_id]:
                self._waiting.pop(prompt_id)
                self._news.pop(prompt_id, None)
        return self._row(prompt_id)

    async def taken(self, prompt_id: str, answer_id: str) -> Prompt | None:
        """The script says that it has this answer."""
        prompt = self._row(prompt_id)
        if prompt is not None and prompt.answer is not None and prompt.answer.id == answer_id:
            await self._confirm(prompt, "the script has the answer")
        return self._row(prompt_id)

    async def withdraw(self, prompt_id: str, why: str = "the script no longer asks") -> Prompt | None:
        prompt = self._row(prompt_id)
        if prompt is not None and prompt.state not in CLOSED:
            now = time.time()
            if prompt.state == "open":
                await self._teller.post(PromptWithdrawn(now, prompt_id, why))
            else:
                await self._teller.post(TraceLost(now, prompt_id, f"{why}; it did not say that it has the answer"))
            await self._over(prompt)
        return self._row(prompt_id)

    def deliver(self, prompt: Prompt, answer: Answer) -> None:
        """Into the box: it is on disk already, so there is nothing that could go wrong on the way."""
        self._spawn(self._delivered(prompt, answer))

    async def recover(self) -> None:
        """After a start: what was on its way is put into the box now; nothing could have taken it out."""
        for prompt in self._mine():
            self._left_at[prompt.id] = time.monotonic()
            if prompt.state == "answering":
                await self._teller.post(HolderConnected(time.time(), prompt.id))
            elif prompt.state == "sent" and not requests.attended(self._rows.body(prompt.request)):
                await self._confirm(prompt, KEPT)
        asking = {prompt.session_id for prompt in self._mine()}
        for session in list(self._teller.state.sessions.values()):
            if session.agent == requests.AGENT and session.id not in asking:
                await self._teller.post(SessionEnded(time.time(), session.id))

    async def run(self) -> None:
        while True:
            try:
                await self._withdraw_abandoned()
            except Exception:  # tidying up is never a reason to stop
                log.exception("looking after scripts' questions failed")
            await asyncio.sleep(TICK_S)

    async def _withdraw_abandoned(self) -> None:
        for prompt in self._mine():
            left = self._left_at.setdefault(prompt.id, time.monotonic())
            away = prompt.id not in self._waiting and time.monotonic() - left > AWAY_S
            if away and prompt.state != "unsure" and requests.attended(self._rows.body(prompt.request)):
                await self.withdraw(prompt.id, "the script that asked is gone")

    async def _delivered(self, prompt: Prompt, answer: Answer) -> None:
        await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))
        row = self._row(prompt.id)
        if row is not None and not requests.attended(self._rows.body(prompt.request)):
            await self._confirm(row, KEPT)
        if news := self._news.get(prompt.id):
            news.set()

    async def _confirm(self, prompt: Prompt, detail: str) -> None:
        await self._teller.post(CallSettled(time.time(), prompt.id, requests.outcome(prompt), "held", detail))
        await self._over(prompt)

    async def _over(self, prompt: Prompt) -> None:
        await self._teller.post(SessionEnded(time.time(), prompt.session_id))
        self._left_at.pop(prompt.id, None)
        if news := self._news.get(prompt.id):
            news.set()

    def _row(self, prompt_id: str) -> Prompt | None:
        row = self._teller.state.prompts.get(prompt_id) or self._rows.prompt(prompt_id)
        return row if row is not None and row.link == LINK else None

    def _mine(self) -> list[Prompt]:
        return [p for p in self._teller.state.prompts.values() if p.link == LINK and p.state not in CLOSED]

    def _spawn(self, work: Coroutine[None, None, object]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
