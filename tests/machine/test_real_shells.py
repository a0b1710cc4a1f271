"""Real shells run what a rule allows, and nothing happens that the verdict did not name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from shell_walk import PLAIN_SHELLS, SHELLS, Walk, World, trespass

SEED = int(os.environ.get("YOURCALL_WALK_SEED", "16"))

pytestmark = pytest.mark.skipif(
    not all(shutil.which(name) for name in ("bash", "zsh", "dash", "busybox", "git", "rg")),
    reason="needs bash, zsh, dash, busybox, git and rg",
)


def walk(world: World, seed: int, many: int) -> int:
    """How many of them were allowed, and so run by every shell."""
    shells = [name for name, words in SHELLS.items() if shutil.which(words[0])]
    allowed = 0
    for number, (rules, command) in enumerate(Walk(seed).commands()):
        if number == many:
            return allowed
        if not world.allowed(rules, command):
            continue
        allowed += 1
        plain = [list(PLAIN_SHELLS)[number % 2]] if world.allowed(rules, command, any_shell=True) else []
        for shell in (shells[number % 2], shells[2 + number % 2], *plain):
            ran = world.run(shell, command)
            wrong = trespass(rules, ran, world)
            assert not wrong, (
                f"{wrong}, with the rules for {rules}, in {shell} (seed {seed}, {number}):\n{command}"
            )
    return allowed


@pytest.mark.long
def test_real_shells_do_nothing_that_the_verdict_does_not_name(tmp_path: Path) -> None:
    assert walk(World(tmp_path), SEED, 2_000) > 100


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_a_long_walk_with_real_shells(tmp_path: Path) -> None:
    many = int(os.environ.get("YOURCALL_WALK", "100000"))
    assert walk(World(tmp_path), SEED + 1, many) > many // 20
