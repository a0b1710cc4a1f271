"""How long another client waits while an agent sends something huge, and how long a huge edit takes to be listed.

The rule it keeps: the daemon has rules and a live feed, as in life; the client that waits is a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from bench.agent import Agent, new_id
from bench.place import PYTHON, ROOT, Yourcall, clean, die_with_parent
from bench.row import Row
from bench.size import Size
from bench.wires import Live, greeting, unix

WAITS_MS = 100
LISTED_MS = 1_000
LINES = 20_000
COMMAND_SIZE = 5_000_000
QUESTIONS = 200
PROMPTS = 200

RULES = """
[no-force]
do = "deny"
command = "git push --force"

[listing]
do = "allow"
command = "ls"
"""


def different_lines(count: int = LINES) -> dict[str, object]:
    """An edit in which no line stays."""
    old = "\n".join(f"old line {number} of the file" for number in range(count))
    new = "\n".join(f"new line {number} of the file" for number in range(count))
    return {"file_path": "/project/large.py", "old_string": old, "new_string": new}


def every_other_line(count: int = LINES) -> dict[str, object]:
    """An edit that changes every second line: each of the others is a match of its own."""
    old = "\n".join(f"line {number} of the file" for number in range(count))
    new = "\n".join(f"{'line' if number % 2 else 'row'} {number} of the file" for number in range(count))
    return {"file_path": "/project/large.py", "old_string": old, "new_string": new}


def repeated_lines(count: int = LINES) -> dict[str, object]:
    """An edit of a file of few different lines: most lines have thousands of partners on the other side."""
    old = "\n".join(("{", "}", "", "    return", f"    x = {number % 7}")[number % 5] for number in range(count))
    new = "\n".join(("}", "{", "    return", "", f"    x = {number % 11}")[number % 5] for number in range(count))
    return {"file_path": "/project/large.py", "old_string": old, "new_string": new}


def form(count: int = QUESTIONS) -> dict[str, object]:
    options = [{"label": f"Way {n}", "description": "What this way means. " * 5} for n in range(4)]
    asked = [
        {"question": f"Which way for part {n}?", "header": f"Part {n}", "options": options, "multiSelect": False}
        for n in range(count)
    ]
    return {"questions": asked}


def other_client_waits(at: Path, size: Size) -> Iterator[Row]:
    count = 1 if size.of(10) < 5 else 3
    command: dict[str, object] = {"command": "echo " + "a b;" * (COMMAND_SIZE // 4), "description": "Much"}
    loads: dict[str, Callable[[_Sender], float]] = {
        f"a {LINES:,}-line edit, every line another": lambda to: to.one("Edit", different_lines()),
        f"a {LINES:,}-line edit, every other line": lambda to: to.one("Edit", every_other_line()),
        f"a {LINES:,}-line edit of repeated lines": lambda to: to.one("Edit", repeated_lines()),
        "a 5 MB command": lambda to: to.one("Bash", command),
        f"a {QUESTIONS}-question form": lambda to: to.one("AskUserQuestion", form()),
        f"{PROMPTS} prompts at once": lambda to: to.many(PROMPTS),
    }
    with Yourcall(at) as ours:
        (ours.home / "rules.toml").write_text(RULES)
        with Live(ours.port, "/api/live", ours.token) as live:
            sender = _Sender(ours, live, at)
            sender.one("Bash", {"command": "make", "description": "The first: what is loaded late is loaded"})
            for name, send in loads.items():
                worst: list[float] = []
                listed: list[float] = []
                for _ in range(count):
                    with probed(ours) as latencies:
                        listed.append(send(sender) * 1000)
                    worst.append(max(latencies) * 1000)
                yield Row(f"another client's status, worst, during {name}", "ms", [max(worst)], most=WAITS_MS)
                if "edit" in name:
                    yield Row(f"{name}: until it is listed", "ms", [max(listed)], most=LISTED_MS)


@contextlib.contextmanager
def probed(ours: Yourcall) -> Generator[list[float]]:
    """The latencies of another client meanwhile, in seconds; filled at the end."""
    latencies: list[float] = []
    command = [PYTHON, str(ROOT / "bench" / "probe.py"), str(ours.port), ours.token]
    probe = subprocess.Popen(
        command, env=clean(ours.home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=die_with_parent
    )
    assert probe.stdout is not None
    try:
        assert probe.stdout.readline() == b"ready\n"
        yield latencies
        told, _ = probe.communicate(timeout=120)
        latencies += json.loads(told)
    finally:
        probe.kill()
        probe.wait(10)


class _Sender:
    """Sends what the hook program sends, and waits for the live feed to tell of it."""

    def __init__(self, ours: Yourcall, live: Live, at: Path) -> None:
        self._ours, self._live, self._agent = ours, live, Agent(at)
        self._agent.status("waiting")

    def one(self, tool: str, tool_input: dict[str, object]) -> float:
        """Seconds until it is listed."""
        prompt_id = new_id()
        message = greeting("PermissionRequest", prompt_id, self._agent.call(tool, tool_input), self._agent.env)
        with unix(self._ours.hook_socket) as sock:
            began = time.perf_counter()
            sock.sendall(message)
            self._live.prompt(prompt_id, "open")
            took = time.perf_counter() - began
            sock.sendall(b"left idle\n")
            self._live.prompt(prompt_id, "desk")
        return took

    def many(self, count: int) -> float:
        ids = [new_id() for _ in range(count)]
        with contextlib.ExitStack() as opened:
            socks = [opened.enter_context(unix(self._ours.hook_socket)) for _ in ids]
            began = time.perf_counter()
            for number, (prompt_id, sock) in enumerate(zip(ids, socks, strict=True)):
                payload = self._agent.request(f"scripts/step --number {number}")
                sock.sendall(greeting("PermissionRequest", prompt_id, payload, self._agent.env))
            waiting = set(ids)
            while waiting:
                waiting.discard(self._live.next().get("prompt", {}).get("id"))
            took = time.perf_counter() - began
            for sock in socks:
                sock.sendall(b"left idle\n")
            waiting = set(ids)
            while waiting:
                prompt = self._live.next().get("prompt", {})
                if prompt.get("state") == "desk":
                    waiting.discard(prompt["id"])
        return took
