"""One voice for every session: what is said goes the way that this session has.

Rule: decides by the session's link and by nothing else.
"""

from __future__ import annotations

from yourcall.links.codex import LINK as SOCKET
from yourcall.links.codex import CodexServers
from yourcall.links.speak import Speaker
from yourcall.links.started import LINK, Started
from yourcall.model import Refused, Session, Verdict


class Voices:
    def __init__(self, terminal: Speaker, pipes: Started, sockets: CodexServers) -> None:
        self._terminal, self._pipes, self._sockets = terminal, pipes, sockets

    async def send(self, session: Session, text: str, as_command: bool) -> Verdict:
        return await self._way(session).send(session, text, as_command)

    async def press(self, session: Session, key: str) -> Verdict:
        if self._way(session) is not self._terminal:
            return Verdict("refused", "This session is not reached by keys: there are none to press.")
        return await self._terminal.press(session, key)

    async def interrupt(self, session: Session) -> Verdict:
        return await self._way(session).interrupt(session)

    async def watch(self, server: str, pane: str, agent: str) -> Session | Refused:
        return await self._terminal.watch(server, pane, agent)

    def _way(self, session: Session) -> Speaker | Started | CodexServers:
        kinds = {link.kind for link in session.links}
        return self._pipes if LINK in kinds else self._sockets if SOCKET in kinds else self._terminal
