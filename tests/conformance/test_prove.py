"""The judge of `make prove`: every difference between what happened and what was told has its name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from prove import record
from prove.judge import (
    BOUNCED,
    FALSE_CONFIRMED,
    FALSE_LATE,
    LOST,
    NOT_SHOWN,
    STUCK,
    TWICE,
    UNSURE,
    WRONG,
    Asked,
    Given,
    judged,
)

YES, NO = Given("phone", True, "confirmed"), Given("phone", False, "confirmed")
DESK = Given("desk", True)


def told(state: str, outcome: str, runs: int, *given: Given, heard: bool = True, died: bool = False) -> list[str]:
    return judged(Asked("k", "p", list(given), runs, 0, False, heard, state, outcome, (), died))


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (told("confirmed", "allowed", 1, YES), []),
        (told("confirmed", "denied", 0, NO), []),
        (told("desk", "allowed", 1, DESK, Given("phone", False, "too_late")), []),
        (told("unsure", "", 1, Given("phone", True, "unsure")), [UNSURE]),
        (told("confirmed", "allowed", 2, YES), [TWICE]),
        (told("confirmed", "denied", 1, NO), [WRONG, FALSE_CONFIRMED, LOST]),
        (told("confirmed", "allowed", 0, YES), [FALSE_CONFIRMED, LOST]),
        (told("desk", "stopped", 1, Given("desk", False), Given("phone", True, "too_late")), [FALSE_CONFIRMED]),
        (told("desk", "allowed", 1, Given("phone", True, "too_late")), [FALSE_LATE]),
        (told("accepted", "", 0, Given("phone", True, "accepted")), [LOST]),
        (told("open", "", 0, Given("phone", True, "bounced")), [BOUNCED, STUCK]),
        (told("sent", "", 0, Given("phone", True, ""), heard=False), [STUCK]),
        (told("unsure", "", 0, Given("phone", True, "unsure"), heard=False, died=True), [UNSURE]),
        (judged(Asked("k")), [NOT_SHOWN]),
    ],
)
def test_each_difference_has_its_name(found: list[str], wrong: list[str]) -> None:
    assert found == wrong


def test_nothing_in_n_is_at_most_three_in_n() -> None:
    assert record.interval(0, 3000) == (0.0, 0.001)
    low, high = record.interval(5, 1000)
    assert math.isclose(low, 0.002138, abs_tol=1e-5)
    assert math.isclose(high, 0.011650, abs_tol=1e-5)


def test_a_line_that_a_power_cut_left_half_is_no_case(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    record.append({"way": "core", "count": 100, "found": []}, file)
    record.append({"way": "acp", "found": ["unsure"]}, file)
    with file.open("a") as half:
        half.write('{"way":"acp","fou')
    assert record.cases(record.lines(file)) == 101
    assert record.counted(record.lines(file)) == {"unsure": 1}
