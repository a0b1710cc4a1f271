"""`yourcall doctor --live` with the real programs: what the project's tests say of a version, a person finds."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kit.yourcall import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def prove(folder: Path, agent: str, program: Path, *words: str) -> dict[str, Any]:
    """As a person has it who has just installed yourcall: nothing of theirs is there, and nothing runs."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [str(COMMAND), "doctor", "--live", agent, "--cli", str(program), "--patience", "90", "--json", *words],
        env=env, cwd=folder, capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [".yourcall"]
    return json.loads(done.stdout)["kinds"]


def test_permissions_and_questions_of_claude(tmp_path: Path, claude_bin: Path) -> None:
    found = prove(tmp_path, "claude", claude_bin, "--kind", "permission", "--kind", "question")
    assert {kind: each["grade"] for kind, each in found.items()} == {
        "permission": "proved",
        "question": "proved",
    }, found


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "droid", "gemini", "kilo", "opencode", "qwen"])
def test_every_kind_of_the_pinned_version(tmp_path: Path, fetched: Callable[..., Path], agent: str) -> None:
    found = prove(tmp_path, agent, fetched(agent))
    assert {"permission", "question", "ready"} <= found.keys()
    lacks = {kind: each["why"] for kind, each in found.items() if each["grade"] != "proved"}
    # Its hook at the end of a turn does not tell what droid said.
    known = {"ready": "It shows '', not what the agent said last."} if agent == "droid" else {}
    assert lacks == known
