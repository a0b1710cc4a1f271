"""The plugins' socket: code of ours in an agent's own process dials in, reports requests by id, and gets answers.

Rules
  * What arrives here can raise prompts and tell how they end; nothing that arrives here can answer one. An answer
    goes only to the connection that reported its session.
  * What a line means is the agent's to say (`PluginSpec`); here it is carried, in order. An answer counts as
    written before anything that follows from it is told.
  * A connection that is lost is dialled again by the plugin; nothing that was sent is sent again.

A plugin sends `yourcall/1 AGENT {…}` as its first line; after that, each line is one message, both ways.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from yourcall.agents.session_spec import Conversation, PluginGreeting, RequestDone
from yourcall.agents.spec import Agent
from yourcall.core.identity import unsettled
from yourcall.links import processes, session_ids
from yourcall.links.event_sink import EventSink
from yourcall.links.hooks import callers_of, is_mine
from yourcall.links.stdio.records import Records
from yourcall.model.events import (
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    HolderLost,
    PromptRaised,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Prompt, Refused, Verdict
from yourcall.model.sessions import Session
from yourcall.system.connections import BACKLOG, Crowd, peer_of, share
from yourcall.system.sockets import bind_unix
from yourcall.system.tasks import Tasks

log = logging.getLogger(__name__)

LINK = "plugin"
SOCKET = "plugin.sock"
MAGIC = "yourcall/1"
GREETING_S = 10.0  # a local program that cannot finish its greeting in this time is broken or hostile
LONGEST_LINE = 32 << 20
MOST_CONNECTIONS = 500  # an agent's process has one
BACK_S = 5.0  # a plugin dials again every second; after this it is not coming back
NOT_BACK = "the connection to the plugin is lost; answer it at the desk"
GRANTED_S = 10.0
WRITTEN_S = 10.0


class Reader(Protocol):
    """Where messages come from, one after the other; empty: there are no more."""

    async def readline(self) -> bytes: ...


class Writer(Protocol):
    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


class _Line:
    """One live connection. `turn` is held while something is told, so that all is told in one order."""

    def __init__(self, writer: Writer, conversation: Conversation) -> None:
        self._writer, self.talk = writer, conversation
        self.turn = asyncio.Lock()
        self.sessions: dict[str, Session] = {}
        self.asked: dict[str, asyncio.Future[RequestDone]] = {}

    async def write(self, message: bytes) -> None:
        async with asyncio.timeout(WRITTEN_S):
            self._writer.write(message.rstrip(b"\n") + b"\n")
            await self._writer.drain()

    def close(self) -> None:
        self._writer.close()


class Plugins:
    """All plugins that are connected, of every agent that has one."""

    def __init__(self, teller: EventSink, agents: Mapping[str, Agent], records: Records | None = None) -> None:
        """`records`: where the conversations are kept of agents that keep none which we could read."""
        self._teller, self._agents, self._records = teller, agents, records
        self._lines: set[_Line] = set()
        self._crowd = Crowd(share(MOST_CONNECTIONS, 2))
        self._tasks = Tasks()
        self._awaited: set[str] = set()  # sessions whose plugin may be back in a moment
        self._kept: dict[str, str] = {}  # answers that wait for that: prompt, answer

    async def serve(self, home: Path) -> asyncio.AbstractServer:
        sock = bind_unix(home, SOCKET)
        return await asyncio.start_unix_server(self._accept, sock=sock, backlog=BACKLOG, limit=LONGEST_LINE)

    def let_go_of_absent(self) -> None:
        """After a start: sessions whose plugin does not come back in time."""
        known = {s.id for s in self._teller.state.sessions.values() if any(link.kind == LINK for link in s.links)}
        asked = {p.session_id for p in self._teller.state.prompts.values() if p.link == LINK and unsettled(p)}
        self._tasks.spawn(self._lost(known | asked))

    async def close(self) -> None:
        await self._tasks.close()
        for line in list(self._lines):
            line.close()

    # --- what comes in --------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guest = self._crowd.enter(peer_of(writer.get_extra_info("socket")), writer.transport.abort)
        try:
            if guest in self._crowd and is_mine(writer):
                async with asyncio.timeout(GREETING_S):
                    conversation = self._greeted(await reader.readline(), writer)
                if conversation is not None:
                    self._crowd.know(guest)
                    await self._listen(reader, _Line(writer, conversation))
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError) as error:
            log.debug("plugin connection: %r", error)
        except Exception:  # a mistake of ours: the agent's own dialog is there, and the plugin dials again
            log.exception("a plugin's connection failed")
        finally:
            self._crowd.leave(guest)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _greeted(self, line: bytes, writer: asyncio.StreamWriter) -> Conversation | None:
        magic, _, rest = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
        name, _, about = rest.partition(" ")
        agent = self._agents.get(name)
        if magic != MAGIC or agent is None or agent.plugin is None:
            log.warning("a plugin of %.40r is not known", name)
            return None
        folder = str(self._records.folder) if self._records is not None else ""
        return agent.plugin.connect(PluginGreeting(callers_of(writer), about.encode(), folder))

    async def carry(self, reader: Reader, writer: Writer, conversation: Conversation) -> None:
        """A connection that another link has made, to its end."""
        await self._listen(reader, _Line(writer, conversation))

    async def _listen(self, reader: Reader, line: _Line) -> None:
        self._lines.add(line)
        try:
            for message in line.talk.open():
                await line.write(message)
            while data := await reader.readline():
                async with line.turn:
                    await self._heard(line, data)
        finally:
            self._lines.discard(line)
            for waiting in line.asked.values():
                waiting.cancel()
            self._tasks.spawn(self._lost(set(line.sessions)))

    async def _heard(self, line: _Line, data: bytes) -> None:
        output = line.talk.hear(data, time.time())
        for message in output.lines:
            await line.write(message)
        waiting = line.asked.pop(output.done.request_id, None) if output.done is not None else None
        if output.done is not None and waiting is not None and not waiting.done():
            waiting.set_result(output.done)
        for event in output.events:
            match event:
                case SessionSeen(session=session):
                    there = self._teller.state.sessions.get(session.id)
                    if self._of(session.id) not in (None, line) or (there and there.agent != session.agent):
                        log.warning("a second plugin claims session %.40r; it is not heard", session.id)
                        return
                    known = replace(session, pid_started=processes.started(session.pid))
                    line.sessions[session.id] = known
                    await self._seen(replace(event, session=known))
                case PromptRaised(prompt=prompt):
                    if prompt.session_id in line.sessions:
                        goes_by = session_ids.latest(self._teller.state, line.sessions[prompt.session_id])
                        line.sessions.setdefault(goes_by, line.sessions[prompt.session_id])
                        raised = replace(prompt, session_id=goes_by)
                        await self._teller.post(replace(event, prompt=raised), output.bodies)
                case _ if self._is_its_own(line, event):
                    await self._teller.post(event)
                case _:
                    log.warning("a plugin speaks of a session that is not its own; that is not heard")
        if self._records is not None and output.record_of:
            keep = self._records.rewrite if output.record_anew else self._records.append
            keep(output.record_of, output.record)

    def _is_its_own(self, line: _Line, event: AnyEvent) -> bool:
        """Is it about a session, or a prompt of one, that this connection reported? Any program of the user's can
        dial in: it may not end what another one asks."""
        if isinstance(event, SessionEnded):
            return event.session_id in line.sessions
        prompt = self._teller.state.prompts.get(getattr(event, "prompt_id", ""))
        return prompt is None or prompt.session_id in line.sessions

    async def _seen(self, event: SessionSeen) -> None:
        """A session spoke. Until then its process may have gone by its pid, or by the name of one that is over."""
        session = event.session
        before = session_ids.others(self._teller.state, session)
        await self._teller.post(event)
        agent = self._agents.get(session.agent)
        alone = agent is not None and agent.plugin is not None and agent.plugin.one_session
        for other in before:
            if other.id.startswith(session_ids.STRANGER):
                await session_ids.follow(self._teller, other, session.id)
            elif alone and self._of(other.id) is None:
                why = f"its process goes on with {session.id}"
                await self._teller.post(SessionEnded(time.time(), other.id, why, session.id))

    async def _lost(self, session_ids: set[str]) -> None:
        """The connection is gone. The plugin comes back, or the agent has ended, or the desk alone is left."""
        deadline = time.monotonic() + BACK_S
        left = set(session_ids)
        self._awaited |= left
        while left and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            for session_id in list(left):
                session = self._teller.state.sessions.get(session_id)
                back = self._of(session_id) is not None and not self._kept_of(session_id)
                if session is None or back:
                    left.discard(session_id)
                elif session.pid_started and processes.gone(session.pid, session.pid_started):
                    left.discard(session_id)
                    await self._teller.post(SessionEnded(time.time(), session_id, "its process is gone"))
        self._awaited -= session_ids
        for session_id in left:
            for prompt in self._kept_of(session_id):
                answer_id = self._kept.pop(prompt.id)
                await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer_id, NOT_BACK))
            for prompt in self._teller.state.of_session(session_id):
                if prompt.link != LINK or not unsettled(prompt) or self._of(session_id) is not None:
                    continue
                if prompt.answerable or prompt.state == "answering":
                    await self._teller.post(HolderLost(time.time(), prompt.id, "its plugin is gone"))
                elif prompt.state in ("sent", "accepted"):
                    await self._teller.post(TraceLost(time.time(), prompt.id, "its plugin is gone"))

    def _kept_of(self, session_id: str) -> list[Prompt]:
        return [p for p in self._teller.state.of_session(session_id) if p.id in self._kept]

    # --- answers and wishes ---------------------------------------------------------------------------------

    def _of(self, session_id: str) -> _Line | None:
        return next((line for line in self._lines if session_id in line.sessions), None)

    async def deliver(self, prompt: Prompt, answer: Answer, request: bytes) -> None:
        """Carry an answer to the connection that reported its session, and tell how that went."""
        line = self._of(prompt.session_id)
        if line is None and prompt.session_id in self._awaited:
            # What it still asks when it is back is delivered then (`HolderConnected`); nothing was written so far.
            self._kept[prompt.id] = answer.id
            return
        if line is None:
            await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, NOT_BACK))
            return
        self._kept.pop(prompt.id, None)
        async with line.turn:
            messages = line.talk.answer(prompt, answer, request)
            if isinstance(messages, Refused):
                await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, messages.reason))
                return
            try:
                for message in messages:
                    await line.write(message)
            except (OSError, TimeoutError) as error:  # how much of it went out nobody can say
                log.info("an answer may not have been written: %s", error)
                line.close()
                return
            await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict:
        if as_command:
            return Verdict("refused", "This agent's own commands are typed at its terminal.")
        return await self._ask(session, lambda talk: talk.say(session.id, text), "it was told")

    async def interrupt(self, session: Session) -> Verdict:
        return await self._ask(session, lambda talk: talk.interrupt(session.id), "the turn was stopped")

    async def _ask(
        self, session: Session, wish: Callable[[Conversation], tuple[str, bytes] | Refused], granted: str
    ) -> Verdict:
        line = self._of(session.id)
        if line is None:
            return Verdict("refused", "There is no connection to this session.")
        async with line.turn:
            asked = wish(line.talk)
            if isinstance(asked, Refused):
                return Verdict("refused", asked.reason)
            request_id, message = asked
            done = line.asked[request_id] = asyncio.get_running_loop().create_future()
            try:
                await line.write(message)
            except (OSError, TimeoutError):
                return Verdict("unsure", "The connection to the plugin was lost.")
        try:
            async with asyncio.timeout(GRANTED_S):
                reply = await done
        except TimeoutError:
            return Verdict("unsure", "The message was sent; the plugin has not replied.")
        except asyncio.CancelledError:
            if done.cancelled():
                return Verdict("unsure", "The connection to the plugin was lost.")
            raise
        finally:
            line.asked.pop(request_id, None)
        return Verdict("refused", reply.error) if reply.error else Verdict("sent", granted)
