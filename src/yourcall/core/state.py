"""What the core knows right now, and what one step changes about it.

Rule: `State` is changed in one place only, `State.take`, and only by rows that a step made.
"""

from __future__ import annotations

from msgspec import Struct, field

from yourcall.core.identity import unsettled
from yourcall.model.events import AnyCommand
from yourcall.model.prompts import Prompt, Verdict
from yourcall.model.sessions import Session


class Step(Struct, frozen=True):
    """The answer of the core to one event: new rows, wishes, and a word for whoever asked."""

    prompts: tuple[Prompt, ...] = ()
    sessions: tuple[Session, ...] = ()
    commands: tuple[AnyCommand, ...] = ()
    verdict: Verdict | None = None

    @property
    def changed(self) -> bool:
        return bool(self.prompts or self.sessions)


class State(Struct):
    """The sessions that live and the prompts that are not settled; the rest is on disk."""

    prompts: dict[str, Prompt] = field(default_factory=dict[str, Prompt])
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])

    def take(self, step: Step) -> None:
        for session in step.sessions:
            if session.state == "ended":
                self.sessions.pop(session.id, None)
            else:
                self.sessions[session.id] = session
        for prompt in step.prompts:
            if unsettled(prompt):
                self.prompts[prompt.id] = prompt
            else:
                self.prompts.pop(prompt.id, None)

    def of_session(self, session_id: str) -> list[Prompt]:
        return [p for p in self.prompts.values() if p.session_id == session_id]
