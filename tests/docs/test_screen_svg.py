"""The picture shows what was captured: every letter in its column, in its colour, and nothing that acts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "screen_svg.py"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def svg() -> Any:
    spec = importlib.util.spec_from_file_location("screen_svg", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["screen_svg"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(picture: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(picture).iter(f"{SVG}text") if each.get("textLength")]


def test_every_word_stands_in_its_column_and_colour(svg: Any) -> None:
    screen = svg.read_screen("\n\x1b[32mok\x1b[0m  \x1b[1;38;2;1;2;3mbold\x1b[0m\n\n", "t")
    assert len(screen.rows) == 1  # blank lines around everything are left out
    ok, bold = words(svg.draw([screen], "about"))
    assert (ok.text, ok.get("fill"), bold.text, bold.get("fill")) == ("ok", svg.NAMED[2], "bold", "#010203")
    assert bold.get("font-weight") == "600"
    left, right = float(ok.get("x", "")), float(bold.get("x", ""))
    assert right - left == pytest.approx(4 * svg.CELL_W, abs=0.1)


def test_wide_letters_take_two_columns(svg: Any) -> None:
    screen = svg.read_screen("日本 x", "t")
    assert [cell.column for cell in screen.rows[0]] == [0, 2, 4, 5]


def test_256_colours_and_inverse(svg: Any) -> None:
    (row,) = svg.read_screen("\x1b[38;5;196mr\x1b[48;5;232mg\x1b[0;7mi", "t").rows
    assert [(c.style.ink, c.style.paper, c.style.inverse) for c in row] == [
        ("#ff0000", "", False),
        ("#ff0000", "#080808", False),
        ("", "", True),
    ]


def test_hostile_text_is_only_text(svg: Any) -> None:
    said = '<script>x</script>&"\x1b]0;title\x07\x1b[2J\x1b[999m\x1b[38m'
    picture = svg.draw([svg.read_screen(said, "</title><script>")], "</title>")
    assert {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(picture).iter()} <= {
        "svg", "title", "rect", "path", "circle", "text",
    }  # fmt: skip
    assert "".join(each.text or "" for each in words(picture)) == '<script>x</script>&"'


def test_the_same_capture_gives_the_same_bytes(svg: Any) -> None:
    captured = (TOOL.parents[1] / "docs" / "images" / "desk.ansi").read_text("utf-8")
    first, second = (svg.draw([svg.read_screen(captured, "t")], "a") for _ in range(2))
    assert first == second
    assert "proceed?" in [each.text for each in words(first)]
