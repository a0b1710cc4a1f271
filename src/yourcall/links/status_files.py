"""What an agent's own process says of itself, in a file that it keeps for that.

Rule: a file of another session, or of another process with the same number, says nothing.
"""

from __future__ import annotations

from pathlib import Path

from yourcall.agents.sightings import AgentStatus
from yourcall.agents.spec import Agent
from yourcall.model.sessions import Session


def status_of(agent: Agent, session: Session) -> AgentStatus | None:
    path = agent.status_file_of(session)
    try:
        status = agent.read_status(Path(path).read_bytes()) if path else None
    except (OSError, ValueError):
        return None
    if status is None or status.session_id != session.id:
        return None
    return None if status.pid_started and status.pid_started != session.pid_started else status
