"""What a session's terminal shows, for somebody who looks at it from afar.

Rule: reads and never writes; and shows the session only: when another program has the terminal, nothing of that
leaves this machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import time

from msgspec import Struct

from yourcall.links.screen.servers import Servers, pane_of
from yourcall.links.screen.tmux import Gone
from yourcall.links.terminals import in_pane
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
            picture = await server.picture(link.target)
            if isinstance(picture, Gone):
                return Refused(f"Its pane cannot be looked at: {picture.why}.")
            if picture.dead:
                return Refused("Its program has ended.")
            if session.pid and in_pane(session.pid, picture.pid) is False:
                return Refused("Another program has its terminal now.")
            cursor = (picture.cursor_x, picture.cursor_y) if picture.cursor_shown else (-1, -1)
            drawn = f"{picture.columns}x{picture.rows} {cursor} {picture.screen}".encode("utf-8", "replace")
            tag = hashlib.sha256(drawn).hexdigest()[:16]
            if tag != seen or time.monotonic() >= deadline:
                return Frame(tag, picture.columns, picture.rows, picture.screen, *cursor)
            await asyncio.sleep(EVERY_S)
