"""The hook program's own eyes: where it looks for a person at the desk."""

from __future__ import annotations

import os
import subprocess
import sys

from yourcall.cli.hook import find_tty, last_typed


def test_a_terminal_that_nobody_names_is_no_terminal() -> None:
    """The folder of all devices has a time too, and an old one: by that, nobody would ever seem to be there."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert [find_tty(0), find_tty(gone.pid)] == ["", ""]
    assert last_typed("") == 0.0


def test_the_terminal_is_the_agents_own() -> None:
    ours, theirs = os.openpty()
    try:
        agent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=theirs, stdout=theirs, stderr=theirs)
        try:
            assert find_tty(agent.pid) == os.ttyname(theirs)
            assert last_typed(find_tty(agent.pid)) > 0
        finally:
            agent.kill()
            agent.wait()
    finally:
        os.close(ours)
        os.close(theirs)
