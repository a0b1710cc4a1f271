"""`lives(story)` runs an async story in a house of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

from channel_house import Lives, in_house


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return lambda story: in_house(story, tmp_path)
