"""A session's row: what is merged when it speaks, and what a prompt's life says about it.

Rule: only reads the state; `step` decides when. A prompt's end moves its session only out of `waiting`: the proof
of an old call often comes after the turn is over, and must not make an idle session look busy.
"""

from __future__ import annotations

from msgspec.structs import replace

from yourcall.core.state import State
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session, SessionState


def merged(old: Session, new: Session) -> Session:
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
