"""`yourcall doctor --live` with the toy: what it does right is proved, what it does wrong is seen and said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kit.poll import until
from yourcall.live_check import grades
from yourcall.live_check.grades import Grades, KindGrade

pytestmark = pytest.mark.long

DATA = Path(__file__).resolve().parents[1] / "data" / "toy_agent"
COMMAND = [sys.executable, "-m", "yourcall.cli.main"]
ADDED = "import yourcall.agents\nyourcall.agents.__path__.append({folder!r})\n"


def toy(folder: Path, wrong: str) -> Path:
    """The toy's program, with this fault."""
    path = folder / (f"toy-{wrong}" if wrong else "toy")
    path.write_text(f"#!{sys.executable}\n" + (DATA / "toy_cli.py").read_text())
    path.chmod(0o755)
    return path


def environment(folder: Path) -> dict[str, str]:
    (folder / "sitecustomize.py").write_text(ADDED.format(folder=str(DATA)))
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "YOURCALL_HOME": str(folder / "yc"), "LANG": "C.UTF-8"}
    return {**env, "PYTHONPATH": str(folder), "TMPDIR": str(folder)}


def yourcall(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], env=environment(folder), capture_output=True, text=True, timeout=150, check=False
    )


def below(folder: Path) -> list[str]:
    """The processes that name this folder, in their command lines or their environments."""
    found: list[str] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and str(folder) in f"{process.cmdline()} {process.environ()}":
                found.append(str(process.cmdline()))
    return found


def tried(folder: Path, wrong: str, patience: str) -> tuple[int, dict[str, Any]]:
    done = yourcall(
        folder, "doctor", "--live", "toy", "--cli", str(toy(folder, wrong)), "--patience", patience, "--json"
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == "1.0.0"
    return done.returncode, found["kinds"]["permission"]


def test_what_works_is_proved_kept_and_shown_and_nothing_is_left(tmp_path: Path) -> None:
    code, found = tried(tmp_path, "", "60")
    assert (code, found["grade"], found["why"]) == (0, "proved", "")
    assert found["steps"] == ["noticed", "exact", "allowed", "denied", "confirmed", "withdrawn"]
    kept = json.loads(yourcall(tmp_path, "agents", "toy", "--json").stdout)["toy"]["tried"]["1.0.0"]
    assert kept["kinds"]["permission"] == found
    assert "1.0.0, tried here on" in yourcall(tmp_path, "agents", "toy").stdout
    assert list(tmp_path.glob("yc-live-*")) == []
    assert below(tmp_path) == []


def test_a_check_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    program = toy(tmp_path, "deaf")
    words = ["doctor", "--live", "toy", "--cli", str(program), "--patience", "500"]
    running = subprocess.Popen([*COMMAND, *words], env=environment(tmp_path), stdout=subprocess.DEVNULL)
    until(lambda: any(str(program) in each and "--live" not in each for each in below(tmp_path)), what="the toy")
    running.kill()
    running.wait()
    until(lambda: below(tmp_path) == [], what="the end of all of it", show=lambda: below(tmp_path))
    until(lambda: list(tmp_path.glob("yc-live-*")) == [], what="the folder to go")


def test_what_nobody_is_told_of_is_missed(tmp_path: Path) -> None:
    code, found = tried(tmp_path, "deaf", "4")
    assert (code, found["grade"], found["steps"]) == (1, "missed", [])
    assert "a prompt" in found["why"]


def test_an_answer_that_nothing_proves_is_no_proof(tmp_path: Path) -> None:
    code, found = tried(tmp_path, "mute", "4")
    assert (code, found["grade"]) == (1, "shown")
    assert "withdrawn" in found["why"]


def test_what_runs_without_a_yes_is_wrong(tmp_path: Path) -> None:
    code, found = tried(tmp_path, "liar", "60")
    assert (code, found["grade"]) == (1, "wrong")
    assert found["why"] == "The command ran without a yes."


def test_a_version_that_nobody_tried_is_said_once(tmp_path: Path) -> None:
    assert not grades.ungraded(tmp_path, "claude", "2.1.325")  # the project's own tests drive it
    assert grades.ungraded(tmp_path, "claude", "9.9.9")
    assert grades.mention(tmp_path, "claude", "9.9.9")
    assert not grades.mention(tmp_path, "claude", "9.9.9")
    grades.store(tmp_path, "claude", "9.9.9", {"permission": KindGrade("missed")}, "1")
    assert not grades.ungraded(tmp_path, "claude", "9.9.9")
    assert not grades.mention(tmp_path, "claude", "9.9.9")


def test_what_was_found_before_is_kept_and_a_torn_file_is_none(tmp_path: Path) -> None:
    grades.store(tmp_path, "toy", "1", {"permission": KindGrade("proved", ms=3)}, "1")
    grades.store(tmp_path, "toy", "1", {"plan": KindGrade("unknown")}, "2")
    found = grades.read(tmp_path).of("toy", "1")
    assert found is not None
    assert {kind: each.grade for kind, each in found.kinds.items()} == {"permission": "proved", "plan": "unknown"}
    for number in range(2, 40):
        grades.store(tmp_path, "toy", str(number), {}, "2")
    assert len(grades.read(tmp_path).versions["toy"]) == grades.KEPT
    (tmp_path / grades.FILE).write_text('{"versions": ')
    assert grades.read(tmp_path) == Grades()


@pytest.mark.parametrize(
    ("steps", "why", "wrong", "grade"),
    [
        ({}, "late", False, "missed"),
        ({"noticed": "unknown"}, "It is shown as unknown.", False, "unknown"),
        ({"noticed": "question"}, "It is shown as question.", False, "shown"),
        ({"noticed": "", "exact": ""}, "refused", False, "shown"),
        ({"noticed": "", "exact": "", "denied": ""}, "refused", False, "partly"),
        ({"noticed": "", "exact": "", "answered": ""}, "", False, "proved"),
        ({"noticed": "", "exact": "", "answered": ""}, "it ran", True, "wrong"),
    ],
)
def test_a_grade_says_no_more_than_the_steps(steps: dict[str, str], why: str, wrong: bool, grade: str) -> None:
    assert KindGrade.of(steps, why, -1, wrong=wrong).grade == grade
