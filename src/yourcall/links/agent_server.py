"""The servers that an agent itself runs: joined as one more client, for as long as they are there.

Rules
  * Only a socket of this user's is spoken to, and only in the homes that are known: the user's own, those in the
    config, those of sessions that were seen.
  * What a message means is the agent's to say (`ServerSpec`); here it is carried, in order.
    An answer counts as written before anything that follows from it is told.
  * A connection that is lost is looked for again; nothing that was sent is sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourcall.agents.session_spec import RequestDone, ServerConnection, ServerSpec
from yourcall.agents.sightings import CallResult
from yourcall.agents.spec import Agent
from yourcall.core.identity import unsettled
from yourcall.links.event_sink import EventSink
from yourcall.links.screen.ownership import over_meanwhile
from yourcall.links.transcripts import MOST_AT_ONCE, Tail
from yourcall.model.events import (
    AnswerNotWritten,
    AnswerWritten,
    AnyEvent,
    CallSettled,
    HolderLost,
    PromptRaised,
    SessionEnded,
    SessionSeen,
    TraceLost,
)
from yourcall.model.prompts import Answer, Outcome, Prompt, Refused, Verdict
from yourcall.model.sessions import TERMINALS, Session
from yourcall.system.peer import peer_pid
from yourcall.system.tasks import Tasks

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

log = logging.getLogger(__name__)

LINK = "socket"

LOOK_S = 0.5  # a look is one `stat`; a session that begins is then seen before its first words are typed
JOINS_S = 5.0  # from our start until every thread has been joined again
GONE_S = 20.0  # a server that is started anew is back in two seconds; after this its sessions are over
SETTLED_S = 3.0  # what is still asked is told again 0.1 s after the replies to what we asked first
REPLIES_S = 60.0  # a server on a machine that is busy, or just woken, takes its time
REPLY_LOOK_S = 0.2
AGAIN_S = 2.0  # between two tries to listen to a thread, of a server that was too busy for the first
OPENS_S = 5.0  # it answers in milliseconds, unless it is stopped
GRANTED_S = 10.0
WRITTEN_S = 10.0
LONGEST = 256 << 20  # a diff is text; a picture in a conversation is some megabytes
RECORD_S = 15.0  # an answer is in the rollout about 0.1 s after it was taken


class Connection:
    """One live connection. `turn` is held while something is told, so that all is told in one order."""

    def __init__(self, socket: ClientConnection, server_connection: ServerConnection) -> None:
        self.socket, self.talk = socket, server_connection
        self.turn = asyncio.Lock()
        self.asked: dict[str, asyncio.Future[RequestDone]] = {}
        self.looking: set[str] = set()

    async def write(self, message: bytes) -> None:
        async with asyncio.timeout(WRITTEN_S):
            await self.socket.send(message.decode())


class AgentServers:
    """The servers of one agent. `places()`: where sockets may be, asked for at every look. `typed_at`: when
    somebody last typed into the terminal that shows a session; None if that cannot be known."""

    def __init__(
        self,
        teller: EventSink,
        agent: Agent,
        places: Callable[[], Iterable[Path]],
        typed_at: Callable[[Session], Awaitable[float | None]] | None = None,
    ) -> None:
        assert agent.server is not None
        self._teller, self._agent, self._places = teller, agent, places
        self._spec, self._title = agent.server, agent.title or agent.name
        self._typed_at = typed_at
        self.served: Callable[[int, str], object] = lambda pid, place: None  # the process that runs the commands
        self._born = time.monotonic()
        self._live: dict[str, Connection] = {}
        self._followed: set[str] = set()
        self._tasks = Tasks()

    async def run(self) -> None:
        try:
            while True:
                try:
                    for place in map(str, self._places()):
                        if (real := _real(place)) not in self._followed:
                            self._followed.add(real)
                            self._spawn(self._follow(place, real))
                except Exception:  # the rest of yourcall does without; the next look may go well
                    log.exception("looking for %s's sockets failed", self._title)
                await asyncio.sleep(LOOK_S)
        finally:
            self._tasks.cancel()

    def _spawn(self, work: Coroutine[None, None, object]) -> None:
        self._tasks.spawn(work)

    # --- one place ------------------------------------------------------------------------------------------

    async def _follow(self, place: str, real: str) -> None:
        """Connect, listen to the end, look again; until nothing is there and nobody waits for it."""
        lost_at = time.monotonic()
        while True:
            if _is_ours(place):
                try:
                    lost_at = time.monotonic() if await self._listen(place) else lost_at
                except Exception:  # whatever it is, the agent's own dialog is there, and the next try may go well
                    log.warning("the connection to %s failed", place, exc_info=True)
                    lost_at = time.monotonic()  # there is a server: its sessions are not over
            gone = time.monotonic() - lost_at > GONE_S
            await self._lost(place, ended=gone)
            if gone and not self._sessions(place) and not _is_ours(place):
                self._followed.discard(real)
                return
            await asyncio.sleep(LOOK_S)

    async def _listen(self, place: str) -> bool:
        """Whether there was somebody to listen to."""
        from websockets.asyncio.client import unix_connect  # not before there is a socket
        from websockets.exceptions import ConnectionClosed, InvalidHandshake

        talk = self._spec.connect(LINK, place)
        for session in self._sessions(place):
            talk.before.add_session(session.id)
        for prompt in self._prompts(place):
            talk.before.add(prompt, self._teller.body(prompt.request) or b"")
        try:
            connect = unix_connect(
                _target(place), "ws://localhost/", compression=None, max_size=LONGEST, open_timeout=OPENS_S
            )
            async with connect as socket:
                live = self._live[place] = Connection(socket, talk)
                if pid := peer_pid(socket.transport.get_extra_info("socket")):
                    self.served(pid, place)
                for message in talk.open():
                    await live.write(message)
                self._spawn(self._settle(place, live))
                self._spawn(self._again(place, live))
                async for data in socket:
                    async with live.turn:
                        await self._heard(live, data.encode() if isinstance(data, str) else data)
        except (OSError, TimeoutError, ConnectionClosed, InvalidHandshake, EOFError) as error:
            log.debug("no connection to %s: %s", place, error)
            # One that is stopped, and a machine without a file to spare, are no sign that it is gone.
            gone = isinstance(error, ConnectionError | FileNotFoundError | InvalidHandshake | EOFError)
            return place in self._live or not gone
        finally:
            live = self._live.pop(place, None)
            for waiting in live.asked.values() if live else ():
                waiting.cancel()
        return True

    async def _heard(self, live: Connection, data: bytes) -> None:
        output = live.talk.hear(data, time.time())
        for message in output.lines:
            await live.write(message)
        waiting = live.asked.pop(output.done.request_id, None) if output.done is not None else None
        if output.done is not None and waiting is not None and not waiting.done():
            waiting.set_result(output.done)  # unless who asked has left this very moment
        for event in map(self._in_its_terminal, output.events):
            await self._teller.post(event, output.bodies if isinstance(event, PromptRaised) else None)
        for prompt_id, path, call_id in live.talk.unproved():
            if prompt_id not in live.looking:
                live.looking.add(prompt_id)
                self._spawn(self._prove(live, prompt_id, path, call_id))
        for prompt_id, text in live.talk.unnamed():
            await self._whose(prompt_id, text)

    def _in_its_terminal(self, event: AnyEvent) -> AnyEvent:
        """The server knows nothing of the terminal in which a session was found: it stays with it."""
        known = self._teller.state.sessions.get(event.session.id) if isinstance(event, SessionSeen) else None
        if not isinstance(event, SessionSeen) or known is None:
            return event
        links = tuple(link for link in known.links if link.kind in TERMINALS)
        return replace(event, session=replace(event.session, links=(*event.session.links, *links)))

    async def _settle(self, place: str, live: Connection) -> None:
        """A while after the connection: what was neither asked again nor found is told as such."""
        deadline = time.monotonic() + REPLIES_S
        while live.talk.awaits_replies and time.monotonic() < deadline and self._live.get(place) is live:  # noqa: ASYNC110
            await asyncio.sleep(REPLY_LOOK_S)
        await asyncio.sleep(SETTLED_S)
        async with live.turn:
            if self._live.get(place) is not live:
                return  # it was too short to tell anything
            for event in live.talk.before.give_up(time.time()):
                await self._teller.post(event)

    async def _again(self, place: str, live: Connection) -> None:
        """Now and then, as long as it is there: what it refused because it was too busy."""
        while self._live.get(place) is live:
            async with live.turn:
                try:
                    for message in live.talk.again():
                        await live.write(message)
                except Exception as error:  # it is gone: who listens to it notices
                    log.debug("nothing more can be asked of %s: %s", place, error)
                    return
            await asyncio.sleep(AGAIN_S)

    async def _whose(self, prompt_id: str, text: Outcome) -> None:
        """A form that closed after our answer, and at whose desk nobody has touched a key since: it was ours."""
        prompt = self._teller.state.prompts.get(prompt_id)
        session = self._teller.state.sessions.get(prompt.session_id) if prompt else None
        if prompt is None or session is None or self._typed_at is None:
            return
        sent = next((moment.at for moment in reversed(prompt.history) if moment.state == "sent"), 0.0)
        typed = await self._typed_at(session)
        if typed is not None and sent and typed < int(sent):
            nobody = "the form closed, and nobody typed at the desk"
            await self._teller.post(CallSettled(time.time(), prompt_id, text, "held", nobody))

    async def _prove(self, live: Connection, prompt_id: str, path: str, call_id: str) -> None:
        """How a question was answered, and sometimes that something was refused, stands in the rollout alone."""
        tail, deadline, pace = Tail(Path(path), MOST_AT_ONCE), time.monotonic() + RECORD_S, 0.02
        while time.monotonic() < deadline:
            prompt = self._teller.state.prompts.get(prompt_id)
            if prompt is None:
                break
            found = [f for line in tail.new_lines() for f in self._agent.read_line(line) if f.call_id == call_id]
            for result in found:
                async with live.turn:
                    prompt = self._teller.state.prompts.get(prompt_id)
                    if prompt is None or not isinstance(result, CallResult):
                        continue
                    if 0 < result.at < int(prompt.opened_at):
                        continue  # of an earlier call that the model named alike
                    call_settled = self._agent.settled(prompt, result, time.time())
                    if call_settled is not None:
                        await self._teller.post(call_settled)
                        live.talk.proved(prompt_id, found=True)
                        return
            await asyncio.sleep(pace)
            pace = min(0.5, pace * 1.5)
        live.talk.proved(prompt_id, found=False)

    # --- what is lost ---------------------------------------------------------------------------------------

    def _sessions(self, place: str) -> list[Session]:
        every, real = self._teller.state.sessions.values(), _real(place)
        return [s for s in every if any(link.kind == LINK and _real(link.server) == real for link in s.links)]

    def _prompts(self, place: str) -> list[Prompt]:
        mine = {session.id for session in self._sessions(place)}
        return [
            p
            for p in self._teller.state.prompts.values()
            if p.link == LINK and p.session_id in mine and unsettled(p)
        ]

    async def _lost(self, place: str, *, ended: bool) -> None:
        now = time.time()
        for prompt in self._prompts(place):
            if prompt.answerable or prompt.state == "answering":
                await self._teller.post(HolderLost(now, prompt.id, f"the connection to {self._title} is lost"))
            elif prompt.state in ("sent", "accepted"):
                await self._teller.post(TraceLost(now, prompt.id, f"the connection to {self._title} was lost"))
        if ended:
            for session in self._sessions(place):
                await self._teller.post(SessionEnded(now, session.id, f"{self._title}'s server is gone"))

    # --- answers and wishes ---------------------------------------------------------------------------------

    async def deliver(self, prompt: Prompt, answer: Answer, request: bytes) -> None:
        """Carry an answer to the thread that asked, and tell how that went."""
        live = self._of(prompt.session_id)
        # After a start it takes a moment until the server has told us again what it asked before.
        while (live is None or not live.talk.asks(prompt)) and time.monotonic() - self._born < JOINS_S:
            await asyncio.sleep(0.05)
            if over_meanwhile(self._teller.state, prompt):
                return
            live = self._of(prompt.session_id)
        if live is None:
            why = f"the connection to {self._title} is lost"
            await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, why))
            return
        async with live.turn:
            messages = live.talk.answer(prompt, answer, request)
            if isinstance(messages, Refused):
                await self._teller.post(AnswerNotWritten(time.time(), prompt.id, answer.id, messages.reason))
                return
            try:
                for message in messages:
                    await live.write(message)
            except Exception as error:  # how much of it went out nobody can say
                log.info("an answer may not have been written: %s", error)
                await live.socket.close()
                return
            await self._teller.post(AnswerWritten(time.time(), prompt.id, answer.id))

    async def send(self, session: Session, text: str, as_command: bool = False) -> Verdict:
        """The next instruction, or more for the turn that runs."""
        if as_command and self._spec.no_commands:
            return Verdict("refused", self._spec.no_commands)
        return await self._ask(session, lambda talk: talk.say(session.id, text), "it was told")

    async def interrupt(self, session: Session) -> Verdict:
        return await self._ask(session, lambda talk: talk.interrupt(session.id), "the turn was stopped")

    async def _ask(
        self, session: Session, wish: Callable[[ServerConnection], tuple[str, bytes] | Refused], granted: str
    ) -> Verdict:
        live = self._of(session.id)
        if live is None:
            return Verdict("refused", "There is no connection to this session.")
        from websockets.exceptions import ConnectionClosed  # it is loaded by now
        from websockets.protocol import State as Line

        if live.socket.state is not Line.OPEN:
            return Verdict("refused", f"The connection to {self._title} was just lost; nothing was said.")
        asked = wish(live.talk)
        if isinstance(asked, Refused):
            return Verdict("refused", asked.reason)
        number, message = asked
        done = live.asked[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(GRANTED_S):
                await live.write(message)
                error = (await done).error
        except TimeoutError:
            return Verdict("unsure", f"{self._title} got the message, and has not replied.")
        except ConnectionClosed:
            return Verdict("unsure", f"The connection to {self._title} was lost.")
        except asyncio.CancelledError:
            if done.cancelled():
                return Verdict("unsure", f"The connection to {self._title} was lost.")
            raise
        finally:
            live.asked.pop(number, None)
        return Verdict("refused", error) if error else Verdict("confirmed", granted)

    def reaches(self, session_id: str) -> bool:
        return self._of(session_id) is not None

    def _of(self, session_id: str) -> Connection | None:
        session = self._teller.state.sessions.get(session_id)
        places = {_real(link.server) for link in session.links if link.kind == LINK} if session else set[str]()
        return next((live for place, live in self._live.items() if _real(place) in places), None)


def _real(place: str) -> str:
    """The one name of a socket in a home that is known by several: behind a link, or as its agent names it. A
    second connection to one server would not know what was answered through the first."""
    folder, name = os.path.split(place)
    return os.path.join(os.path.realpath(folder), name)


def _target(place: str) -> str:
    """Where the link leads: a socket's path has room for some 104 bytes, which is why an agent may make a link."""
    return os.path.realpath(place)


def _is_ours(place: str) -> bool:
    """A socket, and this user's own: whoever could put one there could answer for the agent."""
    try:
        about = os.stat(place)
    except OSError:
        return False
    return stat.S_ISSOCK(about.st_mode) and about.st_uid == os.getuid()


def homes(
    agent: str, spec: ServerSpec, configured: Iterable[str], own: Path | None, sessions: Iterable[Session]
) -> list[Path]:
    """The agent's folders: the user's own, the configured ones, those of sessions that were seen."""
    found: dict[Path, None] = {}
    for home in configured:
        with contextlib.suppress(RuntimeError):  # of a user who is not there
            found[Path(home).expanduser()] = None
    if own is not None:
        found[own] = None
    for session in sessions:
        if session.agent == agent and (home := spec.home_of(session)):
            found[Path(home)] = None
    return list(found)
