"""The limit that marks an agent's processes: who has it, who can read it, and who can be rid of it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator

import pytest

from yourcall.links.agent_processes.marks import Marks


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen(["sleep", "600"])
    yield made
    made.kill()
    made.wait()


def test_a_mark_is_never_raised_and_is_seen_when_lowered(child: subprocess.Popen[bytes]) -> None:
    marks, lower = Marks(), 5000
    assert marks.read(child.pid) == 0
    resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE, (lower, lower))
    marks.put(child.pid, marks.of((1, "1")))
    assert resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE) == (lower, lower)
    assert marks.read(child.pid) == lower


def test_the_mark_of_the_agent_above_stays(child: subprocess.Popen[bytes]) -> None:
    """Else an agent could start another one, and its own processes would count as the other's."""
    marks = Marks()
    one, other = sorted((marks.of((1, "1")), marks.of((2, "2"))), reverse=True)
    marks.put(child.pid, one)
    marks.put(child.pid, other)
    assert marks.read(child.pid) == one


def test_the_limit_is_lowered_by_one_percent_at_most(child: subprocess.Popen[bytes]) -> None:
    before = resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE)[1]
    marks = Marks()
    marks.put(child.pid, marks.of((child.pid, "1")))
    assert 0.99 * before <= resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE)[1] < before


def test_a_mark_is_read_where_the_kernel_lets_nobody_ask_for_the_limit() -> None:
    """`sg GROUP` gives a process another group, and then `prlimit` refuses to read it. Here a process without
    rights reads the limit of the first process of all."""
    reader = os.fork()
    if not reader:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            resource.prlimit(1, resource.RLIMIT_MSGQUEUE)
            os._exit(2)
        except PermissionError:
            os._exit(0 if Marks(top=1 << 61).read(1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]) == 0


def test_without_marks_no_process_is_touched(child: subprocess.Popen[bytes]) -> None:
    before = resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE)
    marks = Marks(top=0)
    marks.put(child.pid, 5000)
    assert resource.prlimit(child.pid, resource.RLIMIT_MSGQUEUE) == before
    assert marks.read(child.pid) == 0
    assert list(marks.all()) == []
