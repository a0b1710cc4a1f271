"""Finding what runs: real processes, real terminals, a real tmux; only what this test started is looked at."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop
from msgspec.structs import replace

from kit.poll import until
from kit.terminal import Ptys, Tmux
from yourcall.agents.claude.agent import CLAUDE
from yourcall.agents.claude.discover import OUTSIDE, runs
from yourcall.core.state import State
from yourcall.core.step import step
from yourcall.links import discover, processes
from yourcall.links.discover import Discovery, Mode
from yourcall.model.events import AnyEvent, SessionEnded, SessionSeen
from yourcall.model.sessions import Link, Session

SLEEP = ["bash", "-c", "exec -a claude sleep 600"]


class Desk:
    """A core without a disk."""

    def __init__(self) -> None:
        self.state = State()
        self.events: list[AnyEvent] = []

    async def post(self, event: AnyEvent) -> None:
        self.events.append(event)
        self.state.take(step(self.state, event))


class Person:
    """Somebody's home, with session files as Claude Code writes them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        (self.home / ".claude" / "sessions").mkdir(parents=True)
        self.project.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def writes(self, pid: int, session: str, **more: Any) -> None:
        told = {"sessionId": session, "procStart": processes.started(pid), "cwd": str(self.project)}
        file = self.home / ".claude" / "sessions" / f"{pid}.json"
        file.write_text(json.dumps({**told, "status": "idle", "version": "2.1.325", **more}))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "GRACE_S", -10.0)


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    with Tmux() as server:
        yield server


@pytest.fixture
def ptys() -> Iterator[Ptys]:
    with Ptys() as terminals:
        yield terminals


def look(desk: Desk, root: int, mode: Mode = "all", times: int = 1) -> dict[str, Session]:
    looking = Discovery(desk, {"claude": CLAUDE}, mode, root)
    for _ in range(times):
        uvloop.run(looking.look())
    return desk.state.sessions


