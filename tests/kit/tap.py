"""A port before another one that keeps every byte which passes, in both directions."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field


@dataclass
class Passed:
    """One connection: what came from whoever connected, and what went back."""

    sent: bytearray = field(default_factory=bytearray)
    answered: bytearray = field(default_factory=bytearray)


class Tap:
    """`with Tap() as tap: tap.to = port`; `tap.port` is where to connect to."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listening.getsockname()[1]
        self.to = 0
        self.passed: list[Passed] = []
        self._open: list[socket.socket] = []

    def __enter__(self) -> Tap:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self._listening, *self._open):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.to))
                except OSError:
                    near.close()
                    continue
                passed = Passed()
                self.passed.append(passed)
                self._open += [near, far]
                for source, sink, kept in ((near, far, passed.sent), (far, near, passed.answered)):
                    threading.Thread(target=self._copy, args=(source, sink, kept), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                kept += data
                sink.sendall(data)
        for sock in (source, sink):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR if sock is sink else socket.SHUT_RD)
