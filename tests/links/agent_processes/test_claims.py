"""A hook says which process its agent is. Anybody can say so; only what the kernel confirms counts.

Whoever is taken for an agent cannot answer or change anything. So a false claim must not lock out a person.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.agent_world import REFUSED, TAKEN, World, tell
from kit.poll import until
from kit.yourcall import Yourcall


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Yourcall(tmp_path) as yc:
        world = World(tmp_path, yc)
        try:
            yield world
        finally:
            world.close()


def test_an_agent_that_calls_its_own_hook_is_known(world: World) -> None:
    agent = world.runner()
    tell(agent, world.greeting(agent.pid, "s1"))
    world.heard("s1")
    assert world.may(agent) == REFUSED


def test_a_stranger_does_not_make_another_process_an_agent(world: World) -> None:
    person, stranger = world.runner(), world.runner()
    assert world.may(person) == TAKEN
    tell(stranger, world.greeting(person.pid, "s1"))
    world.heard("s1")
    (row,) = world.sessions()
    assert row["id"] == "s1", "the session is shown as before"
    assert world.may(person) == TAKEN
    # Nor does a later word, or a new start, which finds the claim in the database.
    tell(stranger, world.greeting(person.pid, "s1"))
    tell(stranger, world.greeting(person.pid, "s2"))
    world.heard("s2")
    assert world.may(person) == TAKEN
    world.yc.kill()
    world.yc.start()
    assert {each["id"] for each in world.sessions()} & {"s1", "s2"}
    assert world.may(person) == TAKEN


def test_what_an_agent_started_does_not_make_the_agents_parent_one(world: World) -> None:
    person = world.runner()
    pid, agent = world.below(person)
    tell(agent, world.greeting(pid, "s1"))
    world.heard("s1")
    assert world.may(agent) == REFUSED
    assert world.may(person) == TAKEN
    for session, words in (("s2", ()), ("s3", ("leave",))):
        tell(agent, world.greeting(person.pid, session, *words))
        world.heard(session)
        assert world.may(person) == TAKEN, "its parent is a person's program"
        assert world.may(agent) == REFUSED
    # After a restart the agent has not told of itself yet; what it started must not be quicker.
    world.yc.kill()
    world.yc.start()
    tell(agent, world.greeting(person.pid, "s4"))
    world.heard("s4")
    assert world.may(person) == TAKEN
    assert world.may(agent) == REFUSED


def test_a_command_in_a_terminal_does_not_make_the_terminal_an_agent(world: World) -> None:
    """The parent of the shell is the terminal's program, or tmux's server: all that a person starts is below."""
    terminal = world.runner()
    shell = world.folder / "in-terminal.py"
    shell.write_text(
        f"import pty, sys; pty.spawn(['/bin/sh', '-c', {world.greeting(terminal.pid, 's1')!r} + '; :'])"
    )
    tell(terminal, f"exec {sys.executable} -I {shell} >/dev/null")
    world.heard("s1")
    assert world.may(terminal) == TAKEN


def test_no_shell_is_taken_for_an_agent(world: World) -> None:
    """A script that somebody runs names the shell that it was started from."""
    person = world.runner()
    lines = world.folder / "shell.lines"
    os.mkfifo(lines)
    pid = world.folder / "shell.pid"
    loop = 'while read -r line <&3; do [ "$line" = end ] && exit; eval "$line"; done'
    tell(person, f"exec 3<>{lines}; echo $$ > {pid}.new; mv {pid}.new {pid}; {loop}")
    until(pid.exists, what="the shell")
    tell(lines, world.greeting(int(pid.read_text()), "s1"))
    world.heard("s1")
    assert world.may(lines) == TAKEN


def test_a_hook_that_was_left_behind_is_believed_for_a_program_of_that_name(world: World) -> None:
    """Hooks of runs without a dialog leave their agent before they speak (`setsid`, `-b`)."""
    agent, stranger = world.runner("claude"), world.runner()
    tell(stranger, world.greeting(agent.pid, "s1", "leave"))
    world.heard("s1")
    assert world.may(agent) == REFUSED
    assert world.may(stranger) == TAKEN


def test_what_was_known_stays_known_after_a_restart(world: World) -> None:
    agent = world.runner()
    tell(agent, world.greeting(agent.pid, "s1"))
    world.heard("s1")
    assert world.may(agent) == REFUSED
    world.yc.kill()
    world.yc.start()
    assert world.may(agent) == REFUSED


def test_a_claim_to_the_first_process_or_to_yourcall_ties_nobody(world: World) -> None:
    person, stranger = world.runner(), world.runner()
    for number, pid in enumerate((1, world.yc.pid, os.getpid())):
        tell(stranger, world.greeting(pid, f"s{number}"))
        world.heard(f"s{number}")
    assert world.may(person) == TAKEN
    assert world.yc.http("POST", "/api/may/pause")[0] == TAKEN
    assert len(world.sessions()) == 3, "all of them are shown"
