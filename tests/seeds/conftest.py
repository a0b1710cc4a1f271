"""One daemon for all rows, and a scripted agent for each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent, HERE.parent / "cli"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from seed_agent import Agent  # noqa: E402

from kit.yourcall import Yourcall  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yourcall]:
    with Yourcall(tmp_path_factory.mktemp("seeds")) as running:
        yield running


@pytest.fixture
def agent(tmp_path: Path, daemon: Yourcall) -> Iterator[Agent]:
    with Agent(tmp_path, daemon) as running:
        yield running
