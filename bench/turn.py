"""Twenty tool calls of the real Claude Code, one after the other: with nobody listening, with us, with others.

The rule it keeps: every contender is a Claude Code of its own that stays up for all rounds, in a home of its own,
against the same scripted model; a turn is from the Enter key to the model's last request. `no hooks` runs twice,
so that the table shows how far apart two equal things are on this machine.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.clock import in_turn, ms
from bench.place import ROOT, Bare, Yourcall, until
from bench.row import Row
from bench.size import Size

sys.path.append(str(ROOT / "tests"))

from kit.claude import ClaudeHome, start_claude  # noqa: E402
from kit.model_server import ModelServer  # noqa: E402
from kit.terminal import Ptys  # noqa: E402
from kit.turns import text, tool  # noqa: E402

if TYPE_CHECKING:
    from kit.claude import Claude

CALLS = 20
EVENTS = CALLS + 2  # UserPromptSubmit, a PostToolUse per call, Stop
INFORMING = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "PostToolUse", "PostToolUseFailure", "Notification")
NO_MORE = 1.03  # less than two runs of the same differ by on a quiet machine


@dataclass(frozen=True)
class Turn:
    seconds: float
    cpu: float
    """Of Claude Code and everything it started, hooks among it; and of the daemon, where there is one."""


def twenty_calls(at: Path, size: Size) -> Iterator[Row]:
    with _contenders(at) as sides:
        taken = in_turn(size.of(6), {name: side.turn for name, side in sides.items()})
    floor = taken["no hooks"]
    wall = {name: ms([turn.seconds for turn in turns]) for name, turns in taken.items()}
    used = {name: ms([turn.cpu for turn in turns]) for name, turns in taken.items()}
    assert floor
    for name in taken:
        if name == "no hooks":
            continue
        ours = name.startswith("ours")
        yield Row(
            f"a turn of {CALLS} calls, {name}", "ms", wall[name], "no hooks", wall["no hooks"],
            most_ratio=NO_MORE if ours else None,
        )  # fmt: skip
    for name in taken:
        if name != "no hooks":
            yield Row(f"its CPU, {name}", "ms", used[name], "no hooks", used["no hooks"])


class Side:
    """One Claude Code, and what its hooks talk to."""

    def __init__(self, claude: Claude, model: ModelServer, readable: Path, daemon: Yourcall | Bare | None) -> None:
        self._claude, self._model, self._file, self._daemon = claude, model, readable, daemon
        self._rounds = 0

    def turn(self) -> Turn:
        self._rounds += 1
        name = f"turn{self._claude.pid}x{self._rounds}"
        calls = [[tool("Read", file_path=str(self._file), limit=1, offset=n + 1)] for n in range(CALLS)]
        words = self._model.script(name, *calls, [text("Read.")])
        self._claude.wait_ready()
        self._claude.type(words)
        before, began = self._cpu(), time.time()
        self._claude.terminal.key("Enter")
        last = self._model.wait_for(
            lambda model: next((r for r in reversed(model.requests) if (r.script, r.turn) == (name, CALLS)), None), 60
        )
        self._claude.wait_status("idle")
        self._quiet()
        return Turn(last.at - began, self._cpu() - before)

    def _quiet(self) -> None:
        """Hooks that run beside the turn have ended, too."""
        until(lambda: not psutil.Process(self._claude.pid).children(), "the hooks end", 0.01)

    def _cpu(self) -> float:
        spent = sum(psutil.Process(self._claude.pid).cpu_times()[:4])
        if self._daemon is not None and self._daemon.running:
            spent += sum(psutil.Process(self._daemon.pid).cpu_times()[:2])
        return spent


@contextlib.contextmanager
def _contenders(at: Path) -> Generator[dict[str, Side]]:
    binary = _claude_code()
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(ModelServer())
        bare = stack.enter_context(Bare(at))
        url = f"http://127.0.0.1:{bare.port}/hook"
        curl = f"curl -s -X POST -H 'Content-Type: application/json' --data-binary @- {url}"
        ptys = stack.enter_context(Ptys())
        sides: dict[str, Side] = {}

        def add(name: str, settings: dict[str, Any] | None, daemon: Yourcall | Bare | None = None) -> None:
            home = ClaudeHome.make(_folder(at, name), settings)
            if isinstance(daemon, Yourcall):
                daemon.env["HOME"] = str(home.path)
                daemon.run("setup", "claude", "--yes", "--cli", str(binary))
            file = home.project / "notes.txt"
            file.write_text("".join(f"line {n}\n" for n in range(CALLS + 1)))
            sides[name] = Side(start_claude(ptys, binary, home, model), model, file, daemon)

        add("no hooks", None)
        add("no hooks again", None)
        add("ours", None, stack.enter_context(Yourcall(_folder(at, "up"))))
        down = Yourcall(_folder(at, "down"))
        add("ours, daemon down", None, down)
        add("HTTP hooks", _hooks({"type": "http", "url": url}), bare)
        if shutil.which("curl"):
            add("`curl` hooks", _hooks({"type": "command", "command": curl}), bare)
        yield sides


def _folder(at: Path, name: str) -> Path:
    made = at / "".join(c if c.isalnum() else "-" for c in name)
    made.mkdir()
    return made


def _hooks(hook: dict[str, Any]) -> dict[str, Any]:
    """What people write: the same events that we ask for, told by a hook that the agent waits for."""
    return json.loads(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in INFORMING}}))


def _claude_code() -> Path:
    where = ROOT / "tools" / "fetch_clis.py"
    spec = importlib.util.spec_from_file_location("fetch_clis", where)
    assert spec is not None
    assert spec.loader is not None
    fetch_clis = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch_clis)
    return fetch_clis.fetch("claude")
