"""Twenty tool calls of the real Claude Code, one after the other: with nobody listening, with us, with others.

The rule it keeps: every contender is a Claude Code of its own, in a home of its own, against the same scripted
model; a turn is from the Enter key to the model's last request. One Claude Code is by chance some percent quicker
than the next, all its life: so they are started anew several times. And a turn is as slow as whatever else it met,
Claude's own tidying up among it: so the quicker half of the turns, and of the calls, of each is compared.
`no hooks` runs twice, so that the table shows how far apart two equal things still are.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import shutil
import statistics
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.clock import in_turn, ms, quicker
from bench.place import ROOT, Bare, Yourcall, until
from bench.row import Row
from bench.size import Size
from kit.claude import ClaudeHome, start_claude
from kit.model_server import ModelServer
from kit.terminal import Ptys
from kit.turns import text, tool

if TYPE_CHECKING:
    from kit.claude import Claude

CALLS = 20
SITTINGS = 3
INFORMING = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "Stop",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
)
MEASURABLE = 1.03  # a quiet machine tells two runs apart when they differ by more than this
CPU_MS = 25
NONE, AGAIN, CURL = "no hooks", "no hooks again", "`curl` hooks"


@dataclass(frozen=True)
class Turn:
    """`cpu` is that of Claude Code, of all it started, hooks among it, and of what the hooks talk to."""

    seconds: float
    calls: list[float]
    cpu: float


def twenty_calls(at: Path, size: Size) -> Iterator[Row]:
    count = size.of(CALLS, 3) if not size.part else CALLS
    taken: dict[str, list[Turn]] = {}
    for sitting in range(size.of(SITTINGS, 1)):
        with _contenders(subfolder(at, f"sitting {sitting}"), count) as sides:
            contenders = {name: side.turn for name, side in sides.items()}
            # The first turns of a Claude Code are its slowest, whoever listens.
            for name, turns in in_turn(size.of(5, 1), contenders, warm_up=1 if size.part == 1 else 0).items():
                taken.setdefault(name, []).extend(turns)
    turns = {name: quicker(ms([turn.seconds for turn in each])) for name, each in taken.items()}
    calls = {name: quicker(ms([call for turn in each for call in turn.calls])) for name, each in taken.items()}
    used = {name: ms([turn.cpu for turn in each]) for name, each in taken.items()}
    against = "no hooks"
    for what, times in ((f"a turn of {count} calls", turns), ("one call of it", calls)):
        # Two equal things differ, too: the note says by how much; both together are what we are held against.
        again = times.pop(AGAIN)
        equal = Row("", "ms", again, "", times[NONE]).ratio or 1.0
        note = f"two runs without hooks were {equal:.2f}× apart"
        none = [*times.pop(NONE), *again]
        for name, each in times.items():
            goal = MEASURABLE if name.startswith("ours") else None
            yield Row(f"{what}, {name}", "ms", each, against, none, most_ratio=goal, note=note)
            note = ""
    idle = statistics.median([*used.pop(AGAIN), *used.pop(NONE)])
    added = {name: [(each - idle) / count for each in took] for name, took in used.items()}
    for name, each in added.items():
        curl = added.get(CURL, []) if name != CURL else []
        goal = CPU_MS if name.startswith("ours") else None
        yield Row(f"CPU added per call, {name}", "ms", each, CURL if curl else "", curl, most=goal)


class Side:
    """One Claude Code, and what its hooks talk to."""

    def __init__(
        self, claude: Claude, model: ModelServer, calls: int, readable: Path, daemon: Yourcall | Bare | None
    ) -> None:
        self._claude, self._model, self._file, self._daemon = claude, model, readable, daemon
        self._calls = calls
        self._rounds = 0

    def turn(self) -> Turn:
        self._rounds += 1
        name = f"turn{self._claude.pid}x{self._rounds}"
        calls = [[tool("Read", file_path=str(self._file), limit=1, offset=n + 1)] for n in range(self._calls)]
        words = self._model.script(name, *calls, [text("Read.")])
        self._claude.wait_ready()
        self._claude.type(words)
        spent, began = self._cpu(), time.time()
        self._claude.terminal.key("Enter")
        asked = self._model.wait_for(
            lambda model: self._whole([r.at for r in model.requests if r.script == name]), 60
        )
        self._claude.wait_status("idle")
        self._quiet()
        calls = [after - before for before, after in itertools.pairwise(asked)]
        return Turn(asked[-1] - began, calls, self._cpu() - spent)

    def _whole(self, asked: list[float]) -> list[float]:
        """When the model was asked, once it was told of the last call."""
        return asked if len(asked) > self._calls else []

    def _quiet(self) -> None:
        """Hooks that run beside the turn have ended, too."""
        until(lambda: not psutil.Process(self._claude.pid).children(), "the hooks end", 0.01)

    def _cpu(self) -> float:
        spent = sum(psutil.Process(self._claude.pid).cpu_times()[:4])
        if self._daemon is not None and self._daemon.running:
            spent += sum(psutil.Process(self._daemon.pid).cpu_times()[:2])
        return spent


@contextlib.contextmanager
def _contenders(at: Path, calls: int) -> Generator[dict[str, Side]]:
    binary = claude_code()
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(ModelServer())
        bare = stack.enter_context(Bare(at))
        url = f"http://127.0.0.1:{bare.port}/hook"
        curl = f"curl -s -X POST -H 'Content-Type: application/json' --data-binary @- {url}"
        ptys = stack.enter_context(Ptys())
        sides: dict[str, Side] = {}

        def add(name: str, settings: dict[str, Any] | None, daemon: Yourcall | Bare | None = None) -> None:
            home = ClaudeHome.make(subfolder(at, name), settings)
            if isinstance(daemon, Yourcall):
                daemon.env["HOME"] = str(home.path)
                daemon.run("setup", "claude", "--yes", "--cli", str(binary))
            file = home.project / "notes.txt"
            file.write_text("".join(f"line {n}\n" for n in range(calls + 1)))
            sides[name] = Side(start_claude(ptys, binary, home, model), model, calls, file, daemon)

        add(NONE, None)
        add(AGAIN, None)
        add("ours", None, stack.enter_context(Yourcall(subfolder(at, "up"))))
        down = Yourcall(subfolder(at, "down"))
        add("ours, daemon down", None, down)
        add("hooks that run `true` beside it", _hooks({"type": "command", "command": "true", "async": True}))
        add("HTTP hooks", _hooks({"type": "http", "url": url}), bare)
        if shutil.which("curl"):
            add(CURL, _hooks({"type": "command", "command": curl}), bare)
        yield sides


def subfolder(at: Path, name: str) -> Path:
    made = at / "".join(c if c.isalnum() else "-" for c in name)
    made.mkdir()
    return made


def _hooks(hook: dict[str, Any]) -> dict[str, Any]:
    """The events others ask for, one at the end of every call among them, told in their way."""
    return json.loads(json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in INFORMING}}))


def claude_code() -> Path:
    return fetched("claude")


def fetched(agent: str) -> Path:
    where = ROOT / "tools" / "fetch_clis.py"
    spec = importlib.util.spec_from_file_location("fetch_clis", where)
    assert spec is not None
    assert spec.loader is not None
    fetch_clis = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fetch_clis)
    return fetch_clis.fetch(agent)
