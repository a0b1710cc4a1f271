"""Following a file of JSON lines that another program writes.

Rule: only whole lines are handed out, each once; a file that shrank or was replaced is read anew; a missing one is
empty, and so is one that is not a file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Self

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


# One read never takes more: a follower shares the loop with people who wait.
MOST_AT_ONCE = 4 * 1024 * 1024
# A line may hold a few pictures; one that is longer still is passed over, and the next one is whole again.
LONGEST_LINE = 16 * 1024 * 1024

Placed = tuple[int, bytes | None]  # where a line begins, and the line; None: it is too long


def identity(about: os.stat_result) -> str:
    """A word for the file itself, the same as long as it is not replaced."""
    return f"{about.st_dev:x}-{about.st_ino:x}"


def opened(path: Path) -> BinaryIO:
    """The file, if it is one: a path comes from a payload, and a pipe or a device would hold us for ever."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a null, or half a letter: no file has such a name
        raise FileNotFoundError(path) from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise FileNotFoundError(path)
    return os.fdopen(number, "rb", buffering=0)


class Tail:
    """Whole new lines since the last look, beginning `back` bytes before the end the file has now."""

    def __init__(self, path: Path, back: int) -> None:
        self._path = path
        about = self._stat()
        size = about.st_size if about else 0
        self.identity = identity(about) if about else ""
        # One byte earlier: what is read up to the first newline is the rest of a line that began before, even if
        # that rest is nothing at all.
        self.offset = max(0, size - back - 1)
        self._amid_line = self.offset > 0

    @classmethod
    def at(cls, path: Path, offset: int) -> Self:
        """A tail that goes on where a line begins."""
        tail = cls(path, 0)
        tail.offset, tail._amid_line = max(0, offset), False
        return tail

    def new_lines(self) -> list[bytes]:
        return [line for _, line in self.new_placed() if line is not None]

    def new_placed(self) -> list[Placed]:
        about = self._stat()
        if about is None:
            return []
        if about.st_size < self.offset or identity(about) != self.identity:
            self._begin_anew(about)
        if about.st_size <= self.offset:
            return []
        data = self._data(MOST_AT_ONCE)
        if len(data) == MOST_AT_ONCE and b"\n" not in data:
            data = self._data(LONGEST_LINE)
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            return self._passed_over(len(rest)) if len(rest) == LONGEST_LINE else []
        at = self.offset
        self.offset += len(whole) + 1
        lines: list[Placed] = []
        for line in whole.split(b"\n"):
            if line and not self._amid_line:
                lines.append((at, line))
            self._amid_line = False
            at += len(line) + 1
        return lines

    def continues(self) -> bool:
        """Is this offset still where a line begins? If not, the file was written anew under the same name."""
        try:
            with opened(self._path) as file:
                file.seek(max(0, self.offset - 1))
                return self.offset == 0 or file.read(1) == b"\n"
        except OSError:
            return False

    def _passed_over(self, size: int) -> list[Placed]:
        told: list[Placed] = [] if self._amid_line else [(self.offset, None)]
        self.offset += size
        self._amid_line = True
        return told

    def _data(self, most: int) -> bytes:
        try:
            with opened(self._path) as file:
                file.seek(self.offset)
                return file.read(most)
        except OSError:
            return b""

    def _begin_anew(self, about: os.stat_result) -> None:
        self.offset, self._amid_line, self.identity = 0, False, identity(about)

    def _stat(self) -> os.stat_result | None:
        try:
            about = os.stat(self._path)
        except (OSError, ValueError):
            return None
        return about if stat.S_ISREG(about.st_mode) else None
