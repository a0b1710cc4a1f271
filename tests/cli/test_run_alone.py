"""`yourcall run` when yourcall itself fails: the agent starts all the same, and is not lost."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.yourcall import Yourcall


@contextmanager
def hangs_up(home: Path) -> Iterator[None]:
    """A daemon that takes every connection and says nothing."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(home / "api.sock"))
        door.listen()

        def serve() -> None:
            try:
                while True:
                    door.accept()[0].close()
            except OSError:
                return

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield
        finally:
            door.shutdown(socket.SHUT_RDWR)
            serving.join()


def test_a_session_in_a_tmux_of_ours_is_told_even_if_the_daemon_fails() -> None:
    with tempfile.TemporaryDirectory(prefix="yc") as folder:  # a short path, for its sockets
        yc = Yourcall(Path(folder))
        yc.home.mkdir(mode=0o700)
        with hangs_up(yc.home):
            said = yc.run("run", "--detach", "--json", "--", "sleep", "600")
            assert said.code == 0, said
            assert said.json["watched"] is False
            assert yc.run("stop", said.json["name"]).code == 0
