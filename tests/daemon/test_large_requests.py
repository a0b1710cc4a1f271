"""What an agent sends may be huge: everybody else is served meanwhile, and it is shown, in order and whole."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as websocket

from kit.poll import PATIENCE_S, until
from kit.yourcall import Yourcall

# With difflib an edit of every other of so many lines took three seconds of the event loop.
LINES = 6_000
# Far less than that, and far more than a busy machine needs.
MOST_S = 1.0


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


@pytest.fixture
def feed(yc: Yourcall) -> Iterator[ClientConnection]:
    """A live feed with compression, as browsers have it."""
    key = yc.run("devices", "add", "phone", "--json").json["token"]
    url = yc.url.replace("http", "ws", 1) + "/api/live"
    with websocket(
        url, additional_headers={"Authorization": f"Bearer {key}"}, open_timeout=PATIENCE_S, max_size=None
    ) as opened:
        assert json.loads(opened.recv(PATIENCE_S))["type"] == "hello"
        assert opened.protocol.extensions, "the test is about compression, too"
        yield opened


def sent(yc: Yourcall, request_id: str, tool: str, tool_input: dict[str, Any]) -> socket.socket:
    """What the hook program sends for a permission request; it holds on until the socket is closed."""
    payload = json.dumps(
        {
            "session_id": "large",
            "transcript_path": "",
            "cwd": "/",
            "permission_mode": "default",
            "hook_event_name": "PermissionRequest",
            "tool_name": tool,
            "tool_input": tool_input,
        }
    ).encode()
    env = f"CLAUDE_PID={os.getpid()}".encode()
    head = f"yourcall/1 claude PermissionRequest {request_id} {len(env)} {len(payload)}\n".encode()
    sock = yc.connect("hook.sock")
    sock.sendall(head + env + payload)
    return sock


def unread(sock: socket.socket) -> int:
    """How many bytes the other side has not taken yet."""
    return int.from_bytes(fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def edit(lines: int) -> dict[str, Any]:
    """Every other line changes."""
    old = "\n".join(f"line {n}" for n in range(lines))
    new = "\n".join(f"{'line' if n % 2 else 'row'} {n}" for n in range(lines))
    return {"file_path": "/large.py", "old_string": old, "new_string": new}


def opened(feed: ClientConnection, *ids: str) -> dict[str, Any]:
    """The first news of one of these prompts."""
    while True:
        prompt = json.loads(feed.recv(PATIENCE_S)).get("prompt")
        if prompt and prompt["id"] in ids:
            assert prompt["state"] == "open"
            return prompt


class Asking(threading.Thread):
    """Another client, which asks for the status all the time; `worst`: the longest it waited for a reply."""

    def __init__(self, yc: Yourcall) -> None:
        super().__init__(daemon=True)
        self._yc, self._over = yc, threading.Event()
        self.worst = 0.0
        self.count = 0

    def run(self) -> None:
        while not self._over.wait(0.005):
            began = time.monotonic()
            assert self._yc.http("GET", "/api/status")[0] == 200
            self.worst = max(self.worst, time.monotonic() - began)
            self.count += 1

    def end(self) -> float:
        self._over.set()
        self.join(PATIENCE_S)
        assert self.count
        return self.worst


def test_a_large_edit_is_listed_soon_and_keeps_nobody_waiting(yc: Yourcall, feed: ClientConnection) -> None:
    """The best of a few: a machine that is busy with something else is not what is looked at."""
    seen: list[tuple[float, float]] = []
    for attempt in range(3):
        asking = Asking(yc)
        asking.start()
        until(lambda asking=asking: asking.count, what="a first reply")
        began = time.monotonic()
        with sent(yc, f"largeedit{attempt}", "Edit", edit(LINES)):
            prompt = opened(feed, f"largeedit{attempt}")
            seen.append((time.monotonic() - began, asking.end()))
        assert prompt["body"].splitlines()[:7] == [
            *("--- /large.py", "+++ /large.py", f"@@ -1,{LINES} +1,{LINES} @@"),
            *("-line 0", "+row 0", " line 1", "-line 2"),
        ]
        if max(seen[-1]) < MOST_S:
            return
    raise AssertionError(f"listed after, worst wait of another client, in seconds: {seen}")


def test_a_small_request_does_not_overtake_a_large_one_of_the_same_agent(
    yc: Yourcall, feed: ClientConnection
) -> None:
    with ExitStack() as held:
        large = held.enter_context(sent(yc, "thelargeone", "Edit", edit(20_000)))
        until(lambda: not unread(large), what="the daemon to have received all of it", every=0.0005)
        held.enter_context(sent(yc, "thesmallone", "Bash", {"command": "make"}))
        first = opened(feed, "thelargeone", "thesmallone")
        assert first["id"] == "thelargeone"
        opened(feed, "thesmallone")


def test_a_command_of_five_megabytes_is_shown_whole_and_so_is_what_follows(
    yc: Yourcall, feed: ClientConnection
) -> None:
    command = "echo " + "a b;" * 1_250_000
    (yc.home / "rules.toml").write_text('[no]\ndo = "deny"\ncommand = "git push"\n\n[yes]\ncommand = "echo **"\n')
    with ExitStack() as held:
        held.enter_context(sent(yc, "fivemegabytes", "Bash", {"command": command}))
        prompt = opened(feed, "fivemegabytes")
        assert prompt["tool"]["input"] == {"command": command}
        assert prompt["answered_by"] is None, "what is not read is for a person"
        held.enter_context(sent(yc, "justasmallone", "Bash", {"command": "make"}))
        assert opened(feed, "justasmallone")["tool"]["input"] == {"command": "make"}
        listed = {each["id"]: each["tool"]["input"] for each in yc.waiting()}
        assert listed == {"fivemegabytes": {"command": command}, "justasmallone": {"command": "make"}}
        assert yc.show("fivemegabytes")["tool"]["input"] == {"command": command}


def test_two_hundred_prompts_at_once_are_all_listed(yc: Yourcall) -> None:
    names = {f"promptno{number}" for number in range(200)}
    with ExitStack() as held:
        for name in names:
            held.enter_context(sent(yc, name, "Bash", {"command": f"./{name}"}))
        until(lambda: {each["id"] for each in yc.waiting()} == names, what="200 prompts")
