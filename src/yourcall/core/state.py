"""What the core knows right now, and what one step changes about it.

Rule: `State` is changed in one place only, `State.take`, and only by rows that a step made.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from yourcall.core.identity import unsettled
from yourcall.model.events import AnyCommand
from yourcall.model.prompts import Prompt, Verdict
from yourcall.model.sessions import Session, SessionState


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


def merged_session(old: Session, new: Session) -> Session:
    """What both say together: the latest word wins, empty fields say nothing, `seen_at` stays the old one."""
    same_process = new.pid in (0, old.pid)
    return Session(
        id=old.id,
        agent=new.agent or old.agent,
        cwd=new.cwd or old.cwd,
        state=old.state if new.state == "unknown" else new.state,
        mode=new.mode or old.mode,
        permission_mode=new.permission_mode or old.permission_mode,
        links=new.links or old.links,
        pid=new.pid or old.pid,
        # The start time belongs to the pid: kept for another process, it would declare that one dead.
        pid_started=new.pid_started or (old.pid_started if same_process else ""),
        version=new.version or old.version,
        transcript=new.transcript or old.transcript,
        # A way in makes the reason why there was none untrue.
        note=new.note or ("" if new.links else old.note),
        goes_on_as=new.goes_on_as,
        cost_usd=new.cost_usd or old.cost_usd,
        outlines=old.outlines,
        outlined_at=old.outlined_at,
        started_at=old.started_at or new.started_at,
        seen_at=old.seen_at,
        warning=old.warning,
    )


def waiting(state: State, session_id: str) -> tuple[Session, ...]:
    """Its row if it was not known to wait."""
    session = state.sessions.get(session_id)
    return () if session is None or session.state == "waiting" else (replace(session, state="waiting"),)


def no_longer_waiting(state: State, prompt: Prompt, to: SessionState) -> tuple[Session, ...]:
    """Its row after this prompt let it go, unless another prompt still keeps it."""
    session = state.sessions.get(prompt.session_id)
    if session is None or session.state != "waiting":
        return ()
    others = (p.state for p in state.of_session(prompt.session_id) if p.id != prompt.id)
    return () if any(s in ("open", "answering", "sent") for s in others) else (replace(session, state=to),)
