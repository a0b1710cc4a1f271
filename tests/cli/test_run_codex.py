"""`yourcall run -- codex`: when a server of its own is started, and what happens if it cannot be."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from yourcall.cli.own_server import with_server


def program(folder: Path, text: str) -> str:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.parametrize(
    "words",
    [["exec", "x"], ["login"], ["--remote", "ws://x"], ["--remote=ws://x"], ["--no-daemon"], ["--version"]],
)
def test_another_command_is_left_as_it_is(home: Path, tmp_path: Path, words: list[str]) -> None:
    argv = [program(tmp_path, f"touch {tmp_path}/ran"), *words]
    assert with_server(home, argv, dict(os.environ)) == argv
    assert with_server(home, ["/usr/bin/claude"], {}) == ["/usr/bin/claude"]
    assert not (tmp_path / "ran").exists()


def test_a_server_that_cannot_start_leaves_the_persons_codex_as_it_is(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [program(tmp_path, "exit 1"), "resume"]
    assert with_server(home, argv, dict(os.environ)) == argv
    assert "without a server of its own" in capsys.readouterr().err


def test_a_socket_that_nobody_listens_on_is_swept(tmp_path: Path) -> None:
    home = Path("/tmp") / f"yc-{os.getpid()}"  # short: a socket's path has room for some 104 bytes
    folder = home / "codex"
    folder.mkdir(parents=True, mode=0o700)
    left = folder / "dead.sock"
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(left))
        with_server(home, [program(tmp_path, "exit 1")], dict(os.environ))
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)
        folder.rmdir()
        home.rmdir()


def test_a_server_of_another_run_that_hangs_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It is stopped, and so many have called it that no more calls are taken: whoever called then waited."""
    home = Path("/tmp") / f"yc-{os.getpid()}-hangs"
    folder = home / "codex"
    folder.mkdir(parents=True, mode=0o700)
    hangs = folder / "hangs.sock"
    argv, said = [program(tmp_path, "exit 1")], list[list[str]]()
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(hangs))
        server.listen(0)
        opened.callback(shutil.rmtree, home)
        with contextlib.suppress(BlockingIOError):
            while True:
                caller = opened.enter_context(socket.socket(socket.AF_UNIX))
                caller.setblocking(False)
                caller.connect(str(hangs))
        run = threading.Thread(target=lambda: said.append(with_server(home, argv, dict(os.environ))), daemon=True)
        run.start()
        run.join(20)
        assert said == [argv]
        assert hangs.exists()
