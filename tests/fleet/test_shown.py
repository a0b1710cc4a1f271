"""The digest of what was shown: `web/tests/shown.test.ts` reads the same file, so the browser agrees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yourcall.fleet.shown import FIELDS, canonical, shown_digest

DATA = json.loads((Path(__file__).parents[1] / "data" / "fleet" / "shown.json").read_text())


@pytest.mark.parametrize("case", DATA["cases"])
def test_a_view_has_the_digest_that_the_browser_makes(case: dict[str, str]) -> None:
    assert shown_digest(json.loads(case["view"]), case["host"], case["name"]) == case["digest"]


def test_numbers_are_written_as_a_browser_writes_them() -> None:
    assert all(canonical(json.loads(text)) == written for text, written in DATA["numbers"])
    assert [canonical(each) for each in (10**400, float("inf"), True, None, 1.0, -0.0)] == [
        "null", "null", "true", "null", "1", "0",
    ]  # fmt: skip


def test_everything_that_a_person_decides_by_changes_it() -> None:
    view = json.loads(DATA["cases"][0]["view"])
    digests = {shown_digest(view, "h", "bert"), shown_digest(view, "i", "bert"), shown_digest(view, "h", "anna")}
    for field in FIELDS:
        digests.add(shown_digest({**view, field: "something else"}, "h", "bert"))
        digests.add(shown_digest({name: value for name, value in view.items() if name != field}, "h", "bert"))
    assert len(digests) == 3 + 2 * len(FIELDS)
    assert shown_digest({**view, "state": "sent", "held": False}, "h", "bert") in digests
