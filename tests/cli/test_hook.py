"""The hook program's own eyes: where it looks for a person at the desk."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from yourcall.cli.holder import find_tty, last_typed, loads


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


def test_what_the_agent_wrote_is_read_as_json_reads_it() -> None:
    """`loads` stands on the C half of `json` alone; half a file, or two in one, is an error and no answer."""
    told = json.dumps({"sessionId": "ä\n\u2028", "status": "waiting", "at": 1.5e3, "n": [1, None, True, -0.25]})
    assert loads(told.encode()) == json.loads(told)
    for size in range(len(told.encode()) - 1):
        with pytest.raises(ValueError):
            loads(told.encode()[:size])
    with pytest.raises(ValueError, match="more than one"):
        loads(told.encode() * 2)
