"""Conversations of sessions, for whoever asks: the agent says which file, `history` reads it, off the loop.

Rule: a file that cannot be read is a sentence; one that is not there yet is an empty page.
"""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from yourcall.agents.spec import Agent
from yourcall.links import history
from yourcall.links.transcripts import LONGEST_LINE, Tail, identity, opened
from yourcall.model.conversation import Page, Picture
from yourcall.model.messages import Message, from_entries
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session


class Messages(Struct, frozen=True):
    """Some messages, and where a follower goes on."""

    found: tuple[Message, ...]
    end: int
    file: str


class Conversations:
    def __init__(self, agent_of: Callable[[str], Agent | None]) -> None:
        self._agent_of = agent_of

    async def page(
        self, session: Session, subagent: str, /, *, before: int | None, after: int | None, file: str, limit: int
    ) -> Page | Refused:
        agent = self._agent_of(session.agent)
        path = await asyncio.to_thread(_path, agent, session, subagent) if agent else ""
        if agent is None or not path:
            return Refused("Where this conversation is written is not known.")
        return await asyncio.to_thread(_page, Path(path), agent.read_entry, before, after, file, limit)

    async def pictures(
        self, session: Session, subagent: str, /, *, file: str, offset: int
    ) -> list[Picture] | Refused:
        """The pictures of the record that begins at this place of this file."""
        agent = self._agent_of(session.agent)
        path = await asyncio.to_thread(_path, agent, session, subagent) if agent else ""
        if agent is None or agent.read_pictures is None or not path:
            return Refused("There are no pictures of this conversation.")
        line = await asyncio.to_thread(_line_at, Path(path), file, offset)
        return agent.read_pictures(line) if line else Refused("That place is not in this conversation any more.")

    async def messages(self, session: Session, /, *, after: int, file: str) -> Messages | Refused:
        """The whole messages added after this place of this file; -1: none of them, but where it ends now."""
        agent = self._agent_of(session.agent)
        path = agent.conversation_of(session, "") if agent else ""
        if agent is None or not path:
            return Refused("Where this conversation is written is not known.")
        return await asyncio.to_thread(_messages, Path(path), agent, after, file)


def _path(agent: Agent, session: Session, subagent: str) -> str:
    """The file; of a sub-agent only a part of the name may be known, and then the one that fits is looked for."""
    path = agent.conversation_of(session, subagent)
    return next(glob.iglob(path), "") if subagent and "*" in path else path


def _messages(path: Path, agent: Agent, after: int, file: str) -> Messages:
    tail = Tail(path, 0)
    if after >= 0:
        same = file in ("", tail.identity)
        tail = Tail.at(path, after if same else 0)
    lines = tail.new_lines() if after >= 0 else []
    if agent.read_message is not None:
        found = [said for line in lines if (said := agent.read_message(line)) is not None]
    else:
        found = from_entries(entry for line in lines for entry in agent.read_entry(line))
    return Messages(tuple(found), tail.offset, tail.identity)


def _line_at(path: Path, file: str, offset: int) -> bytes:
    """The line that begins here, if it is still that file; empty if not."""
    try:
        with opened(path) as source:
            if identity(os.fstat(source.fileno())) != file:
                return b""
            source.seek(offset)
            data = b""
            while b"\n" not in data and len(data) <= LONGEST_LINE and (part := source.read(1 << 20)):
                data += part
            return data.partition(b"\n")[0]
    except (OSError, ValueError):
        return b""


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
