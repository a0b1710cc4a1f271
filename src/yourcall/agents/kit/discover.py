"""A session that is known only by its process: it goes by its pid until the agent itself says its id.

Rule: it is connected to a tmux pane only if exactly one pane has its terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from yourcall.agents.sightings import Pane, Process
from yourcall.model.sessions import Link, Session

UNNAMED = "pid-"  # the prefix of an id that yourcall made because the session's own is not known


def session_by_pid(process: Process, panes: Sequence[Pane], agent: str, outside: str) -> Session:
    """`outside`: the note on a session that does not run in tmux."""
    own = [pane for pane in panes if process.tty and pane.tty == process.tty]
    links = (Link("tmux", own[0].id, own[0].server),) if len(own) == 1 else ()
    return Session(
        id=f"{UNNAMED}{process.pid}-{process.started}",
        agent=agent,
        cwd=process.cwd,
        links=links,
        pid=process.pid,
        pid_started=process.started,
        started_at=process.started_at,
        note="" if links else outside,
    )
