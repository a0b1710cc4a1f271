"""Starting, and being there: how long until it listens, how long until a command answers, what it weighs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from bench.clock import in_turn, ms, resident, wall
from bench.place import COMMAND, PYTHON, Bare, Served, Yourcall, clean
from bench.row import Row
from bench.size import Size
from bench.wires import Live

LISTENS_MS = 700
HELPS_MS = 150
IDLE_MB = 60


def started(at: Path, size: Size) -> Iterator[Row]:
    ours, bare, env = Yourcall(at), Bare(at), clean(at)
    importing = [PYTHON, "-c", "import starlette.applications, uvicorn, msgspec"]
    contenders = {
        "ours": lambda: to_listening(ours),
        "bare": lambda: to_listening(bare),
        "import": lambda: wall(importing, env),
    }
    taken = {name: ms(each) for name, each in in_turn(size.of(8), contenders).items()}
    name = "`yourcall up` until it listens"
    yield Row(name, "ms", taken["ours"], "a bare Starlette app", taken["bare"], most=LISTENS_MS)
    yield Row(name, "ms", taken["ours"], "`import starlette, uvicorn, msgspec`", taken["import"], most=LISTENS_MS)


def helped(at: Path, size: Size) -> Iterator[Row]:
    env = clean(at, YOURCALL_HOME=str(at / "yourcall"))
    contenders = {
        "ours": lambda: wall([str(COMMAND), "--help"], env),
        "click": lambda: wall([PYTHON, "-c", "import click"], env),
    }
    taken = {name: ms(each) for name, each in in_turn(size.of(15), contenders, warm_up=2).items()}
    yield Row("`yourcall --help`", "ms", taken["ours"], "`import click`", taken["click"], most=HELPS_MS)


def idle(at: Path, size: Size) -> Iterator[Row]:
    """Each is started anew for every look, with one client that listens."""
    ours, bare = Yourcall(at), Bare(at)
    contenders = {
        "ours": lambda: weight(ours, "/api/live", size),
        "bare": lambda: weight(bare, "/live", size),
    }
    taken = in_turn(size.of(3), contenders, warm_up=0)
    against = "a bare Starlette app"
    yield Row("memory at rest, one client", "MB", taken["ours"], against, taken["bare"], most=IDLE_MB)


def to_listening(served: Served) -> float:
    took = served.start()
    served.stop()
    return took


def weight(served: Yourcall | Bare, live: str, size: Size) -> float:
    """Megabytes once a client has connected and everything has come to rest."""
    with served, Live(served.port, live, served.token):
        time.sleep(1 if size.part else 0.1)
        return resident(served.pid)
