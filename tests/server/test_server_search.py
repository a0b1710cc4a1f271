"""Full-text search over what is stored."""

from __future__ import annotations

import pytest
from server_house import House

from yourcall.store.search import match


def hits(house: House, words: str) -> list[str]:
    with house.http(house.token()) as phone:
        reply = phone.get("/api/search", params={"words": words})
        assert reply.status_code == 200, reply.text
        return [hit["id"] for hit in reply.json()]


def test_prompts_and_answers_are_found_as_soon_as_they_are_there(house: House) -> None:
    house.ask("one", cwd="/home/user/kite-shop")
    house.ask("two", cwd="/home/user/weather")
    assert set(hits(house, "ls")) == {"one", "two"}
    assert hits(house, "kite") == ["one"]
    assert hits(house, "kite weather") == []
    with house.http(house.token()) as phone:
        phone.post("/api/prompts/two/answer", json={"option": "deny", "text": "use the Größe instead"})
    assert hits(house, "grosse") == []
    assert hits(house, "größ") == ["two"]


@pytest.mark.parametrize("words", ['"', "a AND", "title:ls", "NEAR(", "*", "-ls", "ls OR 'x", "\x00", "%"])
def test_no_word_is_an_operator(house: House, words: str) -> None:
    house.ask("one")
    assert hits(house, words) in ([], ["one"])


def test_an_index_that_is_broken_or_gone_is_made_anew(house: House) -> None:
    house.ask("one")
    assert hits(house, "ls") == ["one"]
    (house.folder / "search.db").write_bytes(b"no database at all, and longer than a header " * 100)
    assert hits(house, "ls") == ["one"]
    (house.folder / "search.db").unlink()
    assert hits(house, "ls") == ["one"]
    assert (house.folder / "search.db").stat().st_mode & 0o777 == 0o600


def test_a_query_has_a_bounded_number_of_words() -> None:
    assert match("a " * 1000).count('"*') == 12
