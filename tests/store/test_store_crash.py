"""Whatever was acknowledged is there after a kill, a torn write, or both."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_story import Life, event_of, opened, replayed, rows

from yourcall.store.facts import subject
from yourcall.store.sqlite import Store

KILLS = 15


@pytest.mark.long
def test_kill_9_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "yourcall.db"
    rng = random.Random(9)
    acknowledged: dict[int, tuple[str, str]] = {}
    for attempt in range(KILLS):
        for line in _until_killed(path, attempt, rng.randrange(1, 60)):
            seq, kind, about = line.split()
            assert int(seq) not in acknowledged, "a seq was given twice"
            acknowledged[int(seq)] = (kind, about)
        with opened(path) as store:
            log = {seq: (type(event).__name__, subject(event)) for seq, event in store.facts()}
            assert acknowledged.items() <= log.items()
            assert replayed(store) == rows(store)
    assert len(acknowledged) >= KILLS


def _until_killed(path: Path, seed: int, lines: int) -> Iterator[str]:
    """What the child said up to its death: at least so many lines, and all that it still got out."""
    command = [sys.executable, str(Path(__file__).with_name("crash_child.py")), str(path), str(seed)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        try:
            for _ in range(lines):
                line = child.stdout.readline()
                assert line, f"the child ended by itself: {child.wait()}"
                yield line
        finally:
            child.send_signal(signal.SIGKILL)
        # A last line without its end was cut off by the kill, and so acknowledged to nobody.
        yield from (line for line in child.stdout if line.endswith("\n"))
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("damage", ["cut", "garbled"])
def test_a_half_written_wal_costs_only_what_was_not_finished(tmp_path: Path, damage: str) -> None:
    """A power cut leaves the last frames torn; everything before them counts."""
    path = tmp_path / "yourcall.db"
    rng = random.Random(4)
    with opened(path) as store:
        life = Life(store)
        for n in range(40):
            life.run([event_of(rng.randrange(16 * 6 * 4 * 6), float(n))])
        whole = dict(store.facts())
        wal = path.with_name("yourcall.db-wal").read_bytes()
        lengths = {_facts_after(tmp_path, path, _torn(wal, at, damage), whole) for at in _places(rng, len(wal))}
    assert len(lengths) > 3, "every cut lost the same: nothing was torn"
    assert max(lengths) < len(whole)


def _places(rng: random.Random, size: int) -> list[int]:
    return sorted(rng.randrange(size // 4, size - 1) for _ in range(12))


def _torn(wal: bytes, at: int, damage: str) -> bytes:
    return wal[:at] if damage == "cut" else wal[:at] + bytes(byte ^ 0x5A for byte in wal[at:])


def _facts_after(tmp_path: Path, path: Path, wal: bytes, whole: dict[int, object]) -> int:
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copy(path, copy)
    (copy / "yourcall.db-wal").write_bytes(wal)
    store = Store.open(copy / "yourcall.db")
    try:
        facts = dict(store.facts())
        assert facts == dict(list(whole.items())[: len(facts)])
        assert replayed(store) == rows(store)
        assert store.last_seq == max(facts, default=0)
        return len(facts)
    finally:
        store.close()
