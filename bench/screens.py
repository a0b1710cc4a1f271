"""Screens read per second, over every captured screen of the corpus."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bench.clock import in_turn
from bench.place import ROOT
from bench.row import Row
from bench.size import Size

CORPUS = ROOT / "tests" / "corpus"

# Fifty sessions whose screens are read ten times a second take a quarter of one core at this speed.
LEAST = 2_000

# The floor: whoever reads a screen looks at every line of it at least once.
LINE = re.compile(r"^.*\S", re.MULTILINE)


def read(at: Path, size: Size) -> Iterator[Row]:
    del at
    for agent in sorted(CORPUS.iterdir()):
        screens = [file.read_text() for file in sorted(agent.glob("*/screen.txt"))]
        if screens:
            reader: Callable[[str], object] = import_module(
                f"yourcall.agents.{agent.name}.screen.read"
            ).read_screen
            yield _speed(agent.name, screens, reader, size)


def _speed(agent: str, screens: list[str], reader: Callable[[str], object], size: Size) -> Row:
    def per_second(look: Callable[[str], object]) -> float:
        began = time.perf_counter()
        for screen in screens:
            look(screen)
        return len(screens) / (time.perf_counter() - began)

    taken = in_turn(size.of(15), {"ours": lambda: per_second(reader), "lines": lambda: per_second(LINE.findall)})
    name = f"screens of {agent} read"
    return Row(name, "/s", taken["ours"], "one look at every line", taken["lines"], least=LEAST)
