"""Tells devices what was allowed from the command line, and what was refused to an agent's own process.

Rule: a word for the person and nothing to answer; said once, without a receipt. What is missed here is in the
record and in the app.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from msgspec.structs import replace

from yourcall.channels.channel import Channel, Notice, Sent
from yourcall.channels.context import Loop
from yourcall.channels.notice import notice
from yourcall.core.notify_policy import Notify
from yourcall.core.redact import masked
from yourcall.core.safety import chosen
from yourcall.model.prompts import Moment, Prompt
from yourcall.model.sessions import Session

log = logging.getLogger(__name__)

PATIENCE_S = 30.0
ALLOWS = frozenset({"allow_once", "allow_session", "allow_always"})

# A process that tries again and again is told of so often, and then only written down.
MOST_WAITING = 20
MOST_REMEMBERED = 5_000


class Alerts:
    def __init__(
        self, loop: Loop, channels: Callable[[], Sequence[Channel]], notify: Callable[[], Notify], url: str
    ) -> None:
        self._loop, self._channels, self._notify, self._url = loop, channels, notify, url
        self._since = 0.0
        self._seen: dict[str, int] = {}  # how much of the history of a prompt was looked at
        self._warned: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until cancelled; what was before is not told again."""
        self._since = time.time()
        try:
            while True:
                async with self._loop.subscribe(None) as feed:
                    prompts, sessions = self._loop.store.live()
                    self._seen |= {prompt.id: len(prompt.history) for prompt in prompts}
                    self._warned |= {session.id: session.warning for session in sessions}
                    async for change in feed:
                        for word in self._words(change.prompt, change.session):
                            self._begin(word)
        finally:
            for task in self._tasks:
                task.cancel()

    def _words(self, prompt: Prompt | None, session: Session | None) -> Iterator[Notice]:
        if session is not None:
            before = self._warned.get(session.id, "")
            if session.state == "ended":
                self._warned.pop(session.id, None)
            elif session.warning != before:
                self._warned[session.id] = session.warning
                if "tried to answer" not in session.warning:  # that is told with its prompt
                    yield self._warning(session)
        if prompt is not None:
            fresh = [moment for moment in prompt.history[self._looked_at(prompt) :] if moment.at >= self._since]
            yield from (word for moment in fresh if (word := self._word(prompt, moment)) is not None)

    def _looked_at(self, prompt: Prompt) -> int:
        """How many lines of its history were looked at before now."""
        before = self._seen.pop(prompt.id, 0)
        self._seen[prompt.id] = len(prompt.history)
        if len(self._seen) > MOST_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return before

    def _word(self, prompt: Prompt, moment: Moment) -> Notice | None:
        if moment.by in ("agent process", "fleet") and moment.detail.startswith("refused:"):
            words = "A process of an agent's tried to answer this. It was refused; a person must answer it."
            return self._about(prompt, moment, "An agent tried to answer for you", words)
        answer = prompt.answer
        if answer is None or moment.state != "answering" or moment.answer_id != answer.id:
            return None
        wanted = self._notify().local_allows
        told = wanted == "all" or (wanted == "unproven" and answer.author_certainty != "terminal")
        allows = any(option.effect in ALLOWS for option in chosen(prompt, answer))
        if answer.via != "socket" or not allows or not told:
            return None
        words = f"Allowed from the command line of this machine ({answer.author_certainty or 'local process'})"
        return self._about(prompt, moment, "Allowed from the command line", words)

    def _about(self, prompt: Prompt, moment: Moment, title: str, wording: str) -> Notice:
        name = sha256(f"{prompt.id} {moment.at} {title}".encode()).hexdigest()[:16]
        made = notice(f"word-{name}", [prompt], titles_only=self._notify().titles_only, url=self._url)
        text = "\n".join(filter(None, (wording, made.text)))
        return replace(made, title=title, text=text, standing="over", outcome=wording, buttons=(), risk=None)

    def _warning(self, session: Session) -> Notice:
        name = sha256(f"{session.id} {session.warning}".encode()).hexdigest()[:16]
        wording = masked(session.warning.removeprefix("refused: "))
        text = "" if self._notify().titles_only else wording
        about = Prompt(f"word-{name}", "problem", session.agent, session.id, session.cwd, text, 0.0, "ended")
        made = notice(about.id, [about], url="")
        title = "An agent's process was refused"
        return replace(made, title=title, text=text, standing="over", outcome="Refused and recorded", buttons=())

    def _begin(self, word: Notice) -> None:
        for channel in self._channels():
            if channel.abilities.rung == "desk":
                continue
            for target in channel.targets():
                if len(self._tasks) >= MOST_WAITING:
                    return
                task = asyncio.create_task(self._send(channel, target, word))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _send(self, channel: Channel, target: str, word: Notice) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                done = await channel.send(target, word)
            if not isinstance(done, Sent):
                log.warning("%s did not take a word about the command line: %s", channel.name, type(done).__name__)
        except Exception as error:
            log.warning("%s did not take a word about the command line: %s", channel.name, type(error).__name__)