def named(pid: int) -> bool:
    """The program has become what it says it is."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"claude\0")


def server_pid(tmux: Tmux) -> int:
    return int(tmux.run("display-message", "-p", "#{pid}"))


def test_two_in_one_folder_are_two_each_with_its_pane(tmux: Tmux, person: Person) -> None:
    panes = [tmux.start(SLEEP, cwd=person.project, env=person.env) for _ in range(2)]
    for pane, name in zip(panes, ("first", "second"), strict=True):
        until(lambda pane=pane: named(pane.pid))
        person.writes(pane.pid, name)
    found = look(Desk(), server_pid(tmux), "tmux")
    assert {s.id: (s.pid, s.links, s.cwd, s.state) for s in found.values()} == {
        name: (pane.pid, (Link("tmux", pane.id, str(tmux.socket)),), str(person.project), "idle")
        for pane, name in zip(panes, ("first", "second"), strict=True)
    }


def test_outside_tmux_it_is_read_only_and_only_if_all_are_wanted(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "alone")
    assert look(Desk(), pty.pid, "tmux") == {}
    session = look(Desk(), pty.pid)["alone"]
    assert (session.links, session.note, session.cwd) == ((), OUTSIDE, str(person.project))
    (found,) = processes.running(runs, pty.pid)
    assert found.tty == pty.tty
    assert abs(found.started_at - time.time()) < 60
    assert set(found.env) <= processes.told_variables()


def test_only_the_tree_below_the_root_is_looked_at(ptys: Ptys, person: Person) -> None:
    inside = ptys.start(["bash", "-c", "(exec -a claude sleep 600) & wait"], cwd=person.project, env=person.env)
    outside = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(outside.pid))
    (child,) = until(lambda: [p for p in processes.descendants(inside.pid) if p != inside.pid and named(p)])
    assert [p.pid for p in processes.running(runs, inside.pid)] == [child]
    assert list(look(Desk(), inside.pid)) == [f"pid-{child}-{processes.started(child)}"]
    os.kill(child, 9)


def test_what_a_hook_told_is_not_overwritten(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "hooked")
    desk = Desk()
    told = Session("hooked", "claude", "/elsewhere", "working", links=(Link("hook"),), pid=pty.pid)
    told = replace(told, pid_started=processes.started(pty.pid))
    uvloop.run(desk.post(SessionSeen(time.time(), told)))
    assert look(desk, pty.pid)["hooked"] == told
    # And when a hook speaks of a session that was only found, the reason why it was out of reach is gone.
    other = Desk()
    assert look(other, pty.pid)["hooked"].note == OUTSIDE
    uvloop.run(other.post(SessionSeen(time.time(), told)))
    assert other.state.sessions["hooked"].note == ""
    assert look(other, pty.pid)["hooked"].links == (Link("hook"),)


def test_a_process_that_changes_its_session_ends_the_old_one(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    desk = Desk()
    unnamed = f"pid-{pty.pid}-{processes.started(pty.pid)}"
    assert list(look(desk, pty.pid)) == [unnamed]
    person.writes(pty.pid, "one")
    assert list(look(desk, pty.pid)) == ["one"]
    person.writes(pty.pid, "two", status="busy")
    assert list(look(desk, pty.pid)) == ["two"]
    assert desk.state.sessions["two"].state == "working"
    ended = [event.session_id for event in desk.events if isinstance(event, SessionEnded)]
    assert ended == [unnamed, "one"]


def test_a_quiet_world_is_no_news(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "quiet")
    desk = Desk()
    first = look(desk, pty.pid)["quiet"]
    assert look(desk, pty.pid, times=3)["quiet"] == first


def test_a_file_of_an_earlier_process_names_nobody(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "stale", procStart="1")
    assert "stale" not in look(Desk(), pty.pid)


def test_a_process_that_is_gone_or_a_zombie_is_not_there() -> None:
    child = subprocess.Popen(["true"])
    until(lambda: not processes.started(child.pid))
    assert processes.running(lambda argv: True, child.pid) == []
    child.wait(10)
    assert processes.running(lambda argv: True, child.pid) == []
    assert processes.started(os.getpid())
    assert processes.started(0) == ""


def test_the_transcript_is_found_where_it_is(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "moved")
    place = person.home / ".claude" / "projects" / "cut-short-7f3a" / "moved.jsonl"
    place.parent.mkdir(parents=True)
    place.touch()
    assert look(Desk(), pty.pid)["moved"].transcript == str(place)


def test_the_end_of_a_process_is_the_end_of_its_session(ptys: Ptys, person: Person) -> None:
    pty = ptys.start(SLEEP, cwd=person.project, env=person.env)
    until(lambda: named(pty.pid))
    person.writes(pty.pid, "brief")
    desk = Desk()
    assert "brief" in look(desk, os.getpid())
    pty.close()
    ptys.ptys.remove(pty)
    assert look(desk, os.getpid()) == {}
    assert isinstance(desk.events[-1], SessionEnded)


def test_all_of_this_users_but_nobody_elses_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A /proc of our own making: the real one shows processes that are none of a test's business."""

    def made(pid: str, argv: bytes, world: str = "mnt:[1]") -> Path:
        place = tmp_path / pid
        (place / "ns").mkdir(parents=True)
        (place / "ns" / "mnt").symlink_to(world)
        (place / "ns" / "pid").symlink_to("pid:[1]")
        (place / "cwd").symlink_to("/srv")
        (place / "cmdline").write_bytes(argv)
        (place / "environ").write_bytes(b"HOME=/home/user\0SECRET=x\0TMUX=/t/s,1,0\0")
        fields = ["S", "1", "1", "1", str(136 << 8 | 7), *["0"] * 14, "12300", "0"]
        (place / "stat").write_text(f"{pid} (a ) b) {' '.join(fields)}\n")
        return place

    monkeypatch.setattr(processes, "PROC", tmp_path)
    made("self", b"me\0")
    (tmp_path / "stat").write_text("cpu 1\nbtime 1000\n")
    made("10", b"claude\0--resume\0")
    made("11", b"vim\0")
    made("12", b"claude\0", world="mnt:[2]")
    (made("13", b"claude\0") / "environ").unlink()
    made("irq", b"claude\0")
    (process,) = processes.running(runs)
    assert (process.pid, process.argv, process.cwd, process.tty) == (
        10,
        ("claude", "--resume"),
        "/srv",
        "/dev/pts/7",
    )
    assert process.env == {"HOME": "/home/user", "TMUX": "/t/s,1,0"}
    assert process.started == "12300"
    assert process.started_at == 1000 + 12300 / os.sysconf("SC_CLK_TCK")


def test_a_folder_whose_name_is_no_text_is_told_as_far_as_it_is(ptys: Ptys, person: Person) -> None:
    folder = Path(os.fsdecode(os.fsencode(person.project) + b"/half-\xff"))
    folder.mkdir()
    pty = ptys.start(SLEEP, cwd=folder, env=person.env)
    until(lambda: named(pty.pid))
    (session,) = look(Desk(), pty.pid).values()
    assert session.cwd == f"{person.project}/half-\ufffd"


def test_a_session_that_cannot_be_put_into_words_is_passed_over(ptys: Ptys, person: Person) -> None:
    env = {**person.env, "CLAUDE_CONFIG_DIR": f"{person.home}/.claude/half-\udcff"}
    Path(env["CLAUDE_CONFIG_DIR"], "sessions").mkdir(parents=True)
    strange = ptys.start(SLEEP, cwd=person.project, env=env)
    until(lambda: named(strange.pid))
    file = Path(env["CLAUDE_CONFIG_DIR"], "sessions", f"{strange.pid}.json")
    file.write_text(json.dumps({"sessionId": "strange", "procStart": processes.started(strange.pid)}))
    assert look(Desk(), strange.pid) == {}


def test_a_session_in_a_very_deep_folder_hides_no_other(tmux: Tmux, person: Person) -> None:
    """The name that its record would have is too long for a file: every look failed, for all sessions."""
    (person.home / ".claude" / "projects").mkdir()
    panes = [tmux.start(SLEEP, cwd=person.project, env=person.env) for _ in range(2)]
    for pane, name, cwd in zip(panes, ("deep", "plain"), ("/deep" * 80, str(person.project)), strict=True):
        until(lambda pane=pane: named(pane.pid))
        person.writes(pane.pid, name, cwd=cwd)
    assert set(look(Desk(), server_pid(tmux), "tmux")) == {"deep", "plain"}
