"""What a session's terminal shows, for somebody who looks at it from afar.

Rule: reads and never writes; and shows the session only: when another program has the terminal, nothing of that
leaves this machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import time

from msgspec import Struct

from yourcall.links.foreground import in_pane
from yourcall.links.screen.servers import Servers, pane_of
from yourcall.links.screen.tmux import Gone
from yourcall.model.prompts import Refused
from yourcall.model.sessions import Session

# A capture takes tmux half a millisecond; seven a second look alive and cost nothing that could be measured.
EVERY_S = 0.15


class Frame(Struct, frozen=True):
    """A screen with its colours (as escapes); `tag` is the same for the same picture. No cursor: -1."""

    tag: str
    columns: int
    rows: int
    screen: str
    cursor_x: int
    cursor_y: int


class Mirror:
    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def frame(self, session: Session, seen: str, patience: float) -> Frame | Refused:
        """The screen now; if that is the one already `seen`, the next one, or the same when patience ends."""
        link = pane_of(session)
        if link is None:
            return Refused(
                "This session runs neither in tmux nor by `yourcall run`, so its terminal cannot be looked at."
            )
        server = self._servers.at(link.server)
        deadline = time.monotonic() + patience
        while True:
            found = await server.picture(link.target)
            if isinstance(found, Gone):
                return Refused(f"Its pane cannot be looked at: {found.why}.")
            if found.dead:
                return Refused("Its program has ended.")
            if session.pid and in_pane(session.pid, found.pid) is False:
                return Refused("Another program has its terminal now.")
            cursor = (found.cursor_x, found.cursor_y) if found.cursor_shown else (-1, -1)
            drawn = f"{found.columns}x{found.rows} {cursor} {found.screen}".encode("utf-8", "replace")
            tag = hashlib.sha256(drawn).hexdigest()[:16]
            if tag != seen or time.monotonic() >= deadline:
                return Frame(tag, found.columns, found.rows, found.screen, *cursor)
            await asyncio.sleep(EVERY_S)
