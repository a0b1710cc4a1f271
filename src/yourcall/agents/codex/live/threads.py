"""A thread of an app-server, what is under way in it, and the session that it is for people.

Rule: a thread without a record of its own is a helper of Codex's (it makes titles), and a sub-agent's belongs to
the session above it: neither is a session.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from yourcall.agents.codex.requests import AGENT
from yourcall.agents.codex.wire import Item, Thread
from yourcall.agents.session_spec import Child
from yourcall.model.events import SessionSeen
from yourcall.model.sessions import Link, Session, SessionState

WAITING = frozenset({"waitingOnApproval", "waitingOnUserInput"})
STATES: dict[str, SessionState] = {"active": "working", "idle": "idle", "systemError": "idle"}

SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it becomes a session's id, and part of an address
LONGEST_PATH = 4096


class Known(Struct):
    """A thread, and what is under way in it."""

    thread: Thread
    subscribed: bool = False
    turn: str = ""
    ended: str = ""  # the last turn whose end was told
    items: dict[str, Item] = field(default_factory=dict[str, Item])
    last: Item = Item()
    pause: str = ""  # the prompt that waits for the next instruction
    instructing: bool = False  # our next instruction is on its way
    stopping: bool = False  # we asked for the end of this turn
    afterwards: str = ""  # what to say once the turn that we stop is over


def seen(
    thread: Thread, link: Link, child: Child | None, at: float, state: SessionState | None = None
) -> SessionSeen:
    """Its session now. `child`: a server of our own, which nobody shows in a terminal."""
    told: SessionState = STATES.get(thread.status.type, "unknown")
    if WAITING & set(thread.status.activeFlags or []):
        told = "unknown"  # the prompts themselves tell
    session = Session(
        thread.id,
        AGENT,
        thread.cwd[:LONGEST_PATH],
        state or told,
        mode="headless" if child else "terminal",
        links=(link,),
        pid=child.pid if child else 0,
        pid_started=child.started if child else "",
        version=thread.cliVersion[:40],
        transcript=(thread.path or "")[:LONGEST_PATH],
        started_at=at,
        seen_at=at,
    )
    return SessionSeen(at, session)
