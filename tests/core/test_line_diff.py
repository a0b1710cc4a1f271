"""The diff of our own: always right, seldom larger than difflib's, and quick whatever the texts are."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.core import line_diff
from yourcall.core.line_diff import MOST_WORK, Work, of_texts, unified

HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
FEW = st.lists(st.sampled_from("abcd"), max_size=25)
MANY = st.lists(st.integers(0, 40).map(str), max_size=40)


def applied(diff: list[str], old: list[str]) -> list[str]:
    """What `patch` makes of it; every line of the diff is checked against the old text."""
    new: list[str] = []
    at = 0
    for line in diff[2:]:
        if line.startswith("@@"):
            head = HEAD.fullmatch(line)
            assert head
            size = int(head[2] or 1)
            start = int(head[1]) - (1 if size else 0)
            new += old[at:start]
            at = start
            assert int(head[3]) - (1 if int(head[4] or 1) else 0) == len(new)
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert line[0] in " -"
            assert old[at] == line[1:]
            at += 1
            new += [line[1:]] if line[0] == " " else []
    return new + old[at:]


def changed(diff: list[str]) -> int:
    return sum(line[0] in "+-" for line in diff[2:])


@given(old=FEW | MANY, new=FEW | MANY, context=st.integers(0, 4))
def test_applied_to_the_old_text_it_gives_the_new_one(old: list[str], new: list[str], context: int) -> None:
    diff = unified(old, new, "a file", context)
    assert applied(diff, old) == new
    assert (not diff) == (old == new)
    assert changed(diff) <= changed(list(unified_diff(old, new, n=context, lineterm="")))


@given(old=FEW, new=FEW, left=st.integers(0, 60))
def test_it_is_right_however_little_work_is_left(old: list[str], new: list[str], left: int) -> None:
    assert applied(unified(old, new, work=Work(left)), old) == new


@given(old=st.lists(st.integers(0, 40).map(str), max_size=40, unique=True))
def test_a_line_that_comes_in_and_one_that_goes_look_as_difflib_shows_them(old: list[str]) -> None:
    middle = len(old) // 2
    new = [*old[:middle], "a line that is new", *old[middle + 1 :]]
    assert unified(old, new, "f") == list(unified_diff(old, new, "f", "f", lineterm=""))


def every_other(size: int) -> tuple[list[str], list[str]]:
    return [f"line {n}" for n in range(size)], [f"{'line' if n % 2 else 'row'} {n}" for n in range(size)]


def shuffled(size: int) -> tuple[list[str], list[str]]:
    old = [f"line {n}" for n in range(size)]
    return old, random.Random(18).sample(old, size)


def two_lines(size: int) -> tuple[list[str], list[str]]:
    dice = random.Random(18)
    return [dice.choice("ab") for _ in range(size)], [dice.choice("ab") for _ in range(size)]


def swapped_halves(size: int) -> tuple[list[str], list[str]]:
    half = size // 2
    return ["a"] * half + ["b"] * half, ["b"] * half + ["a"] * half


@pytest.mark.parametrize("texts", [every_other, shuffled, two_lines, swapped_halves])
def test_large_texts_take_no_more_work_than_allowed(
    texts: Callable[[int], tuple[list[str], list[str]]],
) -> None:
    old, new = texts(20_000)
    work = Work()
    assert applied(unified(old, new, work=work), old) == new
    # One pass over a region is counted when it is done, and none begins without work left.
    assert work.left > -len(old) - len(new)
    assert MOST_WORK - work.left < 500_000


def test_every_other_line_of_a_large_text_is_found() -> None:
    old, new = every_other(20_000)
    assert changed(unified(old, new)) == 20_000


def test_texts_that_are_too_long_to_compare_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_diff, "MOST_CHARACTERS", 10)
    assert of_texts("f", "a\nb\nc\n", "a\nb\n") == list(
        unified_diff(["a", "b", "c"], ["a", "b"], "f", "f", lineterm="")
    )
    lines = of_texts("f", "a\nb\nc\n", "a\nb\nd\n")
    assert lines == ["--- f", "+++ f", "(too long to compare; its text from now on:)", "a\nb\nd\n"]
