"""Random lives of sessions and prompts, decided by the real core: what the tests of the store record."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from yourcall.core.replay import prompt_of, recall, replay
from yourcall.core.state import State, Step
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallBound,
    CallSettled,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptRaised,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Option, Prompt, Question, Tool
from yourcall.model.sessions import Session
from yourcall.store.sqlite import Change, Fact, Store

T = TypeVar("T")


def body_of(prompt_id: str) -> bytes:
    return f'{{"tool_input": {{"command": "echo {prompt_id}"}}}}'.encode()


def name_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def prompt(prompt_id: str, session_id: str = "s1", at: float = 0.0) -> Prompt:
    question = Question("q", "Run it?", (Option("allow", "Yes", "allow_once"), Option("deny", "No", "deny")))
    return Prompt(
        id=prompt_id,
        kind="permission",
        agent="claude",
        session_id=session_id,
        cwd="/src/ünïcode \x00 ‮",
        title="Bash",
        opened_at=at,
        tool=Tool("Bash"),
        questions=(question,),
        request=name_of(body_of(prompt_id)),
        fingerprint=f"print-of-{prompt_id}",
        answerable=True,
    )


def session(session_id: str, state: str = "working", mode: str = "default", at: float = 0.0) -> Session:
    return Session(session_id, "claude", "/src", state=state, permission_mode=mode, seen_at=at)  # type: ignore[arg-type]


def answer(answer_id: str, choice: str = "allow") -> Answer:
    return Answer(answer_id, "phone", "http", {"q": (choice,)})


class Life:
    """The loop without its edges: it steps, keeps the state, and gives the facts that are to be recorded."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.state = State()
        prompts, sessions = store.live()
        self.state.take(Step(tuple(prompts), tuple(sessions)))
        self.known = {p.id: p for p in rows(store)[0].values()}

    def facts(self, events: Iterable[AnyEvent]) -> Iterator[Fact]:
        for event in events:
            done = recall(self.state, event, self.known.get(prompt_of(event)))
            self.state.take(done)
            self.known.update((p.id, p) for p in done.prompts)
            if done.changed:
                bodies = {}
                if isinstance(event, PromptRaised):
                    bodies = {event.prompt.request: body_of(event.prompt.id)}
                yield Fact(event, done.prompts, done.sessions, bodies)

    def run(self, events: Iterable[AnyEvent]) -> list[Change]:
        return asyncio.run(self.store.record(list(self.facts(events))))


def rows(store: Store) -> tuple[dict[str, Prompt], dict[str, Session]]:
    changes = store.changes_after(0, -1)
    return (
        {c.prompt.id: c.prompt for c in changes if c.prompt},
        {c.session.id: c.session for c in changes if c.session},
    )


def replayed(store: Store) -> tuple[dict[str, Prompt], dict[str, Session]]:
    return replay(event for _, event in store.facts())


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    try:
        yield store
    finally:
        store.close()


SESSIONS = ("s1", "s2", "s3")
PROMPTS = ("p1", "p2", "p3", "p4", "p5", "p6")
ANSWERS = ("a1", "a2", "a3")


def _raised(prompt_id: str, at: float) -> PromptRaised:
    # A prompt belongs to one session for good: p1, p4 to s1, and so on.
    return PromptRaised(at, prompt(prompt_id, SESSIONS[PROMPTS.index(prompt_id) % 3], at))


def event_of(number: int, at: float) -> AnyEvent:
    """The event with this number: one small integer is quick to make up, and shrinks well."""
    number, what = divmod(number, 16)
    number, which = divmod(number, len(PROMPTS))
    number, choice = divmod(number, 4)
    p, s, a = PROMPTS[which], SESSIONS[which % 3], ANSWERS[choice % 3]
    match what:
        case 0 | 1:
            state = ("working", "idle", "waiting", "unknown", "ended")[(choice + number) % 5]
            return SessionSeen(at, session(s, state, ("", "default", "plan")[number % 3], at))
        case 2 | 3 | 4:
            return _raised(p, at)
        case 5:
            return SessionEnded(at, s, "exit")
        case 6:
            return HolderConnected(at, p, ("", *ANSWERS)[choice])
        case 7:
            return HolderLost(at, p, "gone")
        case 8:
            return CallBound(at, p, f"call-{p}")
        case 9 | 10:
            return AnswerGiven(at, p, answer(a, ("allow", "deny")[number % 2]))
        case 11:
            return AnswerWritten(at, p, a)
        case 12:
            return AnswerNotWritten(at, p, a, "why not")
        case 13:
            return DialogClosed(at, p, "busy" if choice % 2 else "idle")
        case 14:
            return TraceLost(at, p, "lost") if choice else DialogStillOpen(at, p)
        case _:
            outcome = ("allowed", "denied", "stopped")[choice % 3]
            return CallSettled(at, p, outcome, ("held", "desk", "unknown")[number % 3])  # type: ignore[arg-type]


def stories(start: int = 1, length: int = 60) -> st.SearchStrategy[list[AnyEvent]]:
    """Events one second apart; many of them mean something, the rest must change nothing."""
    numbers = st.lists(st.integers(0, 16 * 6 * 4 * 6 - 1), max_size=length)
    return numbers.map(lambda chosen: [event_of(n, float(start + i)) for i, n in enumerate(chosen)])
