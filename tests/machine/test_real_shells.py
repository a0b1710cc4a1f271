"""Real shells run what a rule allows, and nothing happens that the verdict did not name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from shell_walk import NEEDED, Count, World, walk

SEED = int(os.environ.get("YOURCALL_WALK_SEED", "16"))

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)),
    reason="needs bash, zsh, dash, busybox, git and rg",
)


def found_nothing(world: World, seed: int, many: int) -> Count:
    count = Count()
    for wrong in walk(world, seed, many, count):
        raise AssertionError(wrong)
    return count


@pytest.mark.long
def test_real_shells_do_nothing_that_the_verdict_does_not_name(tmp_path: Path) -> None:
    count = found_nothing(World(tmp_path), SEED, 2_000)
    assert count.allowed > 100


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_a_long_walk_with_real_shells(tmp_path: Path) -> None:
    many = int(os.environ.get("YOURCALL_WALK", "100000"))
    count = found_nothing(World(tmp_path), SEED + 1, many)
    assert count.allowed > many // 20
