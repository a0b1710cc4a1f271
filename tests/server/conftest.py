"""One house for each test: a database, a loop and both doors, all real."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from server_house import House  # noqa: E402


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    yield from _open(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """For the many small attempts that must change nothing: one open prompt, `p1`, which they must not answer."""
    for house in _open(tmp_path_factory.mktemp("shared")):
        house.ask("p1")
        yield house


def _open(folder: Path) -> Iterator[House]:
    house = House(folder)
    try:
        yield house
    finally:
        house.close()
