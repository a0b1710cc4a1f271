"""One more client of a Codex app-server: what a desk would be, without a terminal.

The rule it keeps: whatever comes is kept with its time; nothing is answered that the test does not answer.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

from kit.poll import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Found = tuple[float, dict[str, Any]]


class Client:
    """One more client of an app-server: whatever comes is kept with its time."""

    def __init__(self, socket: Path) -> None:
        self._path = str(socket.resolve())
        self._came: list[Found] = []
        self._news = threading.Condition()
        self._count = 0
        self._open = ExitStack()
        self.react: Callable[[dict[str, Any]], None] = lambda message: None

    def __enter__(self) -> Self:
        connecting = unix_connect(self._path, "ws://localhost/", compression=None, max_size=None)
        self._socket = self._open.enter_context(connecting)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        client = {"name": "desk", "title": None, "version": "1"}
        self.call("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        self._socket.send(json.dumps({"method": "initialized"}))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._thread.join()

    def _listen(self) -> None:
        try:
            for data in self._socket:
                message = json.loads(data)
                with self._news:
                    self._came.append((time.perf_counter(), message))
                    self._news.notify_all()
                self.react(message)
        except ConnectionClosed:
            return

    def send(self, method: str, params: object) -> int:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        return self._count

    def reply(self, number: int, result: object) -> None:
        self._socket.send(json.dumps({"id": number, "result": result}))

    def call(self, method: str, params: object) -> dict[str, Any]:
        number = self.send(method, params)
        return self.wait(lambda m: m.get("id") == number and "method" not in m)[1].get("result", {})

    def wait(self, fits: Callable[[dict[str, Any]], bool]) -> Found:
        """The first message that fits and was not taken before."""
        end = time.monotonic() + PATIENCE_S
        with self._news:
            while True:
                for at, found in enumerate(self._came):
                    if fits(found[1]):
                        del self._came[: at + 1]
                        return found
                if not self._news.wait(end - time.monotonic()):
                    raise AssertionError(f"not within {PATIENCE_S:g} s; came: {[m for _, m in self._came][-20:]}")

    def start(self, folder: Path) -> str:
        """A new thread of ours; its id."""
        return self.call("thread/start", {"cwd": str(folder)})["thread"]["id"]

    def say(self, thread: str, words: str) -> None:
        self.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": words}]})

    def asked(self) -> dict[str, Any]:
        """The next request of the server's."""
        return self.wait(lambda m: "id" in m and "method" in m)[1]
