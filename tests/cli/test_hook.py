"""The hook program's own eyes: where it looks for a person at the desk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall
from yourcall.cli.holder import TURN_S, Holder, find_tty, last_typed, loads


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


Says = Callable[[str, float], Holder]


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """A held request whose agent's session file says this, since so many seconds after the hook's start."""
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    transcript = tmp_path / "projects" / "p" / "s1.jsonl"
    payload = json.dumps({"session_id": "s1", "transcript_path": str(transcript)}).encode()
    holder = Holder("claude", "PermissionRequest", payload, str(tmp_path), lambda _: None, lambda *_: b"")
    holder.started = holder.born_wall * 1000 - 50
    (tmp_path / "sessions").mkdir()

    def write(status: str, since: float) -> Holder:
        at = holder.started + since * 1000
        told = {"sessionId": "s1", "status": status, "statusUpdatedAt": at}
        (tmp_path / "sessions" / f"{os.getpid()}.json").write_text(json.dumps(told))
        return holder

    return write


def test_the_dialog_before_ours_closes_late_and_ours_is_not_taken_for_it(says: Says) -> None:
    """On a busy machine the file may still say `waiting` for the dialog before, and then `busy`."""
    assert not says("waiting", -1).over()
    assert not says("busy", -0.1).over()
    assert not says("waiting", 0.2).over()
    assert says("waiting", 0.2).still_open(strict=True)
    assert says("busy", 0.3).over(), "ours was seen: from here on the file speaks of it"


def test_a_dialog_that_changed_nothing_in_the_file_is_ours_all_the_same(says: Says) -> None:
    """Seen on 2.1.325: of two dialogs close together the file may say `waiting` since the first, all the time."""
    holder = says("waiting", -1)
    assert not holder.over()
    holder.born_wall -= 2 * TURN_S
    assert not holder.over()
    assert says("busy", 3).over()


def test_a_dialog_whose_file_says_nothing_new_is_over_when_the_moment_has_passed(says: Says) -> None:
    assert not says("waiting", -1).over()
    holder = says("busy", 0.3)
    assert not holder.over()
    holder.born_wall -= 2 * TURN_S
    assert holder.over()


def test_the_next_dialog_is_not_ours(says: Says) -> None:
    assert not says("waiting", 0.1).over()
    assert says("waiting", 4).over()


def test_our_start_is_before_our_first_line() -> None:
    code = "import time; from yourcall.cli.holder import started; now = time.time(); print(now - started(now))"
    began = time.monotonic()
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0 < float(told) < time.monotonic() - began + 0.1


def test_without_a_session_file_the_end_of_the_call_before_is_not_the_end_of_ours(
    tmp_path: Path, yc: Yourcall
) -> None:
    """Seen on 2.1.197: the result of a call is in the transcript after the hook of the next one was started."""
    with ScriptedClaude(tmp_path, yc, tells_its_pid=False) as agent:
        first = agent.asks("Bash", command="touch one")
        until(lambda: len(yc.prompts()) == 1, show=yc.prompts)
        second = agent.asks("Bash", command="touch two")
        until(lambda: len(yc.prompts()) == 2, show=yc.prompts)
        agent.goes_on(first)
        assert first.answer() is None
        (left,) = until(lambda: len(found := yc.prompts()) == 1 and found, show=yc.prompts)
        assert (left["title"], left["state"], left["held"]) == ("touch two", "open", True)
        assert yc.run("answer", left["id"], "allow", "--no-wait").code in (0, 6)
        assert second.answer() is not None
