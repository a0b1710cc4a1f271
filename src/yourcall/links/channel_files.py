"""Agents that tell by writing a file and are told by reading one: their files, watched, as a plugin's connection.

Rules
  * A file belongs to the one process that keeps it open for writing, by the kernel's word; one that two write to,
    or nobody, is not read. Only what that process has written is: a file may hold the end of an older one
    behind it.
  * A file is renamed as soon as its writer is known. Then another process with the same settings makes one of its
    own, and after a start of ours its name tells whose it is.
  * Lines for the agent are appended, never rewritten: it may have read the first half.

A message of the agent is one line of its file. Each second without one is told as an empty line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from yourcall.agents.session_spec import ChannelFiles, PluginGreeting, PluginSpec
from yourcall.agents.sightings import Caller
from yourcall.agents.spec import Agent
from yourcall.links import processes
from yourcall.links.plugin import Plugins
from yourcall.links.transcripts import opened
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_S = 0.05  # a dialog is told of within this
QUIET_S = 1.0  # after so long without a line, time itself is told
MOST_AT_ONCE = 1 << 20
LONGEST_LINE = 32 << 20
_OURS = re.compile(r"run-(\d{1,9})-(\d{1,20})-(.*)", re.DOTALL)


class Pair(Struct, frozen=True):
    """The files of one process: `told` is the one it writes, under our name; `asked` the one it reads."""

    told: Path
    asked: Path
    pid: int
    started: str


class ToldLines:
    """What a process writes, line by line, as long as it lives and keeps its file open."""

    def __init__(self, pair: Pair, signs: tuple[bytes, ...]) -> None:
        self._pair, self._signs = pair, signs
        self._offset = 0
        self._rest = b""
        self._lines: Iterator[bytes] = iter(())

    async def readline(self) -> bytes:
        quiet_since = time.monotonic()
        while True:
            for line in self._lines:
                if line.startswith(self._signs):
                    return line
            more = self._more()
            if more:
                *whole, self._rest = (self._rest + more).split(b"\n")
                if len(self._rest) > LONGEST_LINE:
                    return b""
                self._lines = iter(whole)
                await asyncio.sleep(0)
            elif time.monotonic() - quiet_since > QUIET_S:
                return b"\n" if self._written() is not None else b""
            else:
                await asyncio.sleep(LOOK_S)

    def _written(self) -> int | None:
        """How far it has written; None: it is gone, or has closed its file."""
        pair = self._pair
        if processes.gone(pair.pid, pair.started):
            return None
        return processes.written_files(pair.pid, pair.told.parent).get(pair.told.name)

    def _more(self) -> bytes:
        """What was written since the last look."""
        try:
            if os.stat(self._pair.told).st_size <= self._offset:
                return b""
            written = self._written() or 0
            with opened(self._pair.told) as file:
                file.seek(self._offset)
                data = file.read(max(0, min(written - self._offset, MOST_AT_ONCE)))
        except OSError:
            return b""
        self._offset += len(data)
        return data


class AskedLines:
    """What a process reads: lines are appended to its file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = b""

    def write(self, data: bytes) -> None:
        self._lines += data

    async def drain(self) -> None:
        lines, self._lines = self._lines, b""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        number = os.open(self._path, flags, 0o600)
        try:
            os.write(number, lines)
        finally:
            os.close(number)

    def close(self) -> None:
        self._lines = b""


class ChannelWatcher:
    """The files of all agents that have such a channel."""

    def __init__(self, plugins: Plugins, agents: Mapping[str, Agent], home: Path | None) -> None:
        self._plugins, self._home = plugins, home.resolve() if home is not None else None
        self._agents = {
            name: (agent, agent.plugin, agent.plugin.files)
            for name, agent in agents.items()
            if agent.plugin is not None and agent.plugin.files is not None
        }
        self._open: set[Path] = set()
        self._seen: dict[Path, tuple[int, int, int]] = {}
        self._tasks = Tasks()

    async def run(self) -> None:
        if self._home is None:
            return
        for _, _, files in self._agents.values():
            with contextlib.suppress(OSError):
                (self._home / files.folder).mkdir(mode=0o700, exist_ok=True)
        try:
            while True:
                for agent, spec, files in self._agents.values():
                    await self._look(agent, spec, files, self._home / files.folder)
                await asyncio.sleep(LOOK_S)
        finally:
            await self._tasks.close()

    async def _look(self, agent: Agent, spec: PluginSpec, files: ChannelFiles, folder: Path) -> None:
        try:
            names = os.listdir(folder)
        except OSError:
            return
        fresh = [name for name in names if name.startswith(files.writes) and self._changed(folder / name)]
        if fresh:
            for pair in await asyncio.to_thread(claimed, agent, files, folder, fresh):
                self._begin(agent, spec, files, pair)
        for name in names:
            match = _OURS.fullmatch(name)
            if match is not None and folder / name not in self._open:
                pair = Pair(folder / name, folder / f"{files.reads}{match[3]}", int(match[1]), match[2])
                self._begin(agent, spec, files, pair)

    def _changed(self, path: Path) -> bool:
        """Only a file that is another one than at the last look is worth a look at all processes."""
        try:
            about = os.stat(path, follow_symlinks=False)
        except OSError:
            return False
        now = about.st_ino, about.st_size, about.st_mtime_ns
        before = self._seen.get(path)
        self._seen[path] = now
        return now != before

    def _begin(self, agent: Agent, spec: PluginSpec, files: ChannelFiles, pair: Pair) -> None:
        self._open.add(pair.told)
        self._tasks.spawn(self._carry(agent, spec, files, pair))

    async def _carry(self, agent: Agent, spec: PluginSpec, files: ChannelFiles, pair: Pair) -> None:
        conversation = spec.connect(PluginGreeting((Caller(pair.pid, pair.started),), b""))
        try:
            await self._plugins.carry(ToldLines(pair, files.signs), AskedLines(pair.asked), conversation)
        except (OSError, TimeoutError) as error:
            log.info("the channel of %s %d is lost: %s", agent.name, pair.pid, error)
        except Exception:  # a mistake of ours: the agent's own dialog is there
            log.exception("the channel of %s %d failed", agent.name, pair.pid)
        if processes.gone(pair.pid, pair.started):
            pair.told.unlink(missing_ok=True)
            self._open.discard(pair.told)
        # Else it stays ours and is not read again: nobody could say what was missed.


def claimed(agent: Agent, files: ChannelFiles, folder: Path, names: list[str]) -> list[Pair]:
    """Those of these files that one process of this agent writes to, under a name of ours."""
    if agent.finder is None:
        return []
    writers: dict[str, list[tuple[int, str]]] = {}
    for process in processes.running(agent.finder.runs):
        for name in processes.written_files(process.pid, folder):
            writers.setdefault(name, []).append((process.pid, process.started))
    pairs: list[Pair] = []
    for name in names:
        owners = writers.get(name, [])
        if len(owners) != 1:
            if owners:
                log.warning("%d processes of %s write to one file; it is not read", len(owners), agent.name)
            continue
        (pid, started), rest = owners[0], name.removeprefix(files.writes)
        path = folder / f"run-{pid}-{started}-{rest}"
        try:
            (folder / name).rename(path)
        except OSError:
            continue
        pairs.append(Pair(path, folder / f"{files.reads}{rest}", pid, started))
    return pairs
