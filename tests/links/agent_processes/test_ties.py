"""Which processes belong to an agent: told by real processes that do what tools do to be rid of their parents."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.poll import until
from yourcall.core.state import State
from yourcall.links import processes
from yourcall.links.agent_processes import process
from yourcall.links.agent_processes import process as kernel
from yourcall.links.agent_processes.marks import Marks
from yourcall.links.agent_processes.process import facts
from yourcall.links.agent_processes.ties import Ties
from yourcall.model.sessions import Session
from yourcall.system.peer import Author, Peer, Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator

# An agent: runs each line it is given in a shell, as its tool would, in a process session of its own.
AGENT = """
import subprocess, sys
for line in sys.stdin:
    subprocess.Popen(["/bin/sh", "-c", line], start_new_session=True, stdin=subprocess.DEVNULL)
"""

# A client: connects, says its number, and holds on until it is let go.
CLIENT = """
import os, socket, sys
where = sys.argv[1]
if where.isdecimal():
    talk = socket.create_connection(("127.0.0.1", int(where)))
else:
    talk = socket.socket(socket.AF_UNIX)
    talk.connect(where)
talk.sendall(b"%d\\n" % os.getpid())
talk.recv(1)
"""


@dataclass
class Board:
    """What the ties are kept for: a state with sessions, and a record."""

    state: Any
    told: list[Any]

    async def post(self, event: Any, bodies: dict[str, bytes] | None = None) -> object:
        self.told.append(event)
        return None

    def body(self, id: str, /) -> bytes | None:
        return None


class Place:
    """Two doors, an agent, and the question who stands at a door."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = folder / "client.py"
        self.client.write_text(CLIENT)
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(folder / "door"))
        self.tcp = socket.create_server(("127.0.0.1", 0))
        for door in (self.unix, self.tcp):
            door.listen(8)
            door.settimeout(30)
        self.agent = subprocess.Popen(
            [sys.executable, "-c", AGENT], stdin=subprocess.PIPE, text=True, cwd=folder, start_new_session=True,
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )  # fmt: skip
        self.session = Session(
            "s1", "claude", str(folder), pid=self.agent.pid, pid_started=processes.started(self.agent.pid)
        )
        self.board = Board(State(sessions={"s1": self.session}), [])
        self.named: dict[str, Supervisor] = {}
        self.guests: list[socket.socket] = []
        self.others: list[subprocess.Popen[Any]] = []

    def close(self) -> None:
        for guest in self.guests:
            guest.close()
        self.unix.close()
        self.tcp.close()
        assert self.agent.stdin is not None
        self.agent.stdin.close()
        self.agent.wait(30)
        for each in self.others:
            each.wait(30)

    def other(self, *argv: str, **options: Any) -> None:
        """A process that has nothing to do with the agent."""
        self.others.append(subprocess.Popen([sys.executable, *argv], **options))

    def terminal(self, script: str) -> None:
        """A shell with a terminal of its own runs this."""
        code = f"import pty, sys; sys.exit(pty.spawn(['/bin/sh', '-c', {script!r}]))"
        quiet = subprocess.DEVNULL
        self.other("-c", code, stdin=quiet, stdout=quiet, start_new_session=True)

    def command(self, door: str = "") -> str:
        return f"{sys.executable} {self.client} {door or self.folder / 'door'}"

    def tool(self, line: str) -> None:
        """The agent's tool runs this."""
        assert self.agent.stdin is not None
        self.agent.stdin.write(line + "\n")
        self.agent.stdin.flush()

    def guest(self, door: socket.socket | None = None) -> tuple[Peer, int]:
        """The next who comes in, and the number it says it has."""
        talk, there = (door or self.unix).accept()
        talk.settimeout(30)
        self.guests.append(talk)
        pid = int(talk.makefile().readline())
        return Peer(talk, *((None, None) if door is None else (talk.getsockname(), there))), pid

    def author(self, peer: Peer, ties: Ties, device: bool = False) -> Author:
        return asyncio.run(ties.author(peer, device))

    def known(self, marks: Marks | None = None) -> Ties:
        """Ties that know the agent, before it runs anything."""

        async def note() -> Ties:
            ties = Ties(self.board, self.board.state.sessions.get, lambda: self.named, marks=marks)
            ties.note(self.session)
            await ties.walk()
            return ties

        return asyncio.run(note())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


DETOURS = {
    "directly": "{}",
    "in the background": "nohup {} >/dev/null 2>&1 &",
    "setsid": "setsid {} >/dev/null 2>&1 &",
    "two forks": "(setsid sh -c '({} &) &' &) ; exit",
    "two forks without a variable": "(setsid env -i sh -c '(exec env -i {} &) &' &)",
    "a lower limit": "(ulimit -q 1000; setsid {} >/dev/null 2>&1 &)",
}


