"""A small true world around the core: agents with dialogs, hooks that hold them, a desk, and a daemon with a disk.

Rule: it never asks the core what is true. It knows who decided each request, and it tells the core only what a
real edge could tell: late, twice, out of order between sources, or never (a crash), but never a lie.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from yourcall.core.identity import unsettled
from yourcall.core.outcomes import verdict_of
from yourcall.core.replay import prompt_of, recall
from yourcall.core.state import State, Step
from yourcall.model.events import (
    AnswerGiven,
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    Deliver,
    DialogClosed,
    DialogStillOpen,
    HolderConnected,
    HolderLost,
    PromptRaised,
    Release,
    SessionEnded,
)
from yourcall.model.prompts import Answer, Option, Outcome, Prompt, Question, Verdict
from yourcall.model.sessions import Session

OPTIONS = (
    Option("allow", "Allow", "allow_once"),
    Option("deny", "Deny", "deny"),
    Option("stop", "Deny and stop", "stop"),
)
OUTCOME_OF: dict[str, Outcome] = {"allow": "allowed", "deny": "denied", "stop": "stopped"}


def permission(prompt_id: str, session_id: str, fingerprint: str, at: float) -> Prompt:
    question = Question("decision", "May it?", OPTIONS, free_text=True)
    return Prompt(
        id=prompt_id,
        kind="permission",
        agent="claude",
        session_id=session_id,
        cwd="/src",
        title="ls",
        opened_at=at,
        questions=(question,),
        fingerprint=fingerprint,
        answerable=True,
    )


@dataclass
class Request:
    """One request of an agent: its dialog, the hook process that holds it, and what truly became of it."""

    prompt: Prompt
    dialog_open: bool = True
    session_lives: bool = True
    decided_by: str = ""  # "desk", "other hook", or the id of one of our answers
    outcome: Outcome | None = None
    # the hook process
    alive: bool = True
    connection: int = 0  # counted by the hook; 0 is none
    known: int = 0  # the connection that the daemon has heard of
    mail: deque[Deliver | Release] = field(default_factory=deque)
    wrote: str = ""
    pending: str = ""  # written by the hook, not yet looked at by the agent
    ignored: bool = False
    # on the socket, in order: what the hook said, and the end of its connection
    line: deque[tuple[int, AnyEvent]] = field(default_factory=deque)
    # what the core wished
    carried: list[str] = field(default_factory=list)
    unnamed_proof: bool = False

    @property
    def connected(self) -> bool:
        return self.connection > 0

    def decide(self, by: str, outcome: Outcome) -> None:
        self.decided_by, self.outcome, self.dialog_open = by, outcome, False

    @property
    def to(self) -> Literal["busy", "idle"]:
        return "idle" if self.outcome == "stopped" else "busy"


class World:
    def __init__(self) -> None:
        self.now = 1000.0
        self.requests: dict[str, Request] = {}
        self.answers: dict[str, tuple[str, Answer, Verdict]] = {}  # id -> prompt, answer, first verdict
        # the disk
        self.rows: dict[str, Prompt] = {}
        self.sessions: dict[str, Session] = {}
        self.log: list[AnyEvent] = []
        # the daemon
        self.state: State | None = State()
        self.crash_next = ""
        self.count = 0

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    # --- the daemon -----------------------------------------------------------------------------------------

    def post(self, event: AnyEvent) -> Step | None:
        """Decide, record, perform; a crash may fall before or after the record."""
        assert self.state is not None
        before = msgspec.json.encode(self.state)
        known = self.rows.get(prompt_of(event))
        done = recall(self.state, event, known)
        assert msgspec.json.encode(self.state) == before, "a step changed the state it was given"
        assert recall(self.state, event, known) == done, "the same step gave another result"
        crash, self.crash_next = self.crash_next, ""
        if crash == "before":
            self.crash()
            return None
        self.state.take(done)
        if done.changed:
            self.log.append(event)
            self.rows.update((p.id, p) for p in done.prompts)
            self.sessions.update((s.id, s) for s in done.sessions)
        self._check_wishes(done)
        if crash == "after":
            self.crash()
            return done
        for command in done.commands:
            request = self.requests[command.prompt_id]
            if request.connected and request.connection == request.known:
                request.mail.append(command)
        return done

    def hear(self, request: Request) -> None:
        """What a hook said, or the end of its connection, comes to the daemon; in the order it was said."""
        request.known, event = request.line.popleft()
        if isinstance(event, HolderLost):
            request.known = 0
        self.post(event)

    def _check_wishes(self, done: Step) -> None:
        for command in done.commands:
            request = self.requests[command.prompt_id]
            if isinstance(command, Release):
                assert not request.prompt.id or self.rows[command.prompt_id].state != "open"
                continue
            new = command.answer.id
            row = self.rows[command.prompt_id]
            assert row.state == "answering"
            assert row.answer == command.answer
            for old in request.carried:
                on_its_way = [m for m in request.mail if isinstance(m, Deliver) and m.answer.id == old]
                assert not on_its_way or old == new, "a second answer while the first is in the holder's hands"
                assert request.wrote != old, "carried again although it was written"
            request.carried.append(new)

    def crash(self) -> None:
        """What a hook has not read by then it does not do: the one who said it is gone, and may say it again."""
        self.state = None
        for request in self.requests.values():
            request.connection = request.known = 0
            request.line.clear()
            request.mail.clear()

    def start(self) -> None:
        self.state = State()
        prompts = tuple(p for p in self.rows.values() if unsettled(p))
        sessions = tuple(s for s in self.sessions.values() if s.state != "ended")
        self.state.take(Step(prompts=prompts, sessions=sessions))

    # --- the hook process -----------------------------------------------------------------------------------

    def say(self, request: Request, event: AnyEvent) -> None:
        if request.connected and self.state is not None:
            request.line.append((request.connection, event))

    def connect(self, request: Request, by_raising: bool) -> None:
        self.count += 1
        request.connection, request.mail = self.count, deque()
        if by_raising and not request.wrote:
            self.say(request, PromptRaised(self.tick(), request.prompt))
        else:
            self.say(request, HolderConnected(self.tick(), request.prompt.id, request.wrote))

    def disconnect(self, request: Request, why: str = "") -> None:
        self.say(request, HolderLost(self.tick(), request.prompt.id, why))
        request.connection = 0
        request.mail.clear()

    def leave(self, request: Request) -> None:
        request.alive = False
        self.disconnect(request)

    def read_mail(self, request: Request, may_write: bool, stays: bool) -> None:
        """The hook takes the next thing the daemon sent, and does it."""
        message = request.mail.popleft()
        if isinstance(message, Release):
            self.leave(request)
            return
        answer_id = message.answer.id
        if request.wrote:
            return
        if not request.dialog_open:
            self.say(request, DialogClosed(self.tick(), request.prompt.id, request.to))
            self.leave(request)
        elif not may_write:
            self.say(request, AnswerNotWritten(self.tick(), request.prompt.id, answer_id, "its state is unclear"))
        else:
            request.wrote = request.pending = answer_id
            self.say(request, AnswerWritten(self.tick(), request.prompt.id, answer_id))
            if not stays:
                self.leave(request)

    # --- the truth, against what the rows say ---------------------------------------------------------------

    def check(self) -> None:
        for prompt_id, request in self.requests.items():
            row = self.rows.get(prompt_id)
            if row is not None:
                try:
                    self._check_row(request, row)
                except AssertionError as error:
                    raise AssertionError(f"{error}\n{request}\n{row.answer}\n{row.history}") from None
        for answer_id, (prompt_id, _, first) in self.answers.items():
            row = self.rows.get(prompt_id)
            if row is not None:
                self._check_verdict(self.requests[prompt_id], row, answer_id, first)

    def _check_row(self, request: Request, row: Prompt) -> None:
        answer_id = row.answer.id if row.answer else ""
        ours = request.decided_by in self.answers
        match row.state:
            case "open":
                assert not row.answer
                assert not ours, "an answer of ours decided, and the prompt is shown as open"
                assert not request.pending or request.ignored, "reopened with an answer before the agent's eyes"
            case "answering":
                assert row.answer
            case "sent":
                assert request.wrote == answer_id
            case "accepted":
                assert request.wrote == answer_id
                assert not request.dialog_open
            case "confirmed":
                assert request.decided_by == answer_id or self.alike(request, row), "a false confirmed"
            case "desk":
                assert request.decided_by
                assert not ours, "ours decided, and the row says desk"
            case "ended":
                assert not request.session_lives
                assert not ours
            case "unsure":
                pass
        if row.outcome not in (None, "unknown"):
            assert row.outcome == request.outcome, "an outcome that nobody saw"
        if (
            row.state in ("open", "answering", "sent", "unsure")
            and self.state is not None
            and request.session_lives
        ):
            assert row.id in self.state.prompts, "an open prompt was dropped"
        assert row.history[0].state == "open"
        assert row.history[-1].state == row.state

    def alike(self, request: Request, row: Prompt) -> bool:
        """The one limit: somebody else decided the same, and the agent's record does not tell the two apart.

        Either our answer was written too, and the record named nobody or just "a hook" (the user may have another
        one); or we had lost touch with our hook, and a hook decided as it was told to.
        """
        assert row.answer is not None
        wanted = OUTCOME_OF[row.answer.choices["decision"][0]]
        if (wanted == "allowed") != (request.outcome == "allowed"):
            return False
        if request.decided_by == "desk":
            return request.unnamed_proof and request.wrote == row.answer.id
        return request.wrote == row.answer.id or any(m.state == "unsure" for m in row.history)

    def _check_verdict(self, request: Request, row: Prompt, answer_id: str, first: Verdict) -> None:
        verdict = verdict_of(row, answer_id)
        if request.decided_by == answer_id:
            assert verdict.result not in ("too_late", "bounced", "refused"), verdict
        if verdict.result == "too_late":
            assert verdict.by, "somebody was too late, and is not told for whom"
        if verdict.result == "bounced" and first.result == "taken":
            assert any(m.state == "open" and m.answer_id == answer_id and m.detail for m in row.history)
        if first.result == "taken":
            assert verdict.result != "refused"
        else:
            assert verdict.result in ("too_late", "unsure", "bounced", "refused"), (
                "never taken, and yet on its way"
            )

    def proof(self, request: Request, named: bool) -> CallSettled:
        assert request.outcome is not None
        source = "unknown"
        if named:
            source = "desk" if request.decided_by == "desk" else "held"
        return CallSettled(self.tick(), request.prompt.id, request.outcome, source)  # type: ignore[arg-type]

    def sign(self, request: Request) -> AnyEvent | None:
        """What a look from outside tells: by the rules of the watch, never about a request that is held."""
        row = self.rows.get(request.prompt.id)
        if row is None or row.answerable or not request.session_lives:
            return None
        if not request.dialog_open and row.state in ("open", "sent"):
            return DialogClosed(self.tick(), row.id, request.to)
        if request.dialog_open and row.state in ("sent", "unsure") and not request.pending:
            return DialogStillOpen(self.tick(), row.id)
        return None

    def given(self, event: AnswerGiven, done: Step | None) -> None:
        if done is None or done.verdict is None:
            return
        _, _, first = self.answers.get(event.answer.id, ("", event.answer, Verdict("refused")))
        if first.result == "refused":  # what was refused may be given again; anything else was said for good
            self.answers[event.answer.id] = (event.prompt_id, event.answer, done.verdict)

    def ended(self, session_id: str) -> SessionEnded:
        return SessionEnded(self.tick(), session_id, "its process is gone")
