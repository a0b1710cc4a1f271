"""The hook program's own eyes: where it looks for a person at the desk."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from scripted_claude import ScriptedClaude

from kit.poll import until
from kit.yourcall import Yourcall
from yourcall.hook.holder import DIRECT_S, TURN_S, Holder, find_tty, last_typed, loads


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
    holder = Holder(
        "claude", "PermissionRequest", payload, str(tmp_path), lambda _: None, lambda *_: b"", lambda _: False
    )
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


def test_an_answer_to_a_dialog_that_opens_late_waits_for_it(says: Says) -> None:
    """With ten sessions to a core, the file says `busy` for more than a second after the hook was started."""
    holder = says("busy", -0.1)
    opens = threading.Timer(1.0, says, ("waiting", 1.0))
    opens.start()
    assert holder.still_open(strict=True)
    opens.join()


def test_a_dialog_that_changed_nothing_in_the_file_is_ours_all_the_same(says: Says) -> None:
    """Seen on 2.1.325: of two dialogs close together the file may say `waiting` since the first, all the time."""
    holder = says("waiting", -1)
    assert not holder.over()
    holder.born_wall -= 2 * TURN_S
    assert not holder.over()
    assert says("busy", 3).over()


@pytest.mark.parametrize(
    ("after", "told"), [(0.02, "idle"), (DIRECT_S + 0.05, "over"), (30.0, "over")], ids=["at once", "late", "long"]
)
def test_only_an_end_right_behind_the_open_dialog_is_a_stop(says: Says, after: float, told: str) -> None:
    """Later, the turn may have gone on and ended between two looks: it was told as stopped, and stayed so."""
    holder = says("waiting", 0.2)
    assert not holder.over()
    since = holder.waited_at + after - holder.started / 1000
    assert says("busy", since).left("busy") == "busy"
    assert holder.status() == "busy"
    assert says("idle", since).left(holder.status()) == told


def test_nobody_stopped_a_turn_whose_file_cannot_be_read(says: Says) -> None:
    holder = says("waiting", 0.2)
    assert not holder.over()
    assert holder.left(None) == "over"


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
    code = "import time; from yourcall.hook.holder import started; now = time.time(); print(now - started(now))"
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


def test_an_answer_whose_daemon_died_before_it_was_read_is_not_written(tmp_path: Path) -> None:
    """A hook that stood still (Ctrl-Z, a busy machine) while its daemon was killed: by now the next daemon may
    have looked, seen the dialog open, and told its person that the answer came back."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("hook.py", "holder.py"):
        shutil.copy(Path(inspect.getfile(Holder)).with_name(name), home / name)
    payload = json.dumps({"session_id": "s1", "transcript_path": str(tmp_path / "none.jsonl")}).encode()
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(20)
        door.bind(str(home / "hook.sock"))
        door.listen()
        hook = subprocess.Popen(
            [sys.executable, "-I", "-S", str(home / "hook.py"), "claude", "PermissionRequest"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath, "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"},
        )
        assert hook.stdin is not None
        assert hook.stdout is not None
        try:
            hook.stdin.write(payload)
            hook.stdin.close()
            first, _ = door.accept()
            with first:
                assert b"again=0" in _greeted(first)
                hook.send_signal(signal.SIGSTOP)
                _stopped(hook.pid)
                first.sendall(b"answer a1 plain 5\nfirst")
            hook.send_signal(signal.SIGCONT)
            second, _ = door.accept()
            with second:
                assert b"again=1" in _greeted(second)
                second.sendall(b"answer a1 plain 6\nsecond")
                assert hook.stdout.read() == b"second"
                assert second.makefile("rb").readline() == b"wrote a1\n"
            assert hook.wait(20) == 0
        finally:
            hook.kill()
            hook.stdout.close()
            hook.wait(20)


def _greeted(connection: socket.socket) -> bytes:
    """The whole greeting: its first line says how long the rest is."""
    connection.settimeout(20)
    said = connection.makefile("rb")
    head = said.readline()
    sizes = [int(each) for each in head.split()[-2:]]
    return head + said.read(sum(sizes))


def _stopped(pid: int) -> None:
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, what="the hook to stand still")
