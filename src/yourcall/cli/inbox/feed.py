"""What the inbox hears from the daemon, on threads of their own, and how it gives an answer.

Rule: a thread only ever posts messages to the app; it touches no widget. An answer is posted once and never again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from textual.message import Message

from yourcall.cli.client import get, live
from yourcall.cli.commands.answer import give
from yourcall.cli.commands.watch import FIRST_RETRY, LONGEST_RETRY
from yourcall.cli.instance import Problem
from yourcall.cli.requests import judged
from yourcall.cli.views import Judged, Prompt, Result, Session, read

# Twice a second looks alive; a look costs the daemon a capture of half a millisecond.
LOOK_S = 0.5

Post = Callable[[Message], object]


class Whole(Message):
    """All that waits, and the sessions: at the start, and after a break."""

    def __init__(self, prompts: list[Prompt], sessions: list[Session]) -> None:
        super().__init__()
        self.prompts, self.sessions = prompts, sessions


class PromptCame(Message):
    def __init__(self, prompt: Prompt) -> None:
        super().__init__()
        self.prompt = prompt


class SessionCame(Message):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session


class ConnectionChanged(Message):
    """The line to the daemon: empty while it holds, else what is wrong."""

    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem


class OutcomeReceived(Message):
    """What the daemon said to an answer."""

    def __init__(self, prompt_id: str, result: Result) -> None:
        super().__init__()
        self.prompt_id, self.result = prompt_id, result


class EditJudged(Message):
    """What the daemon says of an edited command, or why it says nothing."""

    def __init__(self, prompt_id: str, command: str, judged: Judged | None, problem: str = "") -> None:
        super().__init__()
        self.prompt_id, self.command, self.judged, self.problem = prompt_id, command, judged, problem


class Looked(Message):
    """What a session's pane shows, or why it cannot be seen."""

    def __init__(self, session_id: str, screen: str, problem: str = "") -> None:
        super().__init__()
        self.session_id, self.screen, self.problem = session_id, screen, problem


def follow(home: Path, post: Post) -> None:
    """Tell everything that happens, for as long as the app runs; a feed that breaks is taken up again."""
    threading.Thread(target=_follow, args=(home, post), name="inbox-feed", daemon=True).start()


def _follow(home: Path, post: Post) -> None:
    after: int | None = None
    pause = FIRST_RETRY
    while True:
        try:
            with live(home, after) as feed:
                pause = FIRST_RETRY
                while True:
                    after = _hear(home, json.loads(feed.recv()), after, post)
        except Problem as problem:
            post(ConnectionChanged(problem.message))
        except Exception as error:  # a broken line has many names; what it is called changes nothing
            post(ConnectionChanged(f"The line to yourcall broke ({type(error).__name__}); trying again."))
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_RETRY)


def _hear(home: Path, message: dict[str, Any], after: int | None, post: Post) -> int | None:
    match message.get("type"):
        case "hello":
            # The whole list is taken in any case: it is small, and it says what was answered in between.
            prompts = read(get(home, "/api/prompts"), list[Prompt])
            sessions = read(get(home, "/api/sessions"), list[Session])
            post(Whole(prompts, sessions))
            post(ConnectionChanged(""))
            return message.get("seq", after) if message.get("snapshot") else after
        case "prompt":
            post(PromptCame(read(message.get("prompt"), Prompt)))
        case "session":
            post(SessionCame(read(message.get("session"), Session)))
        case _:
            pass
    return message.get("seq", after)


def answer(home: Path, prompt_id: str, fields: dict[str, str], post: Post) -> None:
    """Give it, without waiting for proof: that comes with the feed."""

    def run() -> None:
        try:
            _, result = give(home, prompt_id, fields, 0.0)
        except Problem as problem:
            word = "unsure" if problem.exit_code == 5 else "refused"
            result = Result(word, problem.message)
        post(OutcomeReceived(prompt_id, result))

    threading.Thread(target=run, name="inbox-answer", daemon=True).start()


def judge(home: Path, prompt: Prompt, command: str, post: Post) -> None:
    """Ask the daemon how risky this command is instead of the prompt's own."""

    def run() -> None:
        try:
            verdict = judged(home, prompt.id, json.dumps(prompt.with_command(command)))
        except Problem as problem:
            post(EditJudged(prompt.id, command, None, problem.message))
        else:
            post(EditJudged(prompt.id, command, verdict))

    threading.Thread(target=run, name="inbox-judge", daemon=True).start()


class FeedReader:
    """Looks at one session's pane at a time, and only while somebody wants to see it."""

    def __init__(self, home: Path, post: Post) -> None:
        self._home, self._post = home, post
        self._at = ""
        self._changed = threading.Event()
        threading.Thread(target=self._run, name="inbox-eye", daemon=True).start()

    def look(self, session_id: str) -> None:
        """At this one from now on; at none if it is empty."""
        if session_id != self._at:
            self._at = session_id
            self._changed.set()

    def _run(self) -> None:
        shown: tuple[str, str] = ("", "")
        while True:
            self._changed.wait(LOOK_S if self._at else None)
            self._changed.clear()
            at = self._at
            if not at:
                shown = ("", "")
                continue
            try:
                payload: Any = get(self._home, f"/api/sessions/{quote(at, safe='')}/screen")
                seen, problem = str(payload["screen"]), ""
            except Problem as error:
                seen, problem = "", error.message
            if (at, seen or problem) != shown:
                shown = (at, seen or problem)
                self._post(Looked(at, seen, problem))
