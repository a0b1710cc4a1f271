"""Full-text search over what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from server_house import House

from yourcall.store.search import match
from yourcall.store.search_conversations import MOST_PAGES, PAGE


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


def messages(house: House, words: str) -> dict[str, Any]:
    with house.http(house.token()) as phone:
        reply = phone.get("/api/search/conversations", params={"words": words})
        assert reply.status_code == 200, reply.text
        return reply.json()


def record(house: House, name: str, *lines: tuple[str, str]) -> Path:
    path = house.folder / f"{name}.jsonl"
    for line in lines:
        say(path, *line)
    house.session(name, transcript=str(path))
    return path


def say(path: Path, who: str, text: str) -> None:
    content: object = text if who == "user" else [{"type": "text", "text": text}]
    with path.open("a") as file:
        file.write(json.dumps({"type": who, "message": {"role": who, "content": content}}) + "\n")


def test_what_was_said_is_found_where_it_stands_and_what_is_added_too(house: House) -> None:
    path = record(house, "s1", ("user", "Lower the limit for free shipping"), ("assistant", "The kite flies."))
    record(house, "s2", ("user", "Write the weather report"))
    (hit,) = messages(house, "kite fl")["messages"]
    assert (hit["session_id"], hit["excerpt"]) == ("s1", "The kite flies.")
    with house.http(house.token()) as phone:
        page = phone.get("/api/sessions/s1/conversation").json()
    assert hit["offset"] == page["entries"][-1]["offset"]
    say(path, "user", "And a larger kite")
    assert len(messages(house, "kite")["messages"]) == 2
    assert len(messages(house, "kite")["messages"]) == 2  # each once, however often it is looked for
    assert messages(house, "kite weather")["messages"] == []


def test_a_record_that_was_replaced_is_read_anew(house: House) -> None:
    path = record(house, "s1", ("user", "an old secret"))
    assert len(messages(house, "secret")["messages"]) == 1
    path.rename(path.with_suffix(".old"))
    say(path, "user", "something else")
    assert messages(house, "secret")["messages"] == []
    assert len(messages(house, "something")["messages"]) == 1


def test_a_long_record_is_read_in_several_searches(house: House) -> None:
    pages = MOST_PAGES + 2
    record(house, "s1", ("user", "the very first word"), *[("user", f"line {n}") for n in range(pages * PAGE)])
    first = messages(house, "first")
    assert first == {"messages": [], "complete": False}
    second = messages(house, "first")
    assert second["complete"]
    assert [hit["offset"] for hit in second["messages"]] == [0]


def test_a_broken_index_of_conversations_is_made_anew(house: House) -> None:
    record(house, "s1", ("user", "a kite"))
    assert len(messages(house, "kite")["messages"]) == 1
    index = house.folder / "search-conversations.db"
    index.write_bytes(b"no database at all, and longer than a header " * 100)
    assert len(messages(house, "kite")["messages"]) == 1
    assert index.stat().st_mode & 0o777 == 0o600
