"""Screens of versions that nobody tuned to, taken by tools/capture_held_out.py.

Rule: nothing is changed to make these pass. What a screen waits for, and the options that the model named, follow
from the script that led to it; the rows of a permission were written down by a person.
"""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from yourcall.agents.registry import AGENTS
from yourcall.model.screen import Reading

FOLDER = Path(__file__).parent / "screens"


class HeldOut(NamedTuple):
    name: str
    waits: str
    options: tuple[str, ...]
    reading: Reading


def read(path: Path) -> HeldOut:
    about, _, screen = path.read_text().partition("\n")
    known = json.loads(about)
    spec = AGENTS[known["agent"]].screen
    assert spec is not None
    reading = spec.read(f"\x1b]2;{known['title']}\x07{screen}").reading
    return HeldOut(f"{path.parent.name}/{path.name}", known["waits"], tuple(known["options"]), reading)


@pytest.fixture(scope="module")
def screens() -> list[HeldOut]:
    return [read(path) for path in sorted(FOLDER.glob("*/*"))]


def test_every_agent_is_there(screens: list[HeldOut]) -> None:
    there = {folder.name.split("-")[0] for folder in FOLDER.iterdir()}
    assert there >= {"claude", "codex", "copilot", "gemini", "qwen"}
    assert sum(bool(each.waits) for each in screens) >= 40
    assert sum(not each.waits for each in screens) >= 40


def test_what_waits_and_nothing_else_is_seen_to_wait(screens: list[HeldOut]) -> None:
    wrong = {
        each.name: each.reading.state for each in screens if (each.reading.state == "waiting") != bool(each.waits)
    }
    assert wrong == {}


def test_a_kind_is_right_or_unknown(screens: list[HeldOut]) -> None:
    wrong = {
        each.name: each.reading.kind
        for each in screens
        if each.waits and each.reading.kind not in (each.waits, "unknown")
    }
    assert wrong == {}


def test_options_are_exact_or_the_kind_is_unknown(screens: list[HeldOut]) -> None:
    """A row for words of one's own may follow those that the model named; a window may hide some."""
    shown = [each for each in screens if each.options and each.reading.kind != "unknown"]
    wrong = [each.name for each in shown if not exact(each)]
    assert len(shown) >= 20
    assert len(wrong) <= 0.02 * len(shown), wrong


def exact(each: HeldOut) -> bool:
    labels = tuple(option.label for option in each.reading.options)
    if not each.reading.clipped:
        return labels[: len(each.options)] == each.options
    named = tuple(takewhile(each.options.__contains__, labels))
    first = each.options.index(named[0]) if named else 0
    return bool(named) and named == each.options[first : first + len(named)]
