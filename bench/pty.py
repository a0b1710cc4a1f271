"""`yourcall run` in a terminal against the bare terminal: a key there and back, and output as fast as it goes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import statistics
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from bench.clock import in_turn
from bench.place import COMMAND, PATIENCE, PYTHON, clean, die_with_parent
from bench.place import Yourcall as Daemon
from bench.row import Row
from bench.size import Size

# A person feels a tenth of a second; a screen shows the next picture after 16 ms.
ADDED_MS = 1.0
# More than an agent ever writes, and than most terminals draw.
LEAST_MB = 10.0

ECHOES = "import os, tty\ntty.setraw(0)\nos.write(1, b'.')\nwhile True: os.write(1, os.read(0, 64))"
WRITES = (
    "import os, sys, tty\ntty.setraw(0)\nline = b'\\x1b[32mline\\x1b[0m ' + b'x' * 90 + b'\\r\\n'\n"
    "data = line * (65536 // len(line))\nleft = int(sys.argv[1])\nos.write(1, b'.')\nos.read(0, 1)\n"
    "while left > 0: left -= os.write(1, data)\n"
)


def relayed(at: Path, size: Size) -> Iterator[Row]:
    """With a daemon that looks on, as in life."""
    daemon = Daemon(at)
    daemon.start()
    try:
        yield from keys(at, size)
        yield from output(at, size)
    finally:
        daemon.stop()


def keys(at: Path, size: Size) -> Iterator[Row]:
    with opened(at, [], ECHOES) as bare, opened(at, RUN, ECHOES) as through:
        for each in (bare, through):
            os.read(each, 64)
        contenders = {"ours": lambda: there_and_back(through), "bare": lambda: there_and_back(bare)}
        taken = in_turn(size.of(1000, 20), contenders, warm_up=20)
    added = statistics.median(taken["ours"]) - statistics.median(taken["bare"])
    note = f"{added:.2f} ms are added; the goal is {ADDED_MS:.0f} ms on top of the bare terminal."
    most = statistics.median(taken["bare"]) + ADDED_MS
    yield Row(
        "a key through `yourcall run` and back", "ms", taken["ours"], "a bare pty", taken["bare"], most, note=note
    )


def output(at: Path, size: Size) -> Iterator[Row]:
    much = (4 << 20) if size.part == 0 else 48 << 20
    contenders = {"ours": lambda: speed(at, RUN, much), "bare": lambda: speed(at, [], much)}
    taken = in_turn(size.of(4), contenders, warm_up=0 if size.part == 0 else 1)
    yield Row("output through `yourcall run`", "MB/s", taken["ours"], "a bare pty", taken["bare"], least=LEAST_MB)


RUN = [str(COMMAND), "run", "--"]


@contextlib.contextmanager
def opened(at: Path, before: Sequence[str], code: str, *words: str) -> Generator[int]:
    """A program in a terminal of its own; what a person would see and type is this file."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    tty.setraw(slave)

    def own() -> None:
        die_with_parent()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [*before, PYTHON, "-S", "-c", code, *words],
        env=clean(at, YOURCALL_HOME=str(at / "yourcall"), TERM="xterm-256color"),
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=own,
    )  # fmt: skip
    os.close(slave)
    try:
        yield master
    finally:
        process.terminate()
        with contextlib.suppress(OSError):
            while os.read(master, 1 << 16):
                pass
        process.wait(PATIENCE)
        os.close(master)


def there_and_back(terminal: int) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    os.write(terminal, b"k")
    os.read(terminal, 64)
    return (time.perf_counter() - began) * 1000


def speed(at: Path, before: Sequence[str], much: int) -> float:
    """Megabytes a second, from the key that starts it to the last byte."""
    with opened(at, before, WRITES, str(much)) as terminal:
        os.read(terminal, 1)  # it is ready: what it takes to start is not its speed
        began, heard = time.perf_counter(), 0
        os.write(terminal, b"g")
        while heard < much:
            heard += len(os.read(terminal, 1 << 16))
        return heard / 1e6 / (time.perf_counter() - began)