@pytest.mark.parametrize("how", DETOURS)
def test_what_an_agents_tool_starts_is_the_agents(place: Place, how: str) -> None:
    ties = place.known()
    place.tool(DETOURS[how].format(place.command()))
    peer, pid = place.guest()
    assert peer.pid == pid
    author = place.author(peer, ties)
    assert [tie.session_id for tie in author.ties] in (["s1"], [""]), (how, author)
    assert (author.certainty, author.tied) == ("agent", True)


def test_an_orphan_that_was_seen_before_its_parent_left_is_remembered(place: Place) -> None:
    """Where no limit can be set, and where it can be raised again: what was once seen below the agent."""
    ties = place.known(Marks(top=0))
    go = place.folder / "go"
    os.mkfifo(go)
    place.tool(
        f"setsid sh -c 'cat {go} >/dev/null; exec {place.command()}' & echo $$ > {place.folder}/shell; wait"
    )
    shell = int(until(lambda: (place.folder / "shell").read_text() if (place.folder / "shell").exists() else ""))
    until(lambda: len(list(processes.descendants(shell))) >= 2, what="its child")
    asyncio.run(ties.walk())
    os.kill(shell, 9)
    until(lambda: facts(shell) is None, what="the end of the shell")
    go.write_text("now")
    peer, pid = place.guest()
    found = facts(pid)
    assert found is not None
    assert all(each.pid != place.agent.pid for each in kernel.chain(found))
    assert [tie.session_id for tie in place.author(peer, ties).ties] == ["s1"]


def test_a_process_of_nobodys_is_let_in(place: Place) -> None:
    """A job without a terminal, started by whoever started the agent, before it and after it."""
    ties = place.known()
    for options in ({"start_new_session": True}, {}):
        place.other(str(place.client), str(place.folder / "door"), **options)
        author = place.author(place.guest()[0], ties)
        assert (author.tied, author.certainty) == (False, "local process")


def test_an_orphan_of_a_persons_is_let_in(place: Place) -> None:
    ties = place.known()
    subprocess.run(["/bin/sh", "-c", f"(setsid {place.command()} >/dev/null 2>&1 &)"], check=True)
    author = place.author(place.guest()[0], ties)
    assert (author.tied, author.certainty) == (False, "local process")


def test_the_terminal_of_an_agent_is_its_own_and_another_is_a_persons(place: Place) -> None:
    """Who suspends the agent and types a command there: the agent's own dialog is right there to be answered."""
    ties = place.known()
    place.terminal(place.command())
    author = place.author(place.guest()[0], ties)
    assert (author.tied, author.certainty) == (False, "terminal")

    said = place.folder / "agent"
    place.terminal(f"sleep 600 & echo $! > {said}; {place.command()}; kill $!")
    pid = int(until(lambda: said.exists() and said.read_text().strip()))
    there = Session("s2", "codex", "/p", pid=pid, pid_started=processes.started(pid))
    place.board.state.sessions["s2"] = there

    async def note() -> None:
        ties.note(there)

    asyncio.run(note())
    author = place.author(place.guest()[0], ties)
    assert [(tie.session_id, tie.how) for tie in author.ties] == [("s2", "it runs in the terminal of")]


def test_who_hangs_up_at_once_changes_nothing(place: Place) -> None:
    """It connects, says all it has to say, and is gone before anybody looks at it."""
    ties = place.known()
    talk = "import socket; s = socket.socket(socket.AF_UNIX)"
    code = f"{talk}; s.connect({str(place.folder / 'door')!r}); s.sendall(b'1\\n')"
    subprocess.run([sys.executable, "-c", code], check=True)
    author = place.author(place.guest()[0], ties)
    assert author.tied
    assert "gone" in author.doubt


def test_who_comes_from_another_container_changes_nothing(place: Place) -> None:
    """An agent there is known to its hook by another number than here, and so are its children."""
    ties = place.known()
    inside = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child"]
    place.others.append(
        subprocess.Popen([*inside, sys.executable, str(place.client), str(place.folder / "door")], env={})
    )
    author = place.author(place.guest()[0], ties)
    assert author.tied
    assert "can't be seen" in author.doubt


def test_a_variable_of_the_session_tells_even_where_nothing_else_does(place: Place) -> None:
    ties = place.known(Marks(top=0))
    line = f"(setsid {place.command()} >/dev/null 2>&1 &)"
    subprocess.run(["/bin/sh", "-c", line], env={**os.environ, "CLAUDE_CODE_SESSION_ID": "s1"}, check=True)
    author = place.author(place.guest()[0], ties)
    assert [tie.session_id for tie in author.ties] == ["s1"]
    subprocess.run(["/bin/sh", "-c", line], env={**os.environ, "CLAUDE_CODE_SESSION_ID": "not here"}, check=True)
    assert not place.author(place.guest()[0], ties).tied


