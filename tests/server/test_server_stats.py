"""Where the time went: counted from what is stored."""

from __future__ import annotations

import time

import pytest
from server_house import House

from yourcall.model.events import DialogClosed


def test_what_waited_and_where_it_was_answered(house: House) -> None:
    house.session("s1", cost_usd=0.42, started_at=time.time())
    now = time.time()
    with house.http(house.token("phone")) as phone:
        for name in ("one", "two", "desk", "open"):
            house.ask(name)
        for name in ("one", "two"):
            assert phone.post(f"/api/prompts/{name}/answer", json={"option": "allow"}).status_code in (200, 202)
        house.post(DialogClosed(now, "desk", "idle"))
        told = phone.get("/api/stats?days=7&utc_offset=60").json()
    assert told["complete"] is True
    assert sum(day["prompts"] for day in told["waiting"]) == 3
    assert {day["project"] for day in told["waiting"]} == {"project"}
    assert told["kinds"] == [{"name": "permission", "count": 3}]
    assert {each["name"]: each["count"] for each in told["answered"]} == {"http": 2, "desk": 1}
    assert (told["by_rule"], told["saved"]) == (0, 0.0)
    # Days begin at midnight of whoever asks.
    assert (told["since"] + 3600) % 86_400 == 0


@pytest.mark.parametrize("query", ["days=0", "days=91", "days=x", "utc_offset=9999", "utc_offset=nan"])
def test_bad_words_are_refused(house: House, query: str) -> None:
    with house.http(house.token()) as phone:
        assert phone.get(f"/api/stats?{query}").status_code == 400
