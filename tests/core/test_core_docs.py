"""The page about the lifecycle shows the table that is in the code."""

from __future__ import annotations

import re
from pathlib import Path

from yourcall.core.lifecycle import STATES, diagram

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "lifecycle.md"


def test_the_diagram_in_the_docs_is_the_generated_one() -> None:
    drawn = re.findall(r"^```mermaid\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert drawn == [diagram()], "run: python tools/gen_docs.py"


def test_the_page_explains_every_state_once() -> None:
    explained = re.findall(r"^\| \*\*(\w+)\*\* \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert explained == list(STATES)
