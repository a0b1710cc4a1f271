"""Following a file that another program writes, cuts, replaces, or writes in pieces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourcall.links import transcripts
from yourcall.links.transcripts import Tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_what_is_new_and_whole(path: Path) -> None:
    path.write_bytes(b"old\n")
    tail = Tail(path, 0)
    assert tail.new_lines() == []
    add(path, b"one\ntw")
    assert tail.new_lines() == [b"one"]
    add(path, b"o\n\nthree\n")
    assert tail.new_lines() == [b"two", b"three"]
    assert tail.new_lines() == []


def test_the_rest_of_a_line_that_was_being_written_is_not_a_line(path: Path) -> None:
    path.write_bytes(b"old\nhal")
    tail = Tail(path, 0)
    add(path, b"f\nnext\n")
    assert tail.new_lines() == [b"next"]


def test_beginning_further_back(path: Path) -> None:
    path.write_bytes(b"aaaa\nbbbb\ncccc\n")
    assert Tail(path, 100).new_lines() == [b"aaaa", b"bbbb", b"cccc"]
    assert Tail(path, 10).new_lines() == [b"bbbb", b"cccc"]
    assert Tail(path, 9).new_lines() == [b"cccc"]


def test_offsets_are_those_of_the_file(path: Path) -> None:
    path.write_bytes(b"one\n\ntwo\n")
    placed = Tail(path, 100).new_placed()
    assert placed == [(0, b"one"), (5, b"two")]
    data = path.read_bytes()
    assert all(line is not None and data[at:].startswith(line + b"\n") for at, line in placed)


def test_a_missing_file_may_come_later(path: Path) -> None:
    tail = Tail(path, 0)
    assert tail.new_lines() == []
    path.write_bytes(b"first\n")
    assert tail.new_lines() == [b"first"]


def test_a_file_that_was_cut_or_replaced_is_read_anew(path: Path) -> None:
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(path, 0)
    path.write_bytes(b"new\n")
    assert tail.new_lines() == [b"new"]
    other = path.with_name("other")
    other.write_bytes(b"quite another\nand longer\n")
    other.replace(path)
    assert tail.new_lines() == [b"quite another", b"and longer"]


def test_a_line_beyond_reason_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MOST_AT_ONCE", 16)
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 64)
    path.write_bytes(b"")
    tail = Tail(path, 0)
    add(path, b"a\n" + b"x" * 50 + b"\n" + b"y" * 200 + b"\nb\n")
    seen = [placed for _ in range(12) for placed in tail.new_placed()]
    assert seen == [(0, b"a"), (2, b"x" * 50), (53, None), (254, b"b")]


def test_a_pipe_holds_nobody(path: Path) -> None:
    os.mkfifo(path)
    assert Tail(path, 0).new_lines() == []
    assert not Tail.at(path, 5).continues()


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"_")), max_size=12), st.data())
def test_every_line_once_however_it_is_written(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("tail") / "t"
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    tail = Tail(path, 0)
    seen: list[bytes] = []
    for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        add(path, whole[start:stop])
        seen += tail.new_lines()
    assert seen == [line for line in lines if line]
