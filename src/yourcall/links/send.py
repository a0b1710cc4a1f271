"""Routes a message, a key, an interrupt or a stop to the session's own link.

Rule: decides by the session's link and by nothing else; whatever has none of its own is reached by its terminal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from yourcall.links.private_tmux.sessions import PrivateSessions
from yourcall.links.pty.runs import PTY, end
from yourcall.links.screen.send_text import TextSender
from yourcall.links.stdio.sessions import StdioSessions
from yourcall.model.prompts import Refused, Verdict
from yourcall.model.sessions import Session


class Steered(Protocol):
    """A link that takes messages for a session."""

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict: ...

    async def interrupt(self, session: Session) -> Verdict: ...


class OfItsAgent:
    """A link that each agent has for itself."""

    def __init__(self, links: Mapping[str, Steered]) -> None:
        self._links = links

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict:
        return await self._links[session.agent].send(session, text, as_command)

    async def interrupt(self, session: Session) -> Verdict:
        return await self._links[session.agent].interrupt(session)


class Sender:
    """`links`: by their kind, in the order in which they are preferred. `before`: who hears of a message first."""

    def __init__(
        self,
        terminal: TextSender,
        links: Mapping[str, Steered],
        pipes: StdioSessions,
        private: PrivateSessions,
        barred: Callable[[str], Refused | None] = lambda _: None,
        before: Callable[[Session, str], Awaitable[None]] | None = None,
    ) -> None:
        """`barred`: why this may not be said, or no key be pressed (empty). Stopping is always allowed."""
        self._terminal, self._links, self._pipes, self._private = terminal, links, pipes, private
        self._barred, self._before = barred, before

    async def send(self, session: Session, text: str, as_command: bool) -> Verdict:
        barred = self._barred(text if as_command else "")
        if barred is not None:
            return Verdict("refused", barred.reason)
        if self._before is not None:
            await self._before(session, text)
        return await self._way(session).send(session, text, as_command)

    def reaches(self, session: Session) -> bool:
        """Can it be told anything?"""
        return self._way(session) is not self._terminal or self._terminal.reaches(session.id)

    async def press(self, session: Session, key: str) -> Verdict:
        barred = self._barred("")
        if barred is not None:
            return Verdict("refused", barred.reason)
        if self._way(session) is not self._terminal:
            return Verdict("refused", "This session is not reached by keys: there are none to press.")
        return await self._terminal.press(session, key)

    async def interrupt(self, session: Session) -> Verdict:
        return await self._way(session).interrupt(session)

    async def stop(self, session: Session) -> Verdict:
        """End a session that yourcall started, and all that it runs."""
        if self._private.has(session):
            return await self._private.stop(session)
        if any(link.kind == PTY for link in session.links):
            return await end(session)
        return await self._pipes.stop(session)

    async def watch(self, server: str, pane: str, agent: str) -> Session | Refused:
        return await self._terminal.watch(server, pane, agent)

    def _way(self, session: Session) -> Steered:
        kinds = {link.kind for link in session.links}
        return next((link for kind, link in self._links.items() if kind in kinds), self._terminal)
