"""What live checks found, by agent and version; kept in yourcall's home.

Rule: a grade is what was seen with that very version. A version that nobody tried has none, whatever another had.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from yourcall.agents.registry import AGENTS
from yourcall.system.settings_file import write_whole

FILE = "live-checks.json"
# More versions of one agent than anybody has had installed.
KEPT = 20

Grade = Literal["proved", "partly", "shown", "unknown", "missed", "not asked", "wrong"]
STEPS = ("noticed", "exact", "allowed", "denied", "answered", "confirmed", "withdrawn")
MEANS: dict[Grade, str] = {
    "proved": "noticed, shown exactly, answered and confirmed",
    "partly": "some answers arrive, others don't",
    "shown": "noticed and shown; answer it at the desk",
    "unknown": "noticed as a screen that yourcall doesn't know",
    "missed": "not noticed",
    "not asked": "this version goes on without asking, or knows no such call",
    "wrong": "what yourcall said is not what happened: don't answer this from afar",
}


class KindGrade(Struct, frozen=True):
    """Of one kind of prompt. `steps`: those that passed. `ms`: from the model's call to the prompt; -1: not known.
    `why`: what failed."""

    grade: Grade
    steps: tuple[str, ...] = ()
    ms: int = -1
    why: str = ""

    @classmethod
    def of(cls, steps: dict[str, str], why: str, ms: int, *, wrong: bool) -> KindGrade:
        passed = tuple(step for step in STEPS if steps.get(step) == "")
        if wrong:
            grade: Grade = "wrong"
        elif "noticed" not in steps:
            grade = "missed"
        elif not why:
            grade = "proved"
        elif steps["noticed"] == "unknown":
            grade = "unknown"
        elif {"allowed", "denied", "answered"} & set(passed):
            grade = "partly"
        else:
            grade = "shown"
        return cls(grade, passed, ms, why[:500])


class VersionGrade(Struct, frozen=True):
    """Of one version of an agent. `by`: the version of yourcall that tried it."""

    at: float
    by: str
    kinds: dict[str, KindGrade]


class Grades(Struct):
    """`mentioned`: versions of which a person was told that nobody has tried them."""

    versions: dict[str, dict[str, VersionGrade]] = {}
    mentioned: dict[str, list[str]] = {}

    def of(self, agent: str, version: str) -> VersionGrade | None:
        return self.versions.get(agent, {}).get(version)


def summary(kinds: dict[str, KindGrade]) -> list[str]:
    """`permission proved, plan unknown`, in words."""
    return [f"{kind} {each.grade}" for kind, each in kinds.items()]


def read(home: Path) -> Grades:
    """None are known if the file is not there, or not whole."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=Grades)
    except (OSError, ValueError):
        return Grades()


def _write(home: Path, grades: Grades) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(home / FILE, msgspec.json.format(msgspec.json.encode(grades), indent=1) + b"\n", 0o600)


def store(home: Path, agent: str, version: str, kinds: dict[str, KindGrade], by: str) -> None:
    """Keep what was found; of kinds that were not tried now, what was found before."""
    grades = read(home)
    versions = grades.versions.setdefault(agent, {})
    before = versions.pop(version, None)
    versions[version] = VersionGrade(time.time(), by, {**(before.kinds if before else {}), **kinds})
    while len(versions) > KEPT:
        del versions[min(versions, key=lambda each: versions[each].at)]
    _write(home, grades)


def ungraded(home: Path, agent: str, version: str) -> bool:
    """Has nobody tried this version, neither here nor in the project's own tests?"""
    known = AGENTS.get(agent)
    if not version or known is None or known.grade is None or version in known.grade.tested:
        return False
    return read(home).of(agent, version) is None


def mention(home: Path, agent: str, version: str) -> bool:
    """Is this the first time that a person is told of it? From now on it isn't."""
    grades = read(home)
    lines = grades.mentioned.setdefault(agent, [])
    if version in lines:
        return False
    lines.append(version)
    del lines[:-KEPT]
    _write(home, grades)
    return True
