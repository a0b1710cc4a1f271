"""Second opinions: starts another agent that only reads, follows what it says, and takes that back to the session.

Rules
  * A reviewer runs in the mode of its own in which it only reads; whatever it asks for all the same is refused.
  * A person starts each review and sends each one back. A review is not reviewed, and rounds are counted.
  * What goes back is a standing order like any other: it is given when the session can take it, once.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Protocol

from msgspec.structs import replace

from yourcall.agents.session_spec import StartOptions
from yourcall.agents.spec import Agent
from yourcall.core import review_text
from yourcall.core.safety import LONGEST_TEXT, REFUSING
from yourcall.core.step import PAUSES
from yourcall.daemon.loop import Loop
from yourcall.daemon.standing_orders import StandingOrders
from yourcall.links.changes import Changes
from yourcall.links.conversations import Conversations
from yourcall.links.stdio.sessions import StdioSessions
from yourcall.model.conversation import AssistantText, Page, UserMessage
from yourcall.model.orders import OrderQueue
from yourcall.model.prompts import Answer, Prompt, Refused
from yourcall.model.reviews import Review
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Change

log = logging.getLogger(__name__)

# Each is a program of some 300 MB that spends somebody's money.
MOST_RUNNING = 4
# So many rounds about one session, and somebody should read the code.
MOST_ROUNDS = 12
LONGEST_QUESTION = 4_000
LONGEST_SUBJECT = 500
PAGE = 60
VIA = "review"
NO = "This is a review: nothing is changed or run here. Say what you think in words."
AGAIN_S = 5.0


class ReviewRows(Protocol):
    def reviews(self, session_id: str, /) -> list[Review]: ...
    def review(self, review_id: str, /) -> Review | None: ...
    def running_reviews(self) -> list[Review]: ...
    async def put_review(self, review: Review, /) -> None: ...
    def session(self, session_id: str, /) -> Session | None: ...


class Reviews:
    def __init__(
        self,
        loop: Loop,
        rows: ReviewRows,
        started: StdioSessions,
        talks: Conversations,
        changes: Changes,
        orders: StandingOrders,
        agent_of: Callable[[str], Agent | None],
    ) -> None:
        self._loop, self._rows, self._started = loop, rows, started
        self._talks, self._changes, self._orders, self._agent_of = talks, changes, orders, agent_of
        self._running = {review.by_session: review for review in rows.running_reviews()}
        self._starting = asyncio.Lock()

    # --- what a person does -----------------------------------------------------------------------------------

    async def reviewers(self) -> list[str]:
        """The agents on this machine that have a mode in which they only read."""
        return [name for name in await self._started.offers() if self._reads_only(name)]

    def of(self, session_id: str) -> list[Review]:
        """Those about this session, and the one that this session is; the oldest first."""
        return self._rows.reviews(session_id)

    def find(self, review_id: str) -> Review | None:
        return self._rows.review(review_id)

    async def start(
        self,
        session: Session,
        reviewer: str,
        by: str,
        via: str,
        *,
        question: str = "",
        subject: str = "",
        prompt_id: str = "",
        remote: bool,
    ) -> Review | Refused:
        wrong = self._objection(session, reviewer, question)
        if wrong is not None:
            return wrong
        async with self._starting:  # two at once would both be the last that may run
            if len(self._running) >= MOST_RUNNING:
                return Refused(f"{MOST_RUNNING} reviews run already; wait for one, or end it.")
            rounds = [each for each in self.of(session.id) if each.session_id == session.id]
            if len(rounds) >= MOST_ROUNDS:
                return Refused(f"This session was reviewed {MOST_ROUNDS} times; read the code instead.")
            text, about, files, whole = await self._request(session, question, subject, prompt_id)
            options = StartOptions(session.cwd, text, read_only=True)
            begun = await self._started.start(reviewer, options, remote=remote)
            if isinstance(begun, Refused):
                return begun
            review = Review(
                secrets.token_hex(4),
                session.id,
                reviewer,
                begun,
                question.strip() or review_text.QUESTION,
                time.time(),
                by,
                via,
                len(rounds) + 1,
                about[:LONGEST_SUBJECT],
                prompt_id,
                files=files,
                whole_diff=whole,
            )
            await self._rows.put_review(review)
            self._running[begun] = review
        await self._look(begun)  # what it asked, or said, before we knew of it
        return review

    async def text_of(self, review: Review) -> str:
        """What the reviewer has said so far."""
        if review.state != "running":
            return review.text
        session = self._loop.state.sessions.get(review.by_session) or self._rows.session(review.by_session)
        if session is None:
            return ""
        text = await self._said(session)
        now = self._started.speaking(session)
        return "\n\n".join(part for part in (text, now.text if now is not None else "") if part)

    async def send_back(
        self, review: Review, text: str, by: str, via: str, device: str, certainty: str
    ) -> Review | Refused:
        """The review, or a person's part of it, as the next instruction of the session that it is about."""
        if review.state != "done":
            return Refused(
                "This review is not done." if review.state == "running" else "There is no review to send."
            )
        session = self._reviewed(review)
        if session is None or session.state == "ended":
            return Refused("The session that was reviewed has ended.")
        title = self._title(review.reviewer)
        wording = text.strip() or review_text.send_back(title, review.text)
        done = await self._orders.add(session, wording[:LONGEST_TEXT], by, via, device=device, certainty=certainty)
        if isinstance(done, Refused):
            return done
        order = done.orders[-1]
        first = await self._orders.move(session.id, order.id, 1)
        if isinstance(first, OrderQueue):
            order = next((each for each in first.orders if each.id == order.id), order)
        sent = replace(review, sent_at=time.time(), order_id=order.id)
        await self._rows.put_review(sent)
        await self._stop(sent)
        return sent

    async def end(self, review: Review) -> Review:
        """Nobody wants to hear more of it."""
        if review.state == "running":
            review = replace(review, state="ended", text=await self.text_of(review), done_at=time.time())
            await self._rows.put_review(review)
        self._running.pop(review.by_session, None)
        await self._stop(review)
        return review

    def _objection(self, session: Session, reviewer: str, question: str) -> Refused | None:
        if any(each.by_session == session.id for each in self.of(session.id)):
            return Refused("This session is a review itself; ask for another one of the session that it is about.")
        if self._agent_of(reviewer) is None:
            return Refused(f"yourcall knows no agent {reviewer[:40]!r}.")
        if not self._reads_only(reviewer):
            return Refused(f"{self._title(reviewer)} has no mode in which it only reads; it can't review.")
        if len(question) > LONGEST_QUESTION:
            return Refused(f"The question is longer than {LONGEST_QUESTION:,} characters; shorten it.")
        return None

    def _reads_only(self, name: str) -> bool:
        agent = self._agent_of(name)
        return agent is not None and agent.headless is not None and agent.headless.read_only

    def _title(self, name: str) -> str:
        agent = self._agent_of(name)
        return (agent.title if agent is not None else "") or name

    def _reviewed(self, review: Review) -> Session | None:
        session = self._rows.session(review.session_id)
        for _ in range(20):
            if session is None or not session.goes_on_as:
                break
            session = self._rows.session(session.goes_on_as)
        return session

    async def _request(
        self, session: Session, question: str, subject: str, prompt_id: str
    ) -> tuple[str, str, int, bool]:
        """The words for the reviewer, what they are about, how many files changed, and whether all is in."""
        page = await self._talks.page(session, "", before=None, after=None, file="", limit=PAGE)
        entries = page.entries if isinstance(page, Page) else ()
        asked = next((e.text for e in reversed(entries) if isinstance(e, UserMessage) and not e.by), "")
        said = subject or next(
            (e.text for e in reversed(entries) if isinstance(e, AssistantText) and not e.subagent), ""
        )
        prompt = self._loop.prompt(prompt_id) if prompt_id else None
        wants = (
            f"{prompt.title}\n\n{prompt.body}" if prompt is not None and prompt.session_id == session.id else ""
        )
        diff, files, whole = await self._changes.whole(session, review_text.LONGEST_DIFF)
        note = "" if whole else f"That is not all: {files} files differ. Look at the others in the folder."
        text = review_text.request(
            title=self._title(session.agent),
            project=PurePosixPath(session.cwd).name or session.cwd,
            question=question,
            asked=asked,
            said=said,
            wants=wants,
            diff=diff,
            note=note,
        )
        return text, wants or said or asked, files, whole

    # --- what happens -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the sessions of reviews that run."""
        while True:
            try:
                async with self._loop.subscribe(None) as changes:
                    for by_session in list(self._running):
                        await self._look(by_session)
                    async for change in changes:
                        await self._seen(change)
            except Exception:
                log.exception("the reviews could not follow what happened; looking again")
                await asyncio.sleep(AGAIN_S)

    async def _seen(self, change: Change) -> None:
        by_session = change.prompt.session_id if change.prompt else change.session.id if change.session else ""
        if by_session in self._running:
            await self._look(by_session)

    async def _look(self, by_session: str) -> None:
        review = self._running.get(by_session)
        if review is None:
            return
        session = self._loop.state.sessions.get(by_session)
        prompts = [p for p in self._loop.state.of_session(by_session) if p.state == "open"]
        for prompt in prompts:
            if prompt.kind not in PAUSES:
                await self._refuse(prompt)
        ready = next((p for p in prompts if p.kind == "ready"), None)
        failed = next((p for p in prompts if p.kind == "problem" and p.questions), None)
        if ready is not None and session is not None:
            text = await self._said(session) or ready.body
            await self._done(replace(review, state="done", text=text[: review_text.LONGEST_REVIEW]), session)
            await self._loop.dismiss(ready.id, "yourcall")  # nobody need tell it anything
        elif failed is not None or session is None:
            why = f"{failed.title}: {failed.body}" if failed is not None else "its session has ended"
            text = await self._said(session) if session is not None else ""
            await self._done(replace(review, state="failed", text=text, detail=why[:500]), session)

    async def _refuse(self, prompt: Prompt) -> None:
        """The reviewer wants more than to read. Where no option refuses it, a person decides."""
        choices: dict[str, tuple[str, ...]] = {}
        for question in prompt.questions:
            no = next((o for wanted in ("deny", "stop") for o in question.options if o.effect == wanted), None)
            if no is None or no.effect not in REFUSING:
                return
            choices[question.id] = (no.id,)
        if choices and prompt.answerable:
            texts = {question.id: NO for question in prompt.questions if question.free_text}
            answer = Answer(secrets.token_hex(12), "yourcall", VIA, choices, texts, author_certainty="yourcall")
            await self._loop.answer(prompt.id, answer, 0.0)

    async def _done(self, review: Review, session: Session | None) -> None:
        cost = session.cost_usd if session is not None else 0.0
        await self._rows.put_review(replace(review, done_at=time.time(), cost_usd=cost))
        self._running.pop(review.by_session, None)

    async def _said(self, session: Session) -> str:
        page = await self._talks.page(session, "", before=None, after=None, file="", limit=PAGE)
        entries = page.entries if isinstance(page, Page) else ()
        said = [e.text.strip() for e in entries if isinstance(e, AssistantText) and not e.subagent]
        return "\n\n".join(text for text in said if text)

    async def _stop(self, review: Review) -> None:
        session = self._loop.state.sessions.get(review.by_session)
        if session is not None and session.state != "ended":
            await self._started.stop(session)
