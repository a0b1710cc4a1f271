"""Conversations of sessions, for whoever asks: the agent says which file, `history` reads it, off the loop.

Rule: a file that cannot be read is a sentence; one that is not there yet is an empty page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from yourcall.agents.agent import Agent
from yourcall.conversation import Page
from yourcall.links import history
from yourcall.model import Refused, Session


class Conversations:
    def __init__(self, agent_of: Callable[[str], Agent | None]) -> None:
        self._agent_of = agent_of

    async def page(
        self, session: Session, subagent: str, /, *, before: int | None, after: int | None, file: str, limit: int
    ) -> Page | Refused:
        agent = self._agent_of(session.agent)
        path = agent.conversation_of(session, subagent) if agent else ""
        if agent is None or not path:
            return Refused("Where this conversation is written is not known.")
        return await asyncio.to_thread(_page, Path(path), agent.read_entry, before, after, file, limit)


def _page(
    path: Path, read: history.Reader, before: int | None, after: int | None, file: str, limit: int
) -> Page | Refused:
    try:
        if after is not None:
            return history.following(path, read, after, file)
        return history.page(path, read, before, limit, file)
    except FileNotFoundError:
        return Page()  # a session has no transcript before its first message
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is impossible"
        return Refused(f"The conversation cannot be read: {why}.")
