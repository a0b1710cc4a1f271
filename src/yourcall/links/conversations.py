"""Conversations of sessions, for whoever asks: the agent says which file, `history` reads it, off the loop.

Rule: a file that cannot be read is a sentence; one that is not there yet is an empty page.
"""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from yourcall.agents.spec import Agent
from yourcall.links.transcripts import LONGEST_LINE, Placed, Tail, identity, opened
from yourcall.model.conversation import Action, AnyEntry, Notice, Page, Picture, told
from yourcall.model.messages import Message, from_entries
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session

Reader = Callable[[bytes], list[AnyEntry]]
# What a line has that may be the start of a call, in the records of the agents we know: cheaper than reading it.
CALLS = (b'"tool_use"', b'_call"', b'"phase":"started"')

BLOCK = 256 * 1024
# Most of a transcript is not conversation. A page that finds little ends here, and says where the next one begins.
MOST_READ = 16 * 1024 * 1024
# A result whose call is not on the page: the call is not far above it, unless other work ran for long.
LOOK_FURTHER = 1024 * 1024
# Calls that never ended must not pile up in a follower that runs for days.
MOST_CALLS = 500


def page(path: Path, read: Reader, before: int | None = None, limit: int = 50, file: str = "") -> Page:
    """The last `limit` entries that begin before this offset; None: before the end of the file.

    With `file`, the offset belongs to that file; if another one is there now, its end is read instead.
    """
    with opened(path) as source:
        about = os.fstat(source.fileno())
        name, size = identity(about), about.st_size
        restarted = bool(file) and file != name
        end = _line_end(source, size if before is None or restarted else max(0, min(before, size)))
        entries: list[AnyEntry] = []
        reached = end
        lines = lines_before(source, end)
        for offset, line in lines:
            reached = offset
            entries.extend(reversed(_entries(read, offset, line)))
            if len(entries) >= limit or end - reached >= MOST_READ:
                break
        else:
            reached = 0
        entries.reverse()
        calls = _earlier(lines, read, _orphans(entries), reached)
        return Page(tuple(told(entries, calls)), reached or None, end, name, restarted)


def following(path: Path, read: Reader, after: int, file: str) -> Page:
    """What was added after this offset of this file; of another file, its last page."""
    tail = Tail.at(path, after)
    if tail.identity != file or not tail.continues():
        return replace(page(path, read), restarted=True)
    entries = [entry for offset, line in tail.new_placed() for entry in _entries(read, offset, line)]
    with opened(path) as source:
        calls = _earlier(lines_before(source, after), read, _orphans(entries), after)
    return Page(tuple(told(entries, calls)), after or None, tail.offset, tail.identity)


class Follower:
    """One transcript, followed from where it ends now. Cheap to ask: one `stat` when nothing was added."""

    def __init__(self, path: Path, read: Reader) -> None:
        self._tail = Tail(path, 0)
        self._read = read
        self._calls: dict[str, Action] = {}

    def new_entries(self) -> list[AnyEntry]:
        placed = self._tail.new_placed()
        if not placed:
            return []
        entries = told((e for at, line in placed for e in _entries(self._read, at, line)), self._calls)
        while len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]
        return entries


def lines_before(source: BinaryIO, end: int) -> Iterator[Placed]:
    """The lines that end at or before `end`, the last one first, each with its offset; None for one too long."""
    pieces: list[bytes] = []  # of the line that is being put together, its end first
    size, at = 0, end
    while at > 0:
        start = max(0, at - BLOCK)
        source.seek(start)
        data = source.read(at - start)
        if len(data) < at - start:
            return  # cut while we read it
        stop = len(data)
        while (newline := data.rfind(b"\n", 0, stop)) >= 0:
            size += stop - newline - 1
            if size:
                pieces.append(data[newline + 1 : stop])
                yield start + newline + 1, _line(pieces, size)
            size, stop = 0, newline
            pieces.clear()
        size += stop
        pieces.append(data[:stop])
        if size > LONGEST_LINE:
            pieces.clear()
        at = start
    if size:
        yield 0, _line(pieces, size)


def _line(pieces: list[bytes], size: int) -> bytes | None:
    return None if size > LONGEST_LINE else b"".join(reversed(pieces))


def _entries(read: Reader, offset: int, line: bytes | None) -> list[AnyEntry]:
    if line is None:
        return [Notice(text="A line of the transcript is too long to show here.", offset=offset)]
    return [replace(entry, offset=offset) for entry in read(line)]


def _orphans(entries: list[AnyEntry]) -> set[str]:
    """Calls whose result is among these entries and whose start is not."""
    actions = [entry for entry in entries if isinstance(entry, Action)]
    begun = {action.call_id for action in actions if action.phase == "started"}
    return {action.call_id for action in actions if action.phase == "completed"} - begun


def _earlier(lines: Iterator[Placed], read: Reader, wanted: set[str], reached: int) -> dict[str, Action]:
    """The starts of these calls, looked for a little further up."""
    found: dict[str, Action] = {}
    while wanted and (placed := next(lines, None)):
        offset, line = placed
        if line is not None and any(mark in line for mark in CALLS):
            for entry in read(line):
                if isinstance(entry, Action) and entry.phase == "started" and entry.call_id in wanted:
                    found[entry.call_id] = entry
                    wanted.discard(entry.call_id)
        if reached - offset > LOOK_FURTHER:
            break
    return found


def _line_end(source: BinaryIO, end: int) -> int:
    """Where the last whole line before this offset ends: its writer may be in the middle of the next one."""
    at = end
    while at > 0:
        start = max(0, at - BLOCK)
        source.seek(start)
        newline = source.read(at - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        at = start
    return 0


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
        return agent.read_pictures(line) if line else Refused("That place is no longer in this conversation.")

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
        messages = [said for line in lines if (said := agent.read_message(line)) is not None]
    else:
        messages = from_entries(entry for line in lines for entry in agent.read_entry(line))
    return Messages(tuple(messages), tail.offset, tail.identity)


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
    path: Path, read: Reader, before: int | None, after: int | None, file: str, limit: int
) -> Page | Refused:
    try:
        if after is not None:
            return following(path, read, after, file)
        return page(path, read, before, limit, file)
    except FileNotFoundError:
        return Page()  # a session has no transcript before its first message
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is impossible"
        return Refused(f"The conversation cannot be read: {why}.")
