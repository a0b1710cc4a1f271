"""Files that an agent writes and reads: whose they are, what of them counts, and how they end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.poll import until
from yourcall.agents.session_spec import ChannelFiles
from yourcall.agents.spec import Agent, Finder
from yourcall.links.channel_files import AskedLines, Pair, ToldLines, claimed

FILES = ChannelFiles("files", "ev-", "in-", (b"keep",))
# As the CLI opens it: what is there is written over, never cut.
WRITER = """
import os, sys
flags = os.O_WRONLY | os.O_CREAT
file = os.open(sys.argv[1], flags, 0o600)
for line in sys.stdin.buffer:
    os.write(file, line)
    print("written", flush=True)
"""
AGENT = Agent("writer", finder=Finder(lambda argv: WRITER in argv, lambda _: "", lambda *_: None, "pid-"))


class Writer:
    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def writes(self, line: bytes) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"written\n"

    def dies(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Callable[[], Writer]]:
    running: list[Writer] = []

    def start() -> Writer:
        running.append(Writer(tmp_path / "ev-%0.jsonl"))
        return running[-1]

    yield start
    for each in running:
        each.dies()


def found(folder: Path) -> list[Pair]:
    return claimed(AGENT, FILES, folder, ["ev-%0.jsonl"])


def read_all(lines: ToldLines, count: int) -> list[bytes]:
    async def some() -> list[bytes]:
        return [await lines.readline() for _ in range(count)]

    return asyncio.run(some())


def test_a_file_is_renamed_for_its_writer_and_only_what_that_one_wrote_is_read(
    tmp_path: Path, writer: Callable[[], Writer]
) -> None:
    """The end of an older file still stands behind what was written."""
    (tmp_path / "ev-%0.jsonl").write_bytes(b"keep old one\nkeep old two\nkeep old three\n")
    first = writer()
    first.writes(b"keep 1\n")
    first.writes(b"drop 2\n")
    (pair,) = found(tmp_path)
    assert pair.pid == first.process.pid
    assert pair.told.name.startswith(f"run-{pair.pid}-")
    assert pair.asked == tmp_path / "in-%0.jsonl"
    lines = ToldLines(pair, FILES.signs)
    assert read_all(lines, 1) == [b"keep 1"]
    first.writes(b"keep 3\n")
    assert read_all(lines, 2) == [b"keep 3", b"\n"]  # and then a second without a word
    first.dies()
    assert read_all(lines, 1) == [b""]


def test_another_process_in_a_pane_of_the_same_name_gets_a_file_of_its_own(
    tmp_path: Path, writer: Callable[[], Writer]
) -> None:
    first = writer()
    first.writes(b"keep first\n")
    (one,) = found(tmp_path)
    second = writer()
    second.writes(b"keep second\n")
    (other,) = found(tmp_path)
    assert read_all(ToldLines(one, FILES.signs), 1) == [b"keep first"]
    assert read_all(ToldLines(other, FILES.signs), 1) == [b"keep second"]


def test_what_two_processes_write_to_is_not_read(tmp_path: Path, writer: Callable[[], Writer]) -> None:
    for _ in range(2):
        writer().writes(b"keep mine\n")
    assert found(tmp_path) == []


def test_what_nobody_writes_to_is_not_read(tmp_path: Path, writer: Callable[[], Writer]) -> None:
    first = writer()
    first.writes(b"keep mine\n")
    first.dies()
    until(lambda: found(tmp_path) == [])
    assert (tmp_path / "ev-%0.jsonl").exists()


def test_answers_are_appended_and_no_link_is_followed(tmp_path: Path) -> None:
    async def write(path: Path, line: bytes) -> None:
        lines = AskedLines(path)
        lines.write(line)
        await lines.drain()

    path = tmp_path / "in-%0.jsonl"
    asyncio.run(write(path, b"one\n"))
    asyncio.run(write(path, b"two\n"))
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "in-link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="in-link"):
        asyncio.run(write(tmp_path / "in-link", b"one\n"))
