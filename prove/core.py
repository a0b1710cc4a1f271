"""The model world of the core: random events, crashes and late signs; the promises are asserted after each."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import seed as seeded
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "machine"))

import test_machine_world

BATCH = 100


def batch(seed: int) -> str:
    """A hundred stories from this seed. What went wrong, or ""."""
    machine = type("TrueWorld", (test_machine_world.TrueWorld,), {})
    few = settings(test_machine_world.QUICK, max_examples=BATCH, database=None, derandomize=False)
    try:
        run_state_machine_as_test(seeded(seed)(machine), settings=few)
    except Exception as wrong:  # whatever it is, it is a case that failed
        return f"{type(wrong).__name__}: {wrong}"[:500]
    return ""
