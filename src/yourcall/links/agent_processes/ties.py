"""Does whoever asks for a change belong to an agent? The processes of all sessions, and what they left behind.

Rules
  * Closed in doubt: a process that is gone, hidden or cannot be read in time changes nothing.
  * An agent's process is remembered as long as it lives, whatever its session is called meanwhile.
  * Nothing here waits on the loop: files of `/proc` are read by threads, with an end to their patience.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from yourcall.agents.sightings import Caller
from yourcall.agents.spec import Agent
from yourcall.links import processes
from yourcall.links.agent_processes import process as kernel
from yourcall.links.agent_processes.marks import Marks
from yourcall.links.agent_processes.process import (
    Facts,
    Process,
    held_by_one_of_mine,
    hidden_ones,
    holds_socket,
    socket_of,
)
from yourcall.links.event_sink import EventSink
from yourcall.links.session_ids import STRANGER
from yourcall.model.events import AttemptRefused
from yourcall.model.prompts import Prompt
from yourcall.model.sessions import Session
from yourcall.system.peer import Author, Holder, Peer, Supervisor, Tie

log = logging.getLogger(__name__)

# A look takes a fraction of a millisecond; whoever makes it take longer is not to be trusted.
PATIENCE_S = 2.0
THREADS = 4

# How often the processes below each agent are looked at again, for those that will lose their parents.
WALK_S = 5.0
SOONEST_S = 0.5

# One process that tries a thousand times is one line in the record each minute.
SAID_EVERY_S = 60.0
MOST_REMEMBERED = 20_000

_GONE = "The process that asked for this is gone, so yourcall can't tell who it was."
_HIDDEN = "The process that asked for this can't be seen from here, so yourcall can't tell who it is."
_SLOW = "It could not be found out in time which process asked for this."


class _Found(Struct):
    """What one look found. `roots`: agents' processes, and how they are bound to it. `above`: those of them that
    are its parents now. `unknown`: how it is bound to an agent that is not known here, or not any more."""

    roots: dict[Process, str]
    above: set[Process] = set()
    unknown: str = ""
    ids: set[str] = set()
    flags: set[str] = set()
    terminal: bool = False
    elsewhere: bool = False
    doubt: str = ""


class Ties:
    def __init__(
        self,
        teller: EventSink,
        known: Callable[[str], Session | None],
        supervisors: Callable[[], Mapping[str, Supervisor]],
        plays: Collection[str] = (),
        marks: Marks | None = None,
        agents: Callable[[str], Agent | None] = lambda _name: None,
    ) -> None:
        """`plays`: agents that only play one, and answer themselves: the demo. `agents`: how their programs are
        told from others."""
        self._agents = agents
        self._doubted: set[Process] = set()  # somebody said that these are agents; nothing else says so
        self._plays = plays
        self._teller, self._known, self._supervisors = teller, known, supervisors
        self._marks = marks or Marks()
        self._roots: dict[Process, set[str]] = {}
        self._servers: dict[Process, str] = {}  # processes that run the tools of many sessions: where they listen
        self._left: dict[Process, Process] = {}  # once seen below an agent: which
        self._sids: dict[int, Process] = {}  # process sessions that such a process leads
        self._said: dict[tuple[str, str, str], float] = {}
        self._walked_at = 0.0
        self._pool = ThreadPoolExecutor(THREADS, "ties")
        self._walking: asyncio.Task[None] | None = None

    # --- whose processes -------------------------------------------------------------------------------------

    def note(self, session: Session) -> None:
        """A session spoke. Its process is marked before it runs anything more."""
        # Whoever says that an agent is the first process of all, or we ourselves, would tie everybody to it.
        if session.pid in (0, 1, os.getpid()) or not session.pid_started or session.agent in self._plays:
            return
        if session.id.startswith(STRANGER) and kernel.is_shell(session.pid):
            return  # an agent is about to start there; the shell is the person's
        process = session.pid, session.pid_started
        known = process in self._roots
        if not known and process in self._doubted and not self._runs_below(session.agent, session.pid):
            return
        self._roots.setdefault(process, set()).add(session.id)
        if not known:
            self._marks.put(session.pid, self._marks.of(process))
        if not known or time.monotonic() - self._walked_at > SOONEST_S:
            self._walk_soon()

    def adopt(self, session_id: str, pid: int) -> None:
        """A process that we started for a session, and that has not begun: it is one of the agent's."""
        process = pid, processes.started(pid)
        self._roots.setdefault(process, set()).add(session_id)
        self._marks.put(pid, self._marks.of(process))

    def claimed(self, session: Session, callers: Sequence[Caller]) -> None:
        """A hook names this process as its agent's; `callers` are the hook and its parents. Any program can say
        so of any process, and whoever is taken for an agent can change nothing any more. So it is believed of a
        parent of the hook, and of a program of that agent's; of others the session is only shown."""
        process = session.pid, session.pid_started
        if not session.pid_started or process in self._roots:
            return
        if len(self._doubted) > MOST_REMEMBERED:
            self._doubted = {each for each in self._doubted if not processes.gone(*each)}
        if self._calls(process, callers):
            self._doubted.discard(process)
        else:
            self._doubted.add(process)

    def doubt_stored(self) -> None:
        """At the start: a session in the database names its process, and the run before may not have believed it.
        If it did, the process carries a mark."""
        for session in self._teller.state.sessions.values():
            if session.pid_started and not self._marks.read(session.pid):
                self._doubted.add((session.pid, session.pid_started))

    def _calls(self, process: Process, callers: Sequence[Caller]) -> bool:
        """Did this process call the hook, as an agent does? What an agent itself started has the agent's parents,
        too, and so has a command in a terminal: those are the person's."""
        place = next((n for n, each in enumerate(callers) if (each.pid, each.started) == process), None)
        if place is None or not kernel.may_be_an_agent(process[0]):
            return False
        below = callers[:place]
        if any(each.leads_terminal for each in below):
            return False
        if any(
            (each.pid, each.started) in self._roots or (each.pid, each.started) in self._servers for each in below
        ):
            return False
        return bool(self._marks.read(process[0])) or not any(self._marks.read(each.pid) for each in below)

    def _runs_below(self, agent: str, pid: int) -> bool:
        """Is this a program of that agent's, or started by one? Agents have helpers, which run their hooks."""
        finder = found.finder if (found := self._agents(agent)) is not None else None
        first = kernel.facts(pid)
        for each in kernel.chain(first) if first is not None else ():
            argv = kernel.argv(each.pid)
            if argv and (argv[0].rpartition("/")[2] == agent or (finder is not None and finder.runs(argv))):
                return True
        return False

    def note_server(self, pid: int, place: str) -> None:
        """The program that runs the commands of all sessions behind this socket."""
        began = processes.started(pid)
        if began and (pid, began) not in self._servers:
            self._servers[(pid, began)] = place
            self._marks.put(pid, self._marks.of((pid, began)))
            self._walk_soon()

    def _walk_soon(self) -> None:
        self._walked_at = time.monotonic()
        if self._walking is None or self._walking.done():
            self._walking = asyncio.ensure_future(self.walk())

    async def run(self) -> None:
        while True:
            for session in list(self._teller.state.sessions.values()):
                self.note(session)
            await self.walk()
            await asyncio.sleep(WALK_S)

    async def walk(self) -> None:
        """Remember what runs below the agents, mark what is not marked, forget what is gone."""
        roots = [*self._roots, *self._servers]
        try:
            found, living = await asyncio.get_running_loop().run_in_executor(self._pool, self._walked, roots)
        except Exception:
            log.exception("looking at the processes of agents failed")
            return
        for process in roots:
            if process not in living:
                self._roots.pop(process, None)
                self._servers.pop(process, None)
        for each, root in found.items():
            self._left[each.process] = root
            if each.sid == each.pid:
                self._sids[each.pid] = root
        if len(self._left) > MOST_REMEMBERED:
            await asyncio.get_running_loop().run_in_executor(self._pool, self._forget)

    def _walked(self, roots: list[Process]) -> tuple[dict[Facts, Process], set[Process]]:
        living = {process for process in roots if not processes.gone(*process)}
        found: dict[Facts, Process] = {}
        for process in living:
            mark = self._marks.of(process)
            for pid in processes.below(process[0]):
                each = kernel.facts(pid)
                if each is None or each.process == process or pid == os.getpid():
                    continue
                self._marks.put(pid, mark)
                if each.process not in self._left:
                    found[each] = process
        return found, living

    def _forget(self) -> None:
        for process in [each for each in self._left if processes.gone(*each)]:
            self._left.pop(process, None)
        # The number of a process session is not given to another process as long as one of its members lives.
        alive = {each.sid for pid in processes.own() if (each := kernel.facts(pid)) is not None}
        for sid in self._sids.keys() - alive:
            self._sids.pop(sid, None)

    # --- who asks --------------------------------------------------------------------------------------------

    async def author(self, peer: Peer | None, device: bool, signed: bool = False) -> Author:
        """Who asks for a change on this connection, as of now. `signed`: with the key of a browser, which may hide
        its processes."""
        key = Author("device key") if device else Author("local process")
        if peer is None or not peer.local or (not peer.unix and not kernel.on_proc()):
            return key
        if peer.unix and peer.pid is None:
            return key  # this system does not tell
        if peer.unix and peer.pid == 0:
            return Author("local process", doubt=_HIDDEN)
        with peer.hold() as holder:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    run = asyncio.get_running_loop().run_in_executor
                    found = await run(self._pool, self._look, peer, holder, signed)
            except TimeoutError:
                return Author("local process", doubt=_SLOW)
        if found is None:
            return key
        if found.doubt:
            return Author("local process", doubt=found.doubt)
        ties = self._named(found)
        if not ties and found.elsewhere:
            return Author("local process", doubt=_HIDDEN)
        if not ties:
            return key if device else Author("terminal" if found.terminal else "local process")
        named, own = await self._supervisor(found, ties)
        return Author("supervisor agent" if named else "agent", ties, named, own)

    def _named(self, found: _Found) -> tuple[Tie, ...]:
        ties: dict[str, str] = {}
        for process, how in found.roots.items():
            ids = self._sessions_of(process)
            for session_id in ids or {""}:
                ties.setdefault(session_id, how)
        for session_id in found.ids:
            if session_id not in ties and self._known(session_id) is not None:
                ties[session_id] = "it carries a variable of"
        if not ties and any(session.agent in found.flags for session in self._teller.state.sessions.values()):
            ties[""] = "it carries a variable of"
        if not ties and found.unknown:
            ties[""] = found.unknown
        return tuple(Tie(session_id, how) for session_id, how in ties.items())

    def _sessions_of(self, process: Process) -> set[str]:
        place = self._servers.get(process)
        behind = {
            session.id
            for session in self._teller.state.sessions.values()
            if place is not None and any(link.server == place for link in session.links)
        }
        return self._roots.get(process, set()) | behind

    def _look(self, peer: Peer, holder: Holder, signed: bool) -> _Found | None:
        """In a thread. None: not a process of an agent's, and nothing else is known of it."""
        if peer.unix:
            return self._look_at(peer.pid or 0, holder, peer.connected_at)
        assert peer.here is not None
        assert peer.there is not None
        inode, user = socket_of(peer.there, (peer.here[0], peer.here[1] or 0))
        if not inode:
            return _Found({}, doubt=_GONE)
        tied = {pid for process in (*self._roots, *self._servers) for pid in processes.below(process[0])}
        tied |= {process[0] for process in list(self._left)} | set(self._marks.all())
        for pid in tied - {os.getpid()}:
            if holds_socket(pid, inode):
                return self._look_at(pid, holder, 0.0)
        if not tied or user != os.getuid() or held_by_one_of_mine(inode):
            return None
        # A browser hides its files from other programs, and its key lies in its profile, where those can read it.
        hidden = hidden_ones() if signed else set[int]()
        if hidden and hidden.isdisjoint(tied):
            return None
        return _Found({}, doubt=_HIDDEN)

    def _look_at(self, pid: int, holder: Holder, connected_at: float) -> _Found:
        me = kernel.facts(pid)
        if me is None or not holder.alive or (connected_at and me.began > connected_at + 0.05):
            return _Found({}, doubt=_GONE)
        parents = kernel.chain(me)
        found = _Found({}, terminal=me.terminal != 0)
        roots = [*self._roots, *self._servers]
        self._by_parents(found, parents, set(roots))
        if mark := self._marks.read(pid):
            same = [process for process in roots if self._marks.of(process) == mark]
            for process in same:
                found.roots.setdefault(process, "it was started by")
            if not same:
                found.unknown = "it was started by"
        for process in roots:
            if process not in found.roots and (how := self._beside(me, parents, process)):
                found.roots[process] = how
        found.ids, found.flags = kernel.variables(parents)
        found.elsewhere = not found.roots and kernel.in_container(pid)
        if not holder.alive or kernel.facts(pid) is None:
            return _Found({}, doubt=_GONE)
        return found

    def _by_parents(self, found: _Found, parents: list[Facts], roots: set[Process]) -> None:
        for each in parents:
            # In a container the first process may be an agent, and everybody's parent.
            if each.process in roots and each.pid != 1:
                found.roots[each.process] = "it was started by"
                found.above.add(each.process)
            elif root := self._left.get(each.process) or self._sids.get(each.sid):
                found.roots.setdefault(root, "it was left behind by")

    def _beside(self, me: Facts, parents: list[Facts], process: Process) -> str:
        """The terminal, the process session or the control group of this agent, if it is in one of them."""
        agent = kernel.facts(process[0])
        if agent is None or agent.started != process[1]:
            return ""
        if me.terminal and me.terminal == agent.terminal:
            return "it runs in the terminal of"
        if me.sid == agent.sid and not agent.terminal and kernel.left_behind(parents, kernel.chain(agent)):
            return "it runs in the process session of"
        mine = kernel.group(me.pid)
        if mine and mine == kernel.group(agent.pid) and me.began >= agent.began:
            above = {each.process for each in kernel.chain(agent)[1:] if kernel.group(each.pid) == mine}
            if not any(each.process in above for each in parents) and kernel.own_group(mine, agent):
                return "it runs in the control group of"
        return ""

    # --- an agent that answers for others --------------------------------------------------------------------

    async def _supervisor(self, found: _Found, ties: tuple[Tie, ...]) -> tuple[str, frozenset[str]]:
        """The name under which it may answer, and the sessions that count as its own. All of what binds it to
        agents must lead to that one: what a supervisor's process and another agent started is the other's."""
        mine = frozenset(tie.session_id for tie in ties if tie.session_id)
        named = self._supervisors()
        if not named or "" in (tie.session_id for tie in ties) or not found.roots:
            return "", mine
        # Whoever was left behind may be of an agent in between, and a mark without an owner of one that is gone.
        if found.unknown or found.above != found.roots.keys():
            return "", mine
        agents = {session.agent for id in mine if (session := self._known(id)) is not None}
        run = asyncio.get_running_loop().run_in_executor
        folders, own = await run(self._pool, self._household, list(found.roots))
        places = await run(self._pool, _places, named)
        for name, each in named.items():
            if agents == {each.agent} and folders == {places[name]}:
                return name, mine.union(*(self._sessions_of(process) for process in own))
        return "", mine

    def _household(self, roots: list[Process]) -> tuple[set[str], list[Process]]:
        """Where these agents run; and all agents that one of them started, themselves too."""
        folders = {kernel.folder_of(process) for process in roots}
        own: list[Process] = []
        for process in [*self._roots, *self._servers]:
            each = kernel.facts(process[0])
            if each is not None and any(above.process in roots for above in kernel.chain(each)):
                own.append(process)
        return folders, own

    # --- the record ------------------------------------------------------------------------------------------

    async def refused(self, author: Author, what: str, prompt: Prompt | None) -> str:
        """Write down that this was refused; the sentence for whoever tried."""
        session_id = next((tie.session_id for tie in author.ties if tie.session_id), "")
        session = self._known(session_id) if session_id else None
        who = f"{session.agent} (session {session.id[:8]})" if session is not None else "a coding agent"
        why = author.doubt or f"This process belongs to an agent: {author.ties[0].how} {who}."
        key = session_id, what, prompt.id if prompt is not None else ""
        now = time.monotonic()
        if now - self._said.get(key, -SAID_EVERY_S) >= SAID_EVERY_S:
            if len(self._said) > 1000:
                self._said.clear()
            self._said[key] = now
            log.warning("refused to %s: %s", what, why)
            open_one = prompt.id if prompt is not None else ""
            event = AttemptRefused(time.time(), f"a process tried to {what}", why, session_id, open_one)
            await self._teller.post(event)
        if author.doubt:
            return f"{why} Nothing was done; do it in the app, or in a terminal of your own."
        return (
            f"{why} Agents may read and ask, but only a person may {what}. Do it in the app, or in a terminal in "
            "which no agent runs"
        )


def _places(named: Mapping[str, Supervisor]) -> dict[str, str]:
    return {name: os.path.realpath(os.path.expanduser(each.folder)) for name, each in named.items()}
