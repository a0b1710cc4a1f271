"""The door of a program in our terminal: whoever only sits there keeps nobody out."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack
from pathlib import Path

import msgspec

from yourcall.links.pty.control_socket import MOST, About, Answer, Ask, ControlSocket


def serve(door: ControlSocket) -> None:
    """As its terminal does: whatever is ready, until nothing is."""
    while True:
        watched = select.poll()
        for fd, events in door.watched():
            watched.register(fd, events)
        ready = watched.poll(0)
        if not ready:
            return
        for fd, _ in ready:
            door.happened(fd)


def test_the_oldest_of_those_who_ask_nothing_makes_room(tmp_path: Path) -> None:
    def answered(_ask: Ask, answer: Answer) -> None:
        answer(About("it", "claude", "/", 0.0))

    door = ControlSocket(tmp_path / "door", answered)

    def guest(asks: bytes = b"") -> socket.socket:
        sock = opened.enter_context(socket.socket(socket.AF_UNIX))
        sock.settimeout(10)
        sock.connect(str(tmp_path / "door"))
        sock.sendall(asks)
        serve(door)
        return sock

    question = msgspec.json.encode(Ask("about")) + b"\n"
    with ExitStack() as opened:
        first = guest(question)
        assert b'"claude"' in first.recv(1000)
        silent = [guest() for _ in range(2 * MOST)]
        assert b'"claude"' in guest(question).recv(1000)
        assert silent[0].recv(1) == b""
        first.sendall(question)  # who has asked something before was not shown out for it
        serve(door)
        assert b'"claude"' in first.recv(1000)
    door.close()
