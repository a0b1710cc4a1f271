"""up, down and status from the outside: a real process, its socket, its signals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kit.poll import until
from kit.yourcall import COMMAND, Yourcall
from yourcall.cli.commands import daemon
from yourcall.cli.commands.daemon import stop
from yourcall.cli.instance import Problem
from yourcall.server.listen import bind_tcp


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Yourcall]:
    """An instance that is not running; whatever a test starts in it is ended."""
    instance = Yourcall(tmp_path)
    yield instance
    stop(instance.home, force=True)


def test_up_detached_answers_when_it_comes_back(lone: Yourcall) -> None:
    said = lone.run("up", "--detach", "--port", "0")
    assert said.code == 0, said
    note = json.loads((lone.home / "daemon.json").read_text())
    assert f"http://127.0.0.1:{note['port']}" in said.out
    assert "pair" in said.out
    assert "setup claude --diff" in said.out
    assert os.getsid(note["pid"]) == note["pid"]
    for number in (0, 1, 2):
        assert not os.readlink(f"/proc/{note['pid']}/fd/{number}").startswith(("/dev/pts", "pipe:"))
    status = lone.run("status", "--json")
    assert status.code == 0
    assert status.json["running"] is True
    assert status.json["pid"] == note["pid"]
    again = lone.run("up", "--detach", "--json")
    assert again.code == 0
    assert again.json["pid"] == note["pid"]
    assert lone.run("up").code == 1
    down = lone.run("down")
    assert (down.code, down.out) == (0, "yourcall is stopped.\n")
    assert not (lone.home / "api.sock").exists()
    assert lone.run("down").out == "yourcall was not running.\n"


def test_status_of_nothing(lone: Yourcall) -> None:
    said = lone.run("status")
    assert said.code == 1
    assert said.out == "yourcall is not running. Start it with: yourcall up --detach\n"
    assert lone.run("status", "--json").json["running"] is False
    assert not lone.home.exists()


def test_stale_note_and_socket_are_not_mistaken_for_a_daemon(lone: Yourcall) -> None:
    bystander = subprocess.Popen(["/bin/sleep", "600"])
    try:
        lone.home.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(lone.home / "api.sock"))
        (lone.home / "daemon.json").write_text(json.dumps({"pid": bystander.pid, "port": 1, "url": "x"}))
        assert lone.run("status").code == 1
        assert lone.run("down").out == "yourcall was not running.\n"
        assert lone.run("ls").code == 1
        assert bystander.poll() is None
        assert lone.run("up", "--detach", "--port", "0").code == 0
    finally:
        bystander.kill()
        bystander.wait(10)


def test_down_ends_who_holds_the_socket_and_nobody_else(lone: Yourcall) -> None:
    assert lone.run("up", "--detach", "--port", "0").code == 0
    note = json.loads((lone.home / "daemon.json").read_text())
    bystander = subprocess.Popen(["/bin/sleep", "600"])
    try:
        (lone.home / "daemon.json").write_text(json.dumps({**note, "pid": bystander.pid}))
        assert lone.run("down").code == 0
        assert lone.run("status").code == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait(10)


def test_a_hung_daemon_does_not_keep_the_brake_from_being_pulled(lone: Yourcall) -> None:
    """Its rules decide as soon as it wakes: `pause` waited for its word, and then said that it failed."""
    assert lone.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((lone.home / "daemon.json").read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        said = lone.run("pause")
        assert (said.code, said.err) == (0, "")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert lone.run("status", "--json").json["paused"] is True
    os.kill(pid, signal.SIGSTOP)
    try:
        assert lone.run("resume").code == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    assert lone.run("status", "--json").json["paused"] is False


def test_a_hung_daemon_is_said_and_can_be_ended(lone: Yourcall) -> None:
    assert lone.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((lone.home / "daemon.json").read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    status = lone.run("status")
    assert status.code == 1
    assert "does not answer" in status.out
    listed = lone.run("ls")
    assert listed.code == 1
    assert "down --force" in listed.err
    assert lone.run("down", "--force", timeout=60).code == 0
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())


def test_taken_port_is_said(lone: Yourcall) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = lone.run("up", "--detach", "--port", str(port))
        assert said.code == 0, said
        assert f"Port {port} is taken; it listens on " in said.out
        notes = [finding for finding in lone.run("doctor", "--json").json if finding["check"] == "port"]
        assert [finding["level"] for finding in notes] == ["note"]


def test_port_from_the_environment_and_before_the_command(lone: Yourcall) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert lone.run("--port", str(port), "up", "--detach").code == 0
    assert lone.run("status", "--json").json["wished_port"] == port
    assert lone.run("down").code == 0
    done = subprocess.run(
        [str(COMMAND), "up", "--detach", "--json"], env={**lone.env, "YOURCALL_PORT": str(port)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["wished_port"] == port


def test_what_cannot_start_says_why(lone: Yourcall) -> None:
    lone.home.parent.mkdir(exist_ok=True)
    lone.home.write_text("a file, not a folder")
    for words in (["up"], ["up", "--detach"]):
        said = lone.run(*words)
        assert said.code in (1, 2)
        assert said.err
        assert "Traceback" not in said.err
    lone.home.unlink()
    damaged = lone.home / "yourcall.db"
    lone.home.mkdir()
    damaged.write_bytes(b"not a database at all" * 100)
    said = lone.run("up", "--detach", "--port", "0")
    assert said.code == 1
    assert "yourcall.db" in said.err
    assert "Traceback" not in said.err
    assert damaged.read_bytes() == b"not a database at all" * 100


def test_foreground_announces_and_leaves_on_sigint(lone: Yourcall) -> None:
    process = subprocess.Popen(
        [str(COMMAND), "up", "--port", "0"],
        env=lone.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        assert first.startswith("yourcall runs at http://127.0.0.1:")
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        process.stdout.close()
        assert process.wait(20) == 0
    assert "Traceback" not in rest


def test_started_with_nohup_it_outlives_its_terminal(lone: Yourcall) -> None:
    process = subprocess.Popen(
        ["/bin/sh", "-c", f'trap "" HUP; exec {shlex.quote(str(COMMAND))} up --port 0'],
        env=lone.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("yourcall runs at ")
        process.send_signal(signal.SIGHUP)
        assert lone.run("status").code == 0
        assert lone.run("status").code == 0
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait(20) == 0


def test_two_who_start_it_at_once_both_have_it(lone: Yourcall) -> None:
    words = [str(COMMAND), "up", "--detach", "--port", "0", "--json"]
    both = [
        subprocess.Popen(words, env=lone.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [each.communicate(timeout=60) for each in both]
    assert [each.returncode for each in both] == [0, 0, 0], said
    assert len({json.loads(out)["pid"] for out, _ in said}) == 1


def test_a_daemon_whose_socket_is_gone_can_be_found_and_ended(lone: Yourcall) -> None:
    assert lone.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((lone.home / "daemon.json").read_text())["pid"]
    (lone.home / "api.sock").unlink()
    try:
        for words in (["up"], ["up", "--detach"]):
            said = lone.run(*words, "--port", "0")
            assert said.code == 1
            assert f"kill {pid}" in said.err, said
    finally:
        os.kill(pid, signal.SIGTERM)
        until(lambda: not (lone.home / "daemon.json").exists())


def test_up_says_that_the_one_that_runs_is_hung(lone: Yourcall) -> None:
    assert lone.run("up", "--detach", "--port", "0").code == 0
    pid = json.loads((lone.home / "daemon.json").read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        said = lone.run("up", "--detach", timeout=60)
        assert said.code == 1, said
        assert "does not answer" in said.err, said
        assert "down --force" in said.err
    finally:
        os.kill(pid, signal.SIGCONT)


def test_down_ends_nobody_if_it_cannot_be_told_who_holds_the_socket(
    lone: Yourcall, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lone.run("up", "--detach", "--port", "0").code == 0
    note = lone.home / "daemon.json"
    told = json.loads(note.read_text())
    bystander = subprocess.Popen(["/bin/sleep", "600"])
    try:
        # As from inside a container, where the number that the daemon noted is another's.
        note.write_text(json.dumps({**told, "pid": bystander.pid}))
        with monkeypatch.context() as container:
            container.setattr(daemon, "peer_pid", lambda _: 0)
            with pytest.raises(Problem, match="can't tell which process"):
                stop(lone.home)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait(10)


def test_a_folder_that_is_shared_with_others_is_no_home(lone: Yourcall) -> None:
    """As /tmp is: it was closed to everybody else."""
    lone.home.mkdir(exist_ok=True)
    lone.home.chmod(0o1777)
    said = lone.run("up", "--detach", "--port", "0")
    assert (said.code, lone.home.stat().st_mode & 0o7777) == (1, 0o1777)
    assert "shared with others" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bind", "999.1.1.1"], "999.1.1.1"),
        (["--bind", "203.0.113.7"], "cannot listen on 203.0.113.7"),
        (["--public-url", "https://"], "whole address"),
        (["--public-url", "https://[x"], "whole address"),
    ],
)
def test_an_address_that_is_none_is_said(lone: Yourcall, words: list[str], says: str) -> None:
    said = lone.run("up", "--detach", "--port", "0", *words)
    assert said.code in (1, 2), said
    assert says in said.err
    assert "no free port" not in said.err


def test_behind_the_last_port_there_is_none() -> None:
    with socket.socket() as taken:
        with suppress(OSError):  # then somebody else has it
            taken.bind(("127.0.0.1", 65535))
            taken.listen()
        with pytest.raises(OSError, match="no free port from 65535 to 65535"):
            bind_tcp("127.0.0.1", 65535)
