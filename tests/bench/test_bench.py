"""The bench works: every group yields rows that make sense, and nothing stays behind. No clock decides here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # `bench` is no part of the installed package

from bench.clock import in_turn  # noqa: E402
from bench.row import Row, percentile, table  # noqa: E402
from bench.size import FULL, TINY  # noqa: E402

from bench import past, place, transcripts, transcripts_rows  # noqa: E402
from kit.poll import until  # noqa: E402

QUICK = ("hook", "held", "shown", "answered", "start", "help", "idle", "past", "rules", "ruled", "screens")
QUICK = (*QUICK, "terminal")


def run(tmp_path: Path, *words: str) -> tuple[str, list[dict[str, Any]]]:
    told = tmp_path / "rows.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--tiny", "--json", str(told), *words],
        cwd=ROOT, env=sandboxed(tmp_path), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(told.read_text())["rows"]


def sandboxed(tmp_path: Path) -> dict[str, str]:
    """The caller's environment, in which the fetched CLIs are found, with a temporary folder of the test's own."""
    (tmp_path / "t").mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(tmp_path / "t")}


def check(rows: list[dict[str, Any]], said: str) -> None:
    assert rows
    for row in rows:
        assert row["ours"]["count"] >= 1
        assert row["name"] in said
        if row["goal"]:
            assert row["met"] in (True, False)
        if row["other"] and row["other"]["median"] > 0 and row["ours"]["median"] >= 0:
            assert row["ratio"] == pytest.approx(row["ours"]["median"] / row["other"]["median"])


@pytest.mark.parametrize("group", QUICK)
def test_a_group_yields_rows_and_leaves_nothing_behind(tmp_path: Path, group: str) -> None:
    said, rows = run(tmp_path, "--only", group)
    check(rows, said)
    for row in rows:
        assert row["ours"]["least"] > 0, row
        assert row["other"]["least"] > 0, row
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.real
@pytest.mark.soak
def test_a_turn_of_the_real_cli_is_measured_in_every_way(tmp_path: Path) -> None:
    said, rows = run(tmp_path, "--only", "turn")
    check(rows, said)
    names = [row["name"] for row in rows]
    for way in ("ours", "ours, daemon down", "HTTP hooks"):
        assert any(name.startswith("a turn") and name.endswith(way) for name in names), names
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.real
@pytest.mark.soak
def test_an_answer_is_timed_until_the_real_cli_acts_on_it(tmp_path: Path) -> None:
    said, rows = run(tmp_path, "--only", "reached")
    check(rows, said)
    assert list((tmp_path / "t").iterdir()) == []


def test_a_killed_bench_leaves_no_process_and_the_next_one_sweeps_its_folder(tmp_path: Path) -> None:
    bench = subprocess.Popen(
        [sys.executable, "-m", "bench", "--only", "idle"],
        cwd=ROOT, env=sandboxed(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        # Its very first child asks what machine this is; the one we mean comes after the folder.
        until(lambda: list((tmp_path / "t").iterdir()), what="its folder")
        daemon = until(lambda: psutil.Process(bench.pid).children(), what="a daemon of the bench")[0]
    finally:
        bench.send_signal(signal.SIGKILL)
        bench.wait(10)
    until(lambda: not daemon.is_running() or daemon.status() == psutil.STATUS_ZOMBIE, what="its end")
    (left,) = (tmp_path / "t").iterdir()
    run(tmp_path, "--only", "help")
    assert not left.exists()


def test_transcripts_become_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "LARGE", 3 * 1024 * 1024)
    monkeypatch.setattr(transcripts, "MANY", 20)
    rows = list(transcripts_rows.rows(tmp_path, TINY))
    assert rows[0].met is not None
    assert all(row.ratio is not None for row in rows)


def test_the_past_is_as_large_as_asked_and_lives_on(tmp_path: Path) -> None:
    home = tmp_path / "yourcall"
    assert past.fill(home, sessions=4, each=3, facts=500) == 12
    with place.Yourcall(tmp_path) as running:
        listed = json.loads(running.run("sessions", "--json"))
        assert len(listed) == 4
        assert json.loads(running.run("ls", "--json")) == []
        log = json.loads(running.run("log", "--json"))
    assert len(log) == 12


def test_contenders_take_turns_and_nobody_is_always_first() -> None:
    order: list[str] = []
    taken = in_turn(3, {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, warm_up=1)
    assert {name: len(each) for name, each in taken.items()} == {"a": 3, "b": 3}
    assert order == ["b", "a", "a", "b", "b", "a", "a", "b"]


def test_a_row_is_met_only_within_all_its_bounds() -> None:
    assert Row("x", "ms", [1, 2, 9], "y", [4], most=2, most_ratio=0.5).met is True
    assert Row("x", "ms", [1, 3, 9], "y", [4], most=2, most_ratio=1).met is False
    assert Row("x", "ms", [1, 2, 9], "y", [3], most=2, most_ratio=0.5).met is False
    assert Row("x", "/s", [5], least=6).met is False
    assert Row("x", "ms", [5]).met is None


@pytest.mark.parametrize("too_little", [0.0, -3.3])
def test_what_is_too_little_to_measure_is_no_measure(too_little: float) -> None:
    """CPU is counted in ticks: what a few calls add can be none, or less than none."""
    row = Row("x", "ms", [1], "y", [too_little], most=2)
    assert row.ratio is None
    assert row.met is True
    assert row.cells()[3:5] == (f"{too_little:.2f} ms", "")
    assert Row("x", "ms", [1], "y", [too_little], most_ratio=1.3).met is False
    assert Row("x", "ms", [-1], "y", [4]).ratio is None


def test_the_table_is_markdown_with_one_line_per_row() -> None:
    drawn = table([Row("a | b", "ms", [1.5], "c", [3.0], most=2), Row("d", "MB", [120.0], note="why")])
    lines = drawn.splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    assert "0.50×" in lines[2]
    assert lines[-1] == "- d: why"


def test_a_size_scales_and_keeps_its_least() -> None:
    assert (FULL.of(50), TINY.of(50), TINY.of(50, 7)) == (50, 2, 7)
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
