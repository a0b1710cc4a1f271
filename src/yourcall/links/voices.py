"""One voice for every session: what is said goes the way that this session has.

Rule: decides by the session's link and by nothing else.
"""

from __future__ import annotations

from yourcall.links.speak import Speaker
from yourcall.links.started import LINK, Started
from yourcall.model import Refused, Session, Verdict


class Voices:
    def __init__(self, terminal: Speaker, pipes: Started) -> None:
        self._terminal, self._pipes = terminal, pipes

    async def send(self, session: Session, text: str, as_command: bool) -> Verdict:
        return await (self._pipes if _piped(session) else self._terminal).send(session, text, as_command)

    async def press(self, session: Session, key: str) -> Verdict:
        if _piped(session):
            return Verdict("refused", "This session has no terminal, so there are no keys to press.")
        return await self._terminal.press(session, key)

    async def interrupt(self, session: Session) -> Verdict:
        return await (self._pipes if _piped(session) else self._terminal).interrupt(session)

    async def watch(self, server: str, pane: str) -> Session | Refused:
        return await self._terminal.watch(server, pane)


def _piped(session: Session) -> bool:
    return any(link.kind == LINK for link in session.links)
