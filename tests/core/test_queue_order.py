"""What waits is listed by what blocks, everywhere the same."""

from __future__ import annotations

from typing import get_args

from yourcall.core.queue_order import in_order, rank
from yourcall.model.prompts import Kind, Prompt


def prompt(kind: Kind, at: float, name: str = "") -> Prompt:
    return Prompt(name or f"{kind}-{at}", kind, "claude", "s", "/p", "title", at)


def test_what_blocks_comes_before_older_things_that_do_not() -> None:
    ready = [prompt("ready", at) for at in (1.0, 2.0, 3.0)]
    question, stuck = prompt("question", 4.0), prompt("problem", 5.0)
    late, later = prompt("permission", 6.0), prompt("plan", 7.0)
    assert in_order([later, *ready, stuck, question, late]) == [late, later, question, stuck, *ready]


def test_equal_ages_are_told_apart_by_id() -> None:
    one, two = prompt("permission", 1.0, "a"), prompt("trust", 1.0, "b")
    assert in_order([two, one]) == [one, two]


def test_every_kind_but_questions_and_pauses_blocks() -> None:
    blocking = {kind for kind in get_args(Kind) if rank(prompt(kind, 0.0)) == 0}
    assert blocking == {"permission", "plan", "trust", "elicitation", "loop", "startup", "unknown"}
