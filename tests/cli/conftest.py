"""Fixtures for the command line: one real daemon per test, and a scripted agent that raises prompts in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from scripted_claude import ScriptedClaude  # noqa: E402

from kit.yourcall import Yourcall  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def yc(tmp_path: Path) -> Iterator[Yourcall]:
    with Yourcall(tmp_path) as running:
        yield running


@pytest.fixture
def claude(tmp_path: Path, yc: Yourcall) -> Iterator[ScriptedClaude]:
    with ScriptedClaude(tmp_path, yc) as agent:
        yield agent
