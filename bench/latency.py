"""How long a prompt takes to a client, and an answer to the agent.

The rule it keeps: the clock starts when the first byte is sent and stops when the last is there, both read in
this one process; the processes in between are the real ones.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from bench.agent import Agent, new_id
from bench.clock import in_turn, ms
from bench.place import PYTHON, ROOT, Bare, Yourcall, clean, die_with_parent, until
from bench.row import Row, percentile
from bench.size import Size
from bench.wires import PATIENCE, Live, Poster, greeting, unix

WITHIN_MS = 10
OF_BARE = 1.3


class Prompted:
    """Prompts of one session that appear at one WebSocket client; `once()` is one, in seconds."""

    def __init__(self, ours: Yourcall, live: Live, at: Path) -> None:
        self._ours, self._live, self._agent = ours, live, Agent(at)
        self._count = 0
        self._agent.status("busy")
        with unix(ours.hook_socket) as sock:  # the session is known, as it is in life
            sock.sendall(greeting("PostToolUse", "", self._agent.finished(), self._agent.env))
        while live.next().get("session", {}).get("id") != self._agent.session_id:
            pass

    def once(self) -> float:
        self._count += 1
        _, payload = self._agent.asks(f"scripts/step --number {self._count}")
        prompt_id = new_id()
        said = greeting("PermissionRequest", prompt_id, payload, self._agent.env)
        with unix(self._ours.hook_socket) as sock:
            began = time.perf_counter()
            sock.sendall(said)
            self._live.prompt(prompt_id, "open")
            took = time.perf_counter() - began
            sock.sendall(b"left idle\n")
            self._live.prompt(prompt_id, "desk")
        return took


class Relayed:
    """The same through the bare app: on disk, then to the client."""

    def __init__(self, bare: Bare, live: Live, at: Path) -> None:
        self._bare, self._live, self._agent = bare, live, Agent(at)

    def once(self) -> float:
        _, payload = self._agent.asks("scripts/step")
        with unix(self._bare.hook_socket) as sock:
            began = time.perf_counter()
            sock.sendall(f"{new_id()} {len(payload)}\n".encode() + payload)
            self._live.next()
            return time.perf_counter() - began


class Answered:
    """Real held hooks that are answered over HTTP; `once()` is one, in seconds."""

    def __init__(self, ours: Yourcall, live: Live, at: Path) -> None:
        self._ours, self._live, self._agent, self._at = ours, live, Agent(at), at
        self._count = 0

    def once(self) -> float:
        self._count += 1
        call_id, payload = self._agent.asks(f"scripts/step --number {self._count}")
        command = [str(self._ours.launcher), "claude", "PermissionRequest"]
        with _hook(command, payload, {**clean(self._at), **self._agent.env}, self._agent.project) as hook:
            prompt = self._live.raised_in(self._agent.session_id)
            _at_rest(hook)
            with Poster(self._ours.port, self._ours.token) as poster:
                began = time.perf_counter()
                poster.send(f"/api/prompts/{prompt['id']}/answer", b'{"option": "allow"}')
                took = _ended(hook) - began
                assert poster.reply() in (200, 202)
        self._agent.goes_on(call_id)
        self._live.prompt(prompt["id"], "confirmed")
        return took


class BareAnswered:
    """A bare held hook that is answered over HTTP; with `disk`, what was answered is on disk first."""

    def __init__(self, bare: Bare, live: Live, at: Path, disk: bool) -> None:
        self._bare, self._live, self._agent, self._at = bare, live, Agent(at), at
        self._query = "?disk" if disk else ""

    def once(self) -> float:
        _, payload = self._agent.asks("scripts/step")
        name = new_id()
        program = str(ROOT / "bench" / "bare_hook.py")
        command = [PYTHON, "-I", "-S", program, str(self._bare.home), name]
        with _hook(command, payload, clean(self._at), self._agent.project) as hook:
            while self._live.next()["id"] != name:
                pass
            _at_rest(hook)
            with Poster(self._bare.port) as poster:
                began = time.perf_counter()
                poster.send(f"/answer/{name}{self._query}", b'{"behavior": "allow"}')
                took = _ended(hook) - began
                assert poster.reply() == 200
        return took


def shown(at: Path, size: Size) -> Iterator[Row]:
    """From the hook's first byte at our socket to the whole message at a WebSocket client."""
    with (
        Yourcall(at) as ours,
        Bare(at) as bare,
        Live(ours.port, "/api/live", ours.token) as live,
        Live(bare.port, "/live") as bare_live,
    ):
        mine, floor = Prompted(ours, live, at), Relayed(bare, bare_live, at)
        taken = in_turn(size.of(150), {"ours": mine.once, "bare": floor.once}, warm_up=5)
    took, floor_took = ms(taken["ours"]), ms(taken["bare"])
    against = "a bare relay that writes it to disk"
    yield Row("a prompt reaches a client", "ms", took, against, floor_took, most=WITHIN_MS)
    late, floor_late = [percentile(took, 0.99)], [percentile(floor_took, 0.99)]
    yield Row("a prompt reaches a client, the slowest 1 %", "ms", late, against, floor_late)


def answered(at: Path, size: Size) -> Iterator[Row]:
    """From the first byte of the POST to the end of the held hook, its output read."""
    with (
        Yourcall(at) as ours,
        Bare(at) as bare,
        Live(ours.port, "/api/live", ours.token) as live,
        Live(bare.port, "/live") as bare_live,
    ):
        contenders = {
            "ours": Answered(ours, live, at).once,
            "bare": BareAnswered(bare, bare_live, at, disk=False).once,
            "disk": BareAnswered(bare, bare_live, at, disk=True).once,
        }
        taken = {name: ms(each) for name, each in in_turn(size.of(40), contenders, warm_up=2).items()}
    name = "an answer reaches the agent: the held hook has ended"
    against = "a bare held hook, answer on disk first"
    yield Row(name, "ms", taken["ours"], against, taken["disk"], most_ratio=OF_BARE)
    yield Row(name, "ms", taken["ours"], "a bare held hook, nothing on disk", taken["bare"])


@contextlib.contextmanager
def _hook(
    command: list[str], payload: bytes, env: dict[str, str], cwd: Path
) -> Generator[subprocess.Popen[bytes]]:
    hook = subprocess.Popen(
        command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        preexec_fn=die_with_parent,
    )  # fmt: skip
    assert hook.stdin is not None
    assert hook.stdout is not None
    try:
        hook.stdin.write(payload)
        hook.stdin.close()
        yield hook
    finally:
        hook.kill()
        hook.stdout.close()
        hook.wait(10)


def _at_rest(hook: subprocess.Popen[bytes]) -> None:
    """The hook is up and sleeps: an answer does not meet it while it still starts."""
    stat = Path(f"/proc/{hook.pid}/stat")
    if stat.exists():
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S", "the hook waits")
    time.sleep(0.02)


def _ended(hook: subprocess.Popen[bytes]) -> float:
    """When everything was read that the hook wrote, and it was gone: from here the agent acts on it."""
    assert hook.stdout is not None
    out, said = hook.stdout.fileno(), b""
    ready = select.poll()
    ready.register(out, select.POLLIN | select.POLLHUP)
    while ready.poll(PATIENCE * 1000):
        part = os.read(out, 1 << 16)
        if not part:
            at = time.perf_counter()
            assert said, "the hook ended without an answer"
            return at
        said += part
    raise RuntimeError("the hook was not answered")