def test_a_device_key_on_loopback_does_not_hide_an_agents_process(place: Place) -> None:
    ties = place.known()
    port = str(place.tcp.getsockname()[1])
    place.tool(DETOURS["two forks without a variable"].format(place.command(port)))
    author = place.author(place.guest(place.tcp)[0], ties, device=True)
    assert (author.tied, author.certainty) == (True, "agent")
    place.other(str(place.client), port)
    author = place.author(place.guest(place.tcp)[0], ties, device=True)
    assert (author.tied, author.certainty) == (False, "device key")
    code = f"import socket; socket.create_connection(('127.0.0.1', {port})).sendall(b'1\\n')"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert place.author(place.guest(place.tcp)[0], ties, device=True).doubt


def test_a_browsers_signature_does_not_stand_for_a_connection_that_nobody_holds(place: Place) -> None:
    """The key lies in the browser's profile. While the connection is under way from a process to another, it is in
    no process's table of files; only a browser that hides its own could be at its other end then."""
    ties = place.known()
    code, over = place.folder / "in_flight.py", place.folder / "over"
    code.write_text(
        "import os, socket, time\n"
        f"talk = socket.create_connection(('127.0.0.1', {place.tcp.getsockname()[1]}))\n"
        "here, there = socket.socketpair()\n"
        "socket.send_fds(here, [b'x'], [talk.fileno()])\n"
        "talk.sendall(b'%d\\n' % os.getpid())\n"
        "talk.close()\n"
        f"while not os.path.exists({str(over)!r}): time.sleep(0.02)\n"
    )
    place.tool(f"{sys.executable} {code}")
    try:
        peer, _ = place.guest(place.tcp)
        until(lambda: not held_by_somebody(peer), what="a connection that nobody holds")
        author = asyncio.run(ties.author(peer, True, True))
        assert bool(author.doubt) == (not process.hidden_ones())
    finally:
        over.touch()


def held_by_somebody(peer: Peer) -> bool:
    assert peer.here is not None
    assert peer.there is not None
    inode, _ = process.socket_of(peer.there, (peer.here[0], peer.here[1] or 0))
    return process.held_by_one_of_mine(inode)


def test_a_supervisor_answers_for_others_and_not_for_itself(place: Place) -> None:
    place.named["boss"] = Supervisor("claude", str(place.folder))
    ties = place.known()
    place.tool(place.command())
    author = place.author(place.guest()[0], ties)
    assert (author.certainty, author.supervisor, author.own) == ("supervisor agent", "boss", frozenset({"s1"}))
    place.named["boss"] = Supervisor("claude", "/")  # the folder is the process's own, not what it says
    assert place.author(Peer(place.guests[-1], None, None), ties).supervisor == ""
    place.named["boss"] = Supervisor("codex", str(place.folder))
    assert place.author(Peer(place.guests[-1], None, None), ties).supervisor == ""


def test_an_attempt_is_recorded_once_a_minute(place: Place) -> None:
    ties = place.known()
    place.tool(place.command())
    author = place.author(place.guest()[0], ties)

    async def refuse() -> str:
        await ties.refused(author, "change rules", None)
        return await ties.refused(author, "change rules", None)

    said = asyncio.run(refuse())
    assert "only a person may change rules" in said
    (event,) = place.board.told
    assert (event.session_id, event.what) == ("s1", "a process tried to change rules")


def test_a_look_is_quick_and_leaves_the_loop_alone(place: Place) -> None:
    """With many sessions known. The budget is a millisecond; a busy machine gets a few tries."""
    ties = place.known()
    place.other(str(place.client), str(place.folder / "door"))
    peer, _ = place.guest()

    async def best() -> float:
        taken: list[float] = []
        for _ in range(300):
            began = time.perf_counter()
            await ties.author(peer, False)
            taken.append(time.perf_counter() - began)
        return sorted(taken)[len(taken) // 2]

    assert min(asyncio.run(best()) for _ in range(3)) < 0.001


def test_a_supervisors_name_does_not_pass_to_what_others_left_behind(place: Place) -> None:
    """Only its own children answer in its name. What forked twice may be of an agent in between; and a supervisor
    that was itself started by an agent, now gone, carries that one's mark."""
    place.named["boss"] = Supervisor("claude", str(place.folder))
    ties = place.known()
    place.tool(DETOURS["two forks without a variable"].format(place.command()))
    author = place.author(place.guest()[0], ties)
    assert (author.certainty, author.supervisor) == ("agent", "")


def test_a_supervisor_that_another_agent_started_is_none(place: Place) -> None:
    place.named["boss"] = Supervisor("claude", str(place.folder))
    marks = Marks()
    marks.put(place.agent.pid, marks.of((1, "an agent that is gone")))
    ties = place.known()
    place.tool(place.command())
    author = place.author(place.guest()[0], ties)
    assert (author.certainty, author.supervisor) == ("agent", "")
