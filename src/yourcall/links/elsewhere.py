"""Is what a screen shows also asked through the agent's own control socket?

Rule: what the socket carries is answered there and nowhere else; a key beside it could answer twice. A client of a
shared server does not say which conversation it shows, so its folder is the sign. Dialogs of the client itself
(trust, start-up pages) never reach the socket.
"""

from __future__ import annotations

from yourcall.core.state import State

SOCKET = "socket"
CARRIED = frozenset({"permission", "question", "elicitation"})


def asked_elsewhere(state: State, session_id: str, kind: str | None) -> bool:
    """The socket has raised what this session's screen shows; of one and the same call the kinds may differ."""
    session = state.sessions.get(session_id)
    kinds = CARRIED if kind in CARRIED else {kind}
    return session is not None and any(
        prompt.link == SOCKET
        and prompt.state in ("open", "answering", "sent")
        and (prompt.agent, prompt.cwd) == (session.agent, session.cwd)
        and prompt.kind in kinds
        for prompt in state.prompts.values()
    )


def served(state: State, session_id: str) -> bool:
    """There is a conversation of this agent in this folder that a socket tells of: it gets the first word."""
    session = state.sessions.get(session_id)
    return session is not None and any(
        (each.agent, each.cwd) == (session.agent, session.cwd)
        and each.state != "ended"
        and any(link.kind == SOCKET for link in each.links)
        for each in state.sessions.values()
    )
