"""A thread of an app-server, what is under way in it, and the session that it is for people.

Rule: a thread without a record of its own is a helper of Codex's (it makes titles), and a sub-agent's belongs to
the session above it: neither is a session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from yourcall.agents.codex.discover import (
    HOLDS,
    UNNAMED,
    command_of,
    folder_of,
    found,
    runs,
    session_file,
    threads_held,
)
from yourcall.agents.codex.requests import AGENT
from yourcall.agents.codex.wire import Item, Thread
from yourcall.agents.session_spec import Child
from yourcall.agents.sightings import Process
from yourcall.agents.spec import Finder
from yourcall.model.events import SessionSeen
from yourcall.model.sessions import Link, Session, SessionState

WAITING = frozenset({"waitingOnApproval", "waitingOnUserInput"})
STATES: dict[str, SessionState] = {"active": "working", "idle": "idle", "systemError": "idle"}

SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it becomes a session's id, and part of an address
LONGEST_PATH = 4096


class Known(Struct):
    """A thread, and what is under way in it."""

    thread: Thread
    subscribed: bool = False
    turn: str = ""
    ended: str = ""  # the last turn whose end was told
    doubted: str = ""  # a turn that a record which may not be whole yet calls interrupted
    items: dict[str, Item] = field(default_factory=dict[str, Item])
    last: Item = Item()
    pause: str = ""  # the prompt that waits for the next instruction
    instructing: bool = False  # our next instruction is on its way
    stopping: bool = False  # we asked for the end of this turn
    afterwards: str = ""  # what to say once the turn that we stop is over


def seen(
    thread: Thread, link: Link, child: Child | None, at: float, state: SessionState | None = None
) -> SessionSeen:
    """Its session now. `child`: a server of our own, which nobody shows in a terminal."""
    text: SessionState = STATES.get(thread.status.type, "unknown")
    if WAITING & set(thread.status.activeFlags or []):
        text = "unknown"  # the prompts themselves tell
    session = Session(
        thread.id,
        AGENT,
        thread.cwd[:LONGEST_PATH],
        state or text,
        mode="headless" if child else "terminal",
        links=(link,),
        pid=child.pid if child else 0,
        pid_started=child.started if child else "",
        version=thread.cliVersion[:40],
        transcript=(thread.path or "")[:LONGEST_PATH],
        started_at=at,
        seen_at=at,
    )
    return SessionSeen(at, session)


SOCKET = "socket"
CONTROL = "app-server-control/app-server-control.sock"  # below CODEX_HOME
# With these it has a server within itself.
EMBEDDED = frozenset({"--no-daemon", "--dangerously-bypass-hook-trust"})
# From its start to its thread it takes one to three seconds, on a busy machine ten.
STARTS_S = 15.0
AHEAD_S = 1.0  # the system tells the start of a process in hundredths, and the time of its own start in seconds

_V7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def shown(running: Sequence[Process], known: Sequence[Session]) -> dict[int, str]:
    """By pid: the thread that it shows, where only one can be meant."""
    clients: dict[tuple[str, str], list[Process]] = {}
    for process in running:
        if place := server_of(process):
            clients.setdefault((place, folder_of(process)), []).append(process)
    found: dict[int, str] = {}
    for (place, folder), here in clients.items():
        threads = [s for s in known if s.cwd == folder and s.mode == "terminal" and _place(s) == place]
        found |= _matched(here, sorted(threads, key=began))
    return found


def server_of(process: Process) -> str:
    """The socket of the server whose client it is; empty if it has its own within."""
    argv = process.argv
    if EMBEDDED & set(argv) or threads_held(process):
        return ""
    remote = next((after for word, after in zip(argv, (*argv[1:], ""), strict=True) if word == "--remote"), "")
    if remote:
        return remote.removeprefix("unix://") if remote.startswith("unix://") else ""
    home = process.env.get("CODEX_HOME") or f"{process.env.get('HOME', '')}/.codex"
    return f"{home.rstrip('/')}/{CONTROL}"


def began(thread: Session) -> float:
    """When it was made; when we first heard of it, if its id does not say."""
    match = _V7.fullmatch(thread.id)
    return int(match[1] + match[2], 16) / 1000 if match else thread.started_at


def _matched(clients: Sequence[Process], threads: Sequence[Session]) -> dict[int, str]:
    made: dict[int, list[Session]] = {client.pid: [] for client in clients}
    for thread in threads:  # oldest first
        there = [c for c in clients if c.started_at - AHEAD_S <= began(thread)]
        maker = there[0] if len(there) == 1 else _just_started(there, made, began(thread))
        if maker is not None:
            made[maker.pid].append(thread)
    found = {pid: theirs[-1].id for pid, theirs in made.items() if theirs}
    taken = {thread.id for theirs in made.values() for thread in theirs}
    for client in clients:
        if client.pid not in found and command_of(client.argv) == "resume":
            free = [t.id for t in threads if t.id not in taken]
            named = [id for id in free if id in client.argv]
            if len(named or free) == 1:
                found[client.pid] = (named or free)[0]
    return found


def _just_started(there: Sequence[Process], made: dict[int, list[Session]], at: float) -> Process | None:
    """The only one of them that has no thread yet and began a moment before this one did."""
    fresh = [c for c in there if not made[c.pid] and at - c.started_at < STARTS_S]
    return fresh[0] if len(fresh) == 1 else None


def _place(session: Session) -> str:
    return next((link.server for link in session.links if link.kind == SOCKET), "")


FINDER = Finder(runs, session_file, found, UNNAMED, HOLDS, shown)
