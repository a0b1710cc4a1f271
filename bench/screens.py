"""Screens read per second, over every captured screen of the corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.clock import in_turn
from bench.place import ROOT
from bench.row import Row
from bench.size import Size
from yourcall.agents.claude.lines import clean
from yourcall.agents.claude.screen import read_screen

CORPUS = ROOT / "tests" / "corpus" / "claude"

# Fifty sessions whose screens are read ten times a second would take a twentieth of one core at this speed.
LEAST = 2_000


def read(at: Path, size: Size) -> Iterator[Row]:
    del at
    screens = [(folder / "screen.txt").read_text() for folder in sorted(CORPUS.iterdir())]

    def per_second(look: Callable[[str], object]) -> float:
        began = time.perf_counter()
        for screen in screens:
            look(screen)
        return len(screens) / (time.perf_counter() - began)

    contenders = {"ours": lambda: per_second(read_screen), "clean": lambda: per_second(clean)}
    taken = in_turn(size.of(15), contenders)
    against = "taking escapes and tabs out of them alone"
    yield Row("screens read", "/s", taken["ours"], against, taken["clean"], least=LEAST)
