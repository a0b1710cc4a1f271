"""What the stand-ins for chat platforms share: a web server on loopback, and people who look at a chat and act
there.

The rule they keep: what the real service would refuse is refused here with its own words, and `wrong` remembers
it; a test that leaves something there fails. A test sees the same four things on every platform: messages with
their words and buttons, what was said to one person alone, files, and what people can do.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from aiohttp import web

from kit.poll import until

T = TypeVar("T")

PRIVATE, GROUP = "private", "group"

# Longer than a button has to stand, with some of the line's own time.
LOOK_S = 1.5


@dataclass
class Shown:
    """A message of the bot's as people see it. `buttons`: each label and what a tap on it sends."""

    id: Any
    text: str
    buttons: list[tuple[str, str]] = field(default_factory=list)
    reply_to: Any = None

    @property
    def labels(self) -> list[str]:
        return [label for label, _ in self.buttons]


class People(Protocol):
    """What every stand-in lets a test do. `where`: the private chat of `user`, or the group that all are in."""

    wrong: list[str]

    def say(
        self, text: str, *, user: str = "ada", where: str = PRIVATE, reply_to: Any = None, **how: Any
    ) -> Any: ...
    def press(
        self, message: Any, data: str, *, user: str = "ada", where: str = PRIVATE, hasty: bool = False
    ) -> None: ...
    def shown(self, where: str = PRIVATE, user: str = "ada") -> list[Shown]: ...
    def told(self, user: str = "ada", where: str = PRIVATE) -> list[str]: ...


class ChatServer:
    """`faults`: what happens to the next writes instead: a status, (429, seconds), `drop`, or the service's own
    word. `lost`: so many writes are done, and never answered. `calls`: what was written, in order. `opened`: how
    many sockets were."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.faults: list[Any] = []
        self.lost = 0
        self.calls: list[str] = []
        self.retry_after = "1"
        self.files: list[dict[str, Any]] = []
        self.uploads: dict[str, bytes] = {}
        self._moved_at = 0.0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._open: list[web.WebSocketResponse] = []
        self.opened = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    # --- its life ------------------------------------------------------------------------------------------------

    def __enter__(self) -> Any:
        if self._ready.is_set():
            return self
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        assert not self.wrong, self.wrong

    def hang_up(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _serve(self) -> None:
        self._loop.run_until_complete(self._life())
        self._loop.close()

    async def _life(self) -> None:
        app = web.Application(client_max_size=32 << 20)
        self.routes(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.url, self.ws_url = f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}"
        self._ready.set()
        await self._stop.wait()
        await site.stop()
        await _turns(
            2
        )  # a connection that was accepted before has a task, which has to begin: else nobody closes it
        for socket in list(self._open):
            self._cut(socket)
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await _turns(3)  # the loop closes the sockets that were cut

    def routes(self, app: web.Application) -> None:
        raise NotImplementedError

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Something in the server's own thread, to its end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def expect(self, truth: object, why: object) -> None:
        if not truth:
            self.wrong.append(str(why))

    @property
    def seen(self) -> list[str]:
        return self.calls

    # --- faults --------------------------------------------------------------------------------------------------

    async def written(
        self, request: web.Request, name: str, do: Callable[[], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """One write, unless something else was ordered."""
        self.calls.append(name)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "drop":
            return self._dropped(request)
        if fault is not None:
            return self.refusal(fault)
        done = await do()
        self._moved_at = time.monotonic()
        if self.lost:
            self.lost -= 1
            return self._dropped(request)
        return done

    def _dropped(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def refusal(self, fault: Any) -> web.StreamResponse:
        raise NotImplementedError

    def cut(self) -> None:
        """Every open socket ends without a word, as on a train."""

        async def all_of_them() -> None:
            for socket in list(self._open):
                self._cut(socket)

        self.run(all_of_them())

    def _cut(self, socket: web.WebSocketResponse) -> None:
        self._shut(socket)
        request: Any = socket._req
        if request is not None and request.transport is not None:
            request.transport.abort()

    def _opens(self, socket: web.WebSocketResponse) -> None:
        self._open.append(socket)
        self.opened += 1

    def _shut(self, socket: web.WebSocketResponse) -> None:
        if socket in self._open:
            self._open.remove(socket)

    # --- people --------------------------------------------------------------------------------------------------

    @property
    def sent_files(self) -> list[dict[str, Any]]:
        return self.files

    def look(self) -> None:
        """A person looks for a moment before tapping; a test with a clock of its own puts another in its place."""
        until(lambda: time.monotonic() - self._moved_at > LOOK_S)

    def tap(self, message: Any, label: str, **how: Any) -> None:
        """Somebody presses the button with this label."""
        where, user = how.get("where", PRIVATE), how.get("user", "ada")
        seen: list[Shown] = self.shown(where, user)  # type: ignore[attr-defined]
        (one,) = [each for each in seen if each.id == message]
        (data,) = [data for known, data in one.buttons if known == label]
        self.press(message, data, **how)  # type: ignore[attr-defined]


async def _turns(count: int) -> None:
    """So many turns of the loop: what is due in each is done."""
    for _ in range(count):
        await asyncio.sleep(0)
