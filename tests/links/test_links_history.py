"""Pages of a transcript from its end, and what is added while somebody reads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.agents.claude.transcript import read_entry
from yourcall.links import conversations, transcripts
from yourcall.links.conversations import Follower, following, page
from yourcall.model.conversation import Action, AnyEntry, AssistantText, Notice, Page, UserMessage


def user(words: str) -> bytes:
    return json.dumps({"type": "user", "message": {"content": words}}).encode() + b"\n"


def noise(size: int = 200) -> bytes:
    return json.dumps({"type": "api-request-blob", "x": "y" * size}).encode() + b"\n"


def call(name: str, **given: Any) -> bytes:
    block = {"type": "tool_use", "id": name, "name": "Bash", "input": given}
    return json.dumps({"type": "assistant", "message": {"content": [block]}}).encode() + b"\n"


def result(name: str, output: str) -> bytes:
    block = {"type": "tool_result", "tool_use_id": name, "content": output}
    return json.dumps({"type": "user", "message": {"content": [block]}}).encode() + b"\n"


def texts(entries: Page | list[AnyEntry]) -> list[str]:
    every = entries.entries if isinstance(entries, Page) else entries
    return [e.text for e in every if isinstance(e, UserMessage | AssistantText | Notice)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def all_pages(path: Path, limit: int) -> list[AnyEntry]:
    found: list[AnyEntry] = []
    before: int | None = None
    for _ in range(1_000):
        one = page(path, read_entry, before, limit)
        found[:0] = one.entries
        before = one.next_before
        if before is None:
            return found
    raise AssertionError("the pages never end")


def test_pages_backwards(path: Path) -> None:
    path.write_bytes(b"".join(user(str(n)) + noise() for n in range(10)))
    last = page(path, read_entry, limit=3)
    assert texts(last) == ["7", "8", "9"]
    assert last.end == path.stat().st_size
    before = page(path, read_entry, last.next_before, 3, last.file)
    assert texts(before) == ["4", "5", "6"]
    assert texts(all_pages(path, 4)) == [str(n) for n in range(10)]
    assert page(path, read_entry, limit=50).next_before is None


def test_each_entry_knows_where_its_line_begins(path: Path) -> None:
    path.write_bytes(noise() + user("a") + noise(5) + user("b"))
    data = path.read_bytes()
    for entry in page(path, read_entry).entries:
        assert isinstance(entry, UserMessage)
        assert data[entry.offset :].startswith(user(entry.text))


def test_a_line_that_is_being_written_is_not_there_yet(path: Path) -> None:
    path.write_bytes(user("a") + user("b")[:-10])
    found = page(path, read_entry)
    assert texts(found) == ["a"]
    assert found.end == len(user("a"))
    path.write_bytes(user("a") + user("b"))
    more = following(path, read_entry, found.end, found.file)
    assert texts(more) == ["b"]
    assert not more.restarted


def test_an_offset_in_the_middle_of_a_line_is_moved_to_its_beginning(path: Path) -> None:
    path.write_bytes(user("a") + user("b") + user("c"))
    assert texts(page(path, read_entry, len(user("a")) + 5)) == ["a"]
    assert texts(page(path, read_entry, 10**12)) == ["a", "b", "c"]
    assert page(path, read_entry, 0).entries == ()


def test_a_result_has_the_words_of_its_call_also_across_pages(path: Path) -> None:
    path.write_bytes(call("c1", command="make") + noise() + user("meanwhile") + result("c1", "made"))
    (done,) = page(path, read_entry, limit=1).entries
    assert isinstance(done, Action)
    assert (done.phase, done.title, done.kind, done.detail) == ("completed", "make", "command", "made")
    start = len(call("c1", command="make"))
    (_, done) = following(path, read_entry, start, page(path, read_entry).file).entries
    assert isinstance(done, Action)
    assert done.title == "make"


def test_a_page_that_finds_little_ends_and_says_where_to_go_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MOST_READ", 10_000)
    path.write_bytes(user("first") + noise(1000) * 30 + user("last"))
    one = page(path, read_entry, limit=5)
    assert texts(one) == ["last"]
    assert one.next_before is not None
    assert path.stat().st_size - one.next_before < 12_000
    assert texts(all_pages(path, 5)) == ["first", "last"]


def test_a_line_beyond_reason_is_named_and_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (conversations, transcripts):
        monkeypatch.setattr(module, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(conversations, "BLOCK", 300)
    path.write_bytes(user("a") + user("x" * 5_000) + user("b"))
    assert texts(page(path, read_entry)) == ["a", "A line of the transcript is too long to show here.", "b"]
    path.write_bytes(user("x" * 5_000) + user("b"))
    assert texts(page(path, read_entry))[1:] == ["b"]


def test_a_replaced_file_is_told(path: Path) -> None:
    path.write_bytes(user("a") * 50)
    old = page(path, read_entry)
    other = path.with_name("other")
    other.write_bytes(user("new") * 60)
    other.replace(path)
    for found in (
        following(path, read_entry, old.end, old.file),
        page(path, read_entry, old.next_before, 50, old.file),
    ):
        assert found.restarted
        assert texts(found)[-1] == "new"


def test_a_file_that_was_written_anew_in_place_is_told(path: Path) -> None:
    path.write_bytes(user("a") * 50)
    old = page(path, read_entry)
    path.write_bytes(user("something longer") * 60)
    found = following(path, read_entry, old.end, old.file)
    assert found.restarted


def test_a_pipe_is_no_transcript(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(FileNotFoundError):
        page(path, read_entry)


def test_a_follower_tells_what_is_added(path: Path) -> None:
    path.write_bytes(user("old"))
    follower = Follower(path, read_entry)
    assert follower.new_entries() == []
    with path.open("ab") as file:
        file.write(call("c1", command="make") + user("a")[:5])
    (start,) = follower.new_entries()
    assert isinstance(start, Action)
    with path.open("ab") as file:
        file.write(user("a")[5:] + result("c1", "made"))
    said, done = follower.new_entries()
    assert isinstance(said, UserMessage)
    assert isinstance(done, Action)
    assert (done.title, done.detail) == ("make", "made")


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts what a process reads")
def test_of_a_large_file_only_the_end_is_read(path: Path) -> None:
    """A sparse file of 2 GB: whoever reads all of it needs seconds."""
    with path.open("wb") as file:
        file.seek(2 * 1024**3)
        file.write(b"\n" + user("a") * 100)
    before = _read_so_far()
    assert len(page(path, read_entry, limit=50).entries) == 50
    assert _read_so_far() - before < 50_000_000


def _read_so_far() -> int:
    """How many bytes this process has asked the system for."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["rchar"])


@given(
    st.lists(st.tuples(st.sampled_from("unx"), st.integers(0, 300)), max_size=25),
    st.integers(1, 7),
    st.integers(1, 400),
)
def test_the_pages_together_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, int]], limit: int, block: int
) -> None:
    path = tmp_path_factory.mktemp("pages") / "s.jsonl"
    path.write_bytes(
        b"".join(
            user(f"{n} {'z' * size}") if kind == "u" else noise(size) if kind == "n" else b"x" * size + b"\n"
            for n, (kind, size) in enumerate(made)
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversations, "BLOCK", block)
        found = texts(all_pages(path, limit))
    assert [int(words.split()[0]) for words in found] == [n for n, (kind, _) in enumerate(made) if kind == "u"]
