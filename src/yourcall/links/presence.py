"""The last sign of a person at this machine: a key that a terminal of an agent's session has read.

The access time of a terminal moves when something is read from it, and only then; output does not touch it. In
tmux the pane's own terminal is also fed by us, so there the person's client is asked instead.

Rule: a running agent is not a present person. What cannot be seen is no sign; it is never guessed.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterable

from yourcall.links import processes
from yourcall.links.screen.servers import Server, Servers, pane_of
from yourcall.links.screen.tmux import Gone
from yourcall.model.sessions import Session

# Asked again only after this: ten prompts at once are one look.
FRESH_S = 2.0

# A tmux that is stopped answers nothing for three seconds, for each of its sessions; whoever is to be told waits.
LOOK_S = 3.0

# A key typed at the desk is read, and what follows from it drawn, well within this; also on a busy machine.
RESTS_S = 2.0

# Whoever types at the desk is waited for so long; then an answer from elsewhere comes back.
HANDS_S = 6.0

# Nobody types into more sessions than this at a time; the newest are looked at.
MOST = 100


class Presence:
    def __init__(self, sessions: Callable[[], Iterable[Session]], tmux: Servers) -> None:
        self._sessions = sessions
        self._tmux = tmux
        self._looked_at = 0.0
        self._found = 0.0
        self._front_at = 0.0
        self._looking = asyncio.Lock()

    def in_front(self) -> None:
        """The app is in front of somebody, on a paired device."""
        self._front_at = time.time()

    async def person_at(self) -> float:
        async with self._looking:
            if time.monotonic() - self._looked_at > FRESH_S:
                self._found = max(self._found, await self._typed_at())
                self._looked_at = time.monotonic()
        return max(self._found, self._front_at)

    async def _typed_at(self) -> float:
        found = [0.0]
        places: dict[str, list[Session]] = {}
        for session in sorted(self._sessions(), key=lambda session: -session.seen_at)[:MOST]:
            link = pane_of(session)
            places.setdefault(link.server if link is not None else "", []).append(session)

        async def look(sessions: list[Session]) -> None:
            for session in sessions:
                found.append(await typed_at(session, self._tmux) or 0.0)

        looks = [asyncio.ensure_future(look(sessions)) for sessions in places.values()]
        if looks:
            await asyncio.wait(looks, timeout=LOOK_S)
            for each in looks:
                each.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
        return max(found)


async def typed_at(session: Session, tmux: Servers) -> float | None:
    """When somebody last typed into this session's terminal; None if that cannot be known."""
    link = pane_of(session)
    if link is not None and link.server:
        typed = await tmux.at(link.server).last_typed(link.target)
        return None if isinstance(typed, Gone) else float(typed)
    if not session.pid_started or processes.started(session.pid) != session.pid_started:
        return None
    return last_read(session.pid) or None


async def hands_on(server: Server, pane: str, since: float) -> bool:
    """Has somebody typed there just now, after `since`? The agent may not have read it yet: then the screen still
    shows a dialog that is answered already, and a key of ours would meet the next one. Who cannot tell counts as
    a yes."""
    typed = await server.last_typed(pane)
    return isinstance(typed, Gone) or (typed >= int(since) and 0 <= time.time() - typed < RESTS_S)


def last_read(pid: int) -> float:
    """When the terminal of this process last read a key; 0 if it has none, or the system does not tell."""
    try:
        about = os.stat(f"/proc/{pid}/fd/0" if os.path.exists("/proc/self/fd") else _terminal(pid))
    except OSError:
        return 0.0
    if not stat.S_ISCHR(about.st_mode) or about.st_rdev == os.stat(os.devnull).st_rdev:
        return 0.0
    return min(about.st_atime, time.time())  # a clock that was set back must not keep somebody at the desk


def _terminal(pid: int) -> str:
    import psutil  # no /proc here: macOS

    try:
        return psutil.Process(pid).terminal() or ""
    except psutil.Error:
        return ""
