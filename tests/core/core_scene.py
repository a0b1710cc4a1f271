"""A short stage for the core: events go in one after the other, rows and wishes come out."""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.core.outcomes import verdict_of
from yourcall.core.replay import prompt_of, recall, replay
from yourcall.core.state import State, Step
from yourcall.model.events import (
    AnswerGiven,
    AnswerWritten,
    AnyCommand,
    AnyEvent,
    CallSettled,
    DialogClosed,
    Event,
    HolderLost,
    PromptRaised,
    SessionEnded,
    SessionSeen,
)
from yourcall.model.prompts import Answer, Option, Prompt, PromptState, Question, Verdict
from yourcall.model.sessions import Session

DECISION = Question(
    "decision",
    "May it?",
    (
        Option("allow", "Allow", "allow_once"),
        Option("always", "Allow always", "allow_always"),
        Option("deny", "Deny", "deny"),
        Option("stop", "Deny and stop", "stop"),
    ),
    free_text=True,
)


def permission(prompt_id: str = "p1", **fields: object) -> Prompt:
    prompt = Prompt(
        id=prompt_id,
        kind="permission",
        agent="claude",
        session_id="s1",
        cwd="/src",
        title="ls",
        opened_at=1.0,
        questions=(DECISION,),
        fingerprint="ls",
        answerable=True,
    )
    return replace(prompt, **fields)


def answer(choice: str = "allow", answer_id: str = "a1", by: str = "anna") -> Answer:
    return Answer(answer_id, by, "phone", {"decision": (choice,)})


class Scene:
    """The state, the rows that a disk would hold, the log, and what was wished for."""

    def __init__(self, *events: AnyEvent) -> None:
        self.state = State()
        self.rows: dict[str, Prompt] = {}
        self.sessions: dict[str, Session] = {}
        self.log: list[AnyEvent] = []
        self.wishes: list[AnyCommand] = []
        self.at = 10.0
        self.feed(*events)

    def feed(self, *events: AnyEvent) -> Step:
        """Each event a second later than the one before, unless it brings a time of its own."""
        done = Step()
        for event in events:
            self.at += 1.0
            told: AnyEvent = event if event.at else _timed(event, self.at)
            done = recall(self.state, told, self.rows.get(prompt_of(told)))
            self.state.take(done)
            self.rows.update((p.id, p) for p in done.prompts)
            self.sessions.update((s.id, s) for s in done.sessions)
            self.wishes += done.commands
            if done.changed:
                self.log.append(told)
        assert replay(self.log) == (self.rows, self.sessions)
        return done

    def row(self, prompt_id: str = "p1") -> Prompt:
        return self.rows[prompt_id]

    def verdict(self, answer_id: str = "a1", prompt_id: str = "p1") -> Verdict:
        return verdict_of(self.row(prompt_id), answer_id)

    def story(self, prompt_id: str = "p1") -> list[str]:
        """The history as a person reads it."""
        return [f"{m.state} by {m.by}: {m.detail}" for m in self.row(prompt_id).history]


def _timed(event: AnyEvent, at: float) -> AnyEvent:
    assert isinstance(event, Event)
    return replace(event, at=at)


SESSION = SessionSeen(0, Session("s1", "claude", "/src", "working", pid=7, pid_started="then"))


def asked(**fields: object) -> Scene:
    """A session, and one request that is held."""
    return Scene(SESSION, PromptRaised(0, permission(**fields)))  # type: ignore[arg-type]


def answered(choice: str = "allow") -> Scene:
    scene = asked()
    scene.feed(AnswerGiven(0, "p1", answer(choice)))
    return scene


def sent(choice: str = "allow") -> Scene:
    scene = answered(choice)
    scene.feed(AnswerWritten(0, "p1", "a1"))
    return scene


def in_state(state: PromptState) -> Scene:
    """The shortest true story that leads to this state."""
    match state:
        case "open":
            return asked()
        case "answering":
            return answered()
        case "sent":
            return sent()
        case "accepted":
            scene = sent()
            scene.feed(DialogClosed(0, "p1", "busy"))
        case "confirmed":
            scene = sent()
            scene.feed(CallSettled(0, "p1", "allowed", "held"))
        case "desk":
            scene = asked()
            scene.feed(DialogClosed(0, "p1", "busy"))
        case "ended":
            scene = asked()
            scene.feed(SessionEnded(0, "s1"))
        case "unsure":
            scene = answered()
            scene.feed(HolderLost(0, "p1", "broken"))
    assert scene.row().state == state
    return scene
